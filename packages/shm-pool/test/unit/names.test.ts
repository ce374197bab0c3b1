import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { EntryNames, entryOfRegion, makerState, parseEntry, regionName, statOf, thisMaker } from '../../src/names.js';

test('an entry says who made it, and a region leads to its entry', () => {
  const names = new EntryNames();
  const [first, second] = [names.next(), names.next()];
  expect(first).not.toBe(second);
  expect(parseEntry(first)).toEqual(thisMaker());
  expect(entryOfRegion(regionName(first, 3))).toBe(first);
  // Triton's key: a slash and the entry, within what a file name may have.
  expect(first.length).toBeLessThan(150);
});

test('two pools of one process share no name', () => {
  const stems = Array.from({ length: 100 }, () => new EntryNames().next());
  expect(new Set(stems).size).toBe(100);
});

test("other people's names are not ours", () => {
  const entry = new EntryNames().next();
  for (const name of ['', 'zerohop', 'psm_1', 'zerohop_1', `${entry}x`, `x${entry}`, entry.slice(0, -2)]) {
    expect(parseEntry(name)).toBeUndefined();
    expect(entryOfRegion(name)).toBeUndefined();
  }
  expect(entryOfRegion(entry)).toBeUndefined();
  expect(entryOfRegion(`${entry}.`)).toBeUndefined();
});

test('a maker is gone when its process is, also when the id is in use again', async () => {
  const self = thisMaker();
  expect(makerState(self)).toBe('alive');
  expect(makerState({ ...self, startTicks: '1' })).toBe('gone');
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()']);
  const pid = child.pid ?? 0;
  const maker = { ...self, pid, startTicks: statOf(pid)?.startTicks ?? '' };
  expect(makerState(maker)).toBe('alive');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(makerState(maker)).toBe('gone');
});

test('a maker that has ended is gone, also while its parent does not wait for it', async () => {
  const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void parent.kill());
  const pid = Number(await once(parent.stdout, 'data'));
  const maker = { ...thisMaker(), pid, startTicks: statOf(pid)?.startTicks ?? '' };
  await expect.poll(() => statOf(pid)?.ended).toBe(true);
  expect(statOf(pid)?.startTicks).toBe(maker.startTicks);
  expect(makerState(maker)).toBe('gone');
});

test("another host's or PID namespace's process ids say nothing", () => {
  const self = thisMaker();
  expect(makerState({ ...self, bootId: '0'.repeat(32) })).toBe('unknown');
  expect(makerState({ ...self, pidNamespace: '1' })).toBe('unknown');
});
