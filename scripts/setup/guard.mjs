// Runs one program of set-up:
//
//   node guard.mjs PROGRAM ARGUMENTS...
//
// It inherits the lock's socket as a descriptor, so that the lock is held as long as this process is there, and has a
// session of its own. Standard input is a pipe from set-up: once that closes, by whatever end of set-up, `kill -9`
// included, the program and all that it has started are killed, and only then the lock is free.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** The parent of every process that is there; zombies are not. */
function parents() {
  const found = new Map();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'latin1');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state !== 'Z' && state !== 'X') found.set(Number(entry), Number(parent));
    } catch {
      // It has just ended.
    }
  }
  return found;
}

function descendants() {
  const of = parents();
  const found = [process.pid];
  for (const pid of found) {
    for (const [child, parent] of of) if (parent === pid) found.push(child);
  }
  return found.slice(1);
}

function send(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It has just ended.
  }
}

/** Turbo gives its programs sessions of their own: no process group holds them all. */
function killAll() {
  const stopped = new Set();
  // What is stopped starts nothing more, and stays the parent by which its children are found.
  for (let more = descendants(); more.length > 0; more = descendants().filter((pid) => !stopped.has(pid))) {
    for (const pid of more) {
      stopped.add(pid);
      send(pid, 'SIGSTOP');
    }
  }
  for (const pid of stopped) send(pid, 'SIGKILL');
  const wait = () => {
    const there = parents();
    if ([...stopped].some((pid) => there.has(pid))) setTimeout(wait, 10);
    else process.exit(1);
  };
  wait();
}

const [program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
let ending = false;
function end() {
  if (!ending) killAll();
  ending = true;
}
child.once('error', (error) => {
  console.error(error.message);
  process.exit(127);
});
child.once('exit', (code, signal) => {
  if (!ending) process.exit(code ?? 128 + constants.signals[signal]);
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end);
process.stdin.once('close', end);
process.stdin.on('error', () => undefined);
process.stdin.resume();
