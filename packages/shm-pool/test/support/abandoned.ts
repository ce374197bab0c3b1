import { rmSync, writeFileSync } from 'node:fs';
import { type AbandonedName, SharedMemory } from '@zerohop/cuda-native';
import { onTestFinished, vi } from 'vitest';
import { EntryNames, type Maker, thisMaker } from '../../src/names.js';

/** A maker whose process is gone: its start ticks are no process's. */
export const gone: Maker = { ...thisMaker(), startTicks: '1' };

const held = new Map<string, AbandonedName>();
const { tryLock } = SharedMemory;

function hold(entry: string): void {
  const found = tryLock(`/${entry}`);
  if (typeof found !== 'string') held.set(`/${entry}`, found);
}

/**
 * An entry without an owner, as kill -9 leaves it. It is locked here until this process asks for the lock: the pools that
 * other files' processes open at the same time would reap it.
 */
export function abandon(maker: Maker = gone, entry = new EntryNames(maker).next()): string {
  if (!vi.isMockFunction(SharedMemory.tryLock)) {
    const spy = vi.spyOn(SharedMemory, 'tryLock').mockImplementation((key) => {
      const mine = held.get(key);
      held.delete(key);
      return mine ?? tryLock(key);
    });
    onTestFinished(() => spy.mockRestore());
  }
  writeFileSync(`/dev/shm/${entry}`, new Uint8Array(4096));
  hold(entry);
  onTestFinished(() => takeAway(entry));
  return entry;
}

/** Removes an entry, as someone else might. */
export function takeAway(entry: string): void {
  held.get(`/${entry}`)?.close();
  held.delete(`/${entry}`);
  rmSync(`/dev/shm/${entry}`, { force: true });
}

/** For an entry that this process's reaper gave up. */
export const abandonAgain = hold;
