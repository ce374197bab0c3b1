#!/usr/bin/env node
// Builds the C++ program that our figures are compared with, with g++ alone (seconds), and prints its path. Nothing is
// compiled when nothing changed.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('.', import.meta.url));
const program = join(root, 'build', 'cuda-peer');
const table = join(root, '../../packages/cuda-native/native/src/core');

const sources = readdirSync(join(root, 'peer')).map((name) => join(root, 'peer', name));
const inputs = [
  ...sources,
  join(table, 'driver_functions.h'),
  join(table, 'driver_types.h'),
  fileURLToPath(import.meta.url),
];

/**
 * @returns {string} the program's path
 * @throws when g++ is missing or fails
 */
export function buildPeer() {
  const built = statSync(program, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (inputs.every((file) => statSync(file).mtimeMs <= built)) return program;
  mkdirSync(dirname(program), { recursive: true });
  // It appears under its name only when it is whole, so that two builds at once do no harm.
  const unfinished = `${program}.${process.pid}`;
  try {
    execFileSync(
      process.env.CXX ?? 'g++',
      [
        ...[
          '-std=c++17',
          '-O2',
          '-fno-exceptions',
          '-Wall',
          '-Wextra',
          '-Werror',
          '-static-libstdc++',
          '-static-libgcc',
        ],
        ...sources.filter((file) => file.endsWith('.cc')),
        ...['-ldl', '-s', '-o', unfinished],
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
    renameSync(unfinished, program);
  } finally {
    rmSync(unfinished, { force: true });
  }
  return program;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(buildPeer());
