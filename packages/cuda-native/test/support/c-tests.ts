import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { type Outcome, outcome } from './child.js';

export const fixtures = fileURLToPath(new URL('../fixtures/', import.meta.url));

export interface CTests {
  names: string[];
  /** Runs one of them in a process of its own. */
  run(name: string, env?: Record<string, string>): Promise<Outcome>;
}

/** Compiles the tests in C of a folder of fixtures, linked with `libraries`; they use `fake-libcuda/check.h`. */
export function compileTests(folder: string, libraries: string[]): CTests {
  const work = mkdtempSync(join(tmpdir(), 'zerohop-c-tests-'));
  afterAll(() => rmSync(work, { recursive: true, force: true }));
  const program = join(work, 'tests');
  const sources = readdirSync(join(fixtures, folder)).filter((name) => name.endsWith('_test.c'));
  const flags = ['-std=c11', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-pthread', '-o', program];
  const link = libraries.flatMap((library) => [library, `-Wl,-rpath,${dirname(library)}`]);
  execFileSync(process.env.CC ?? 'gcc', [...flags, '../fake-libcuda/check.c', ...sources, ...link], {
    cwd: join(fixtures, folder),
    stdio: 'inherit',
  });
  return {
    names: execFileSync(program, { encoding: 'utf8' }).trim().split('\n'),
    run: (name, env) => outcome(spawn(program, [name], { env: { ...process.env, FIXTURES: fixtures, ...env } })),
  };
}

/** What a test that found nothing wrong ends with. */
export const fine: Outcome = { code: 0, signal: null, stdout: '', stderr: '' };
