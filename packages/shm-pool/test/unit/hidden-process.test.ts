import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';

const hidden = new Set<string>();

// As /proc mounted with hidepid, which shows a user no processes of others.
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const readFileSync = (path: string, encoding: BufferEncoding) => {
    if (hidden.has(path)) throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`));
    return fs.readFileSync(path, encoding);
  };
  return { ...fs, readFileSync };
});

const { makerState, statOf, thisMaker } = await import('../../src/names.js');

test('a process that /proc hides is not taken for one that is gone', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()']);
  onTestFinished(() => void child.kill());
  const pid = child.pid ?? 0;
  const maker = { ...thisMaker(), pid, startTicks: statOf(pid)?.startTicks ?? '' };
  hidden.add(`/proc/${pid}/stat`);
  expect(statOf(pid)).toBeUndefined();
  expect(makerState(maker)).toBe('unknown');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(makerState(maker)).toBe('gone');
});
