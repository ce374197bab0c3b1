import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { repositoryRoot } from '../../src/index.js';

/** Programs of the system that .ci/run itself uses; the others are ours. */
const SYSTEM = ['bash', 'cat', 'dirname', 'env', 'grep', 'mktemp', 'rm', 'tail', 'tee'];

function locate(program: string): string {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const path = folders.map((folder) => join(folder, program)).find((candidate) => existsSync(candidate));
  if (path === undefined) throw new Error(`${program} is not in PATH`);
  return path;
}

const PROGRAMS = ['g++', 'make', 'git', 'aarch64-linux-gnu-g++', 'qemu-aarch64-static'];

/**
 * Runs .ci/run on a machine that has these programs, and whose only Python says `facts` of itself; what it asked apt-get
 * for, and how it ended.
 */
function runCi(
  facts: { venv: boolean; shared: boolean },
  programs = PROGRAMS,
): { installed: string; status: number | null; last: string } {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-ci-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const script = (name: string, ...lines: string[]) =>
    writeFileSync(join(folder, name), ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
  for (const program of SYSTEM) symlinkSync(locate(program), join(folder, program));
  symlinkSync(process.execPath, join(folder, 'node'));
  for (const program of programs) script(program);
  script('ldconfig', 'echo "libb64.so.0d (libc6,x86-64) => /usr/lib/libb64.so.0d"');
  script('python3.11', `echo '${JSON.stringify({ executable: '/python3.11', version: '3.11', ...facts })}'`);
  const installed = join(folder, 'installed');
  script('apt-get', `echo "$@" >> '${installed}'`);
  script('npm', 'echo "3 passed, 1 failed, 0 skipped"', 'echo "npm error code 1"', 'exit 1');
  const { status, stdout } = spawnSync(join(repositoryRoot, '.ci', 'run'), {
    encoding: 'utf8',
    env: { PATH: folder, HOME: folder, TMPDIR: folder },
  });
  return {
    installed: existsSync(installed) ? readFileSync(installed, 'utf8') : '',
    status,
    last: stdout.trimEnd().split('\n').at(-1) ?? '',
  };
}

describe('.ci/run', () => {
  test('installs nothing where all is there, fails as the tests do, and ends with their line', () => {
    expect(runCi({ venv: true, shared: true })).toEqual({
      installed: '',
      status: 1,
      last: '3 passed, 1 failed, 0 skipped',
    });
  });

  test.each([
    { lacks: 'the shared libpython', facts: { venv: true, shared: false } },
    { lacks: 'venv', facts: { venv: false, shared: true } },
  ])('installs a Python where the one that is there lacks $lacks', ({ facts }) => {
    expect(runCi(facts).installed).toMatch(/^install .* python3 python3-venv libpython3-dev$/m);
  });

  test.each([
    ['aarch64-linux-gnu-g++', 'g++-aarch64-linux-gnu'],
    ['qemu-aarch64-static', 'qemu-user-static'],
    ['make', 'make'],
  ])('installs the package of %s where it is missing', (program, wanted) => {
    const others = PROGRAMS.filter((name) => name !== program);
    const lines = runCi({ venv: true, shared: true }, others).installed.trim().split('\n');
    expect(lines.at(-1)).toMatch(/^install /);
    expect(lines.at(-1)?.split(' ').at(-1)).toBe(wanted);
  });
});
