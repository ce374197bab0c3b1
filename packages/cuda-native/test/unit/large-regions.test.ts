import { constants } from 'node:buffer';
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { describeTier } from '@zerohop/test-support';
import { afterEach, expect, it } from 'vitest';
import { SharedMemory } from '../../src/index.js';

const GIB = 2 ** 30;
const PAGE = 4096;
const key = `/zerohop-test-large-${process.pid}`;
const made: SharedMemory[] = [];

function kept(memory: SharedMemory): SharedMemory {
  made.push(memory);
  return memory;
}

/** What is in the region's file, by the file system's own calls. */
function byteAt(position: number): number | undefined {
  const file = openSync(`/dev/shm${key}`, 'r');
  try {
    const byte = new Uint8Array(1);
    readSync(file, byte, 0, 1, position);
    return byte[0];
  } finally {
    closeSync(file);
  }
}

afterEach(() => {
  for (const memory of made.splice(0)) memory.close();
  rmSync(`/dev/shm${key}`, { force: true });
});

describeTier('unit', 'regions larger than an ArrayBuffer', tests, { needs: ['addon'] });

function tests(): void {
  it('are seen part by part, at any offset', async () => {
    // Somebody else's, of which hardly a page is really there.
    const size = 6 * GIB + 12345;
    writeFileSync(`/dev/shm${key}`, '');
    truncateSync(`/dev/shm${key}`, size);
    const start = 4 * GIB - 100;
    const over = kept(await SharedMemory.open(key, { byteOffset: start, byteLength: 200 }));
    new Uint8Array(over.buffer).fill(7);
    expect([byteAt(start - 1), byteAt(start), byteAt(start + 199), byteAt(start + 200)]).toEqual([0, 7, 7, 0]);
    const end = kept(await SharedMemory.open(key, { byteOffset: 6 * GIB }));
    expect(end.byteLength).toBe(12345);
    new Uint8Array(end.buffer)[12344] = 9;
    expect(byteAt(size - 1)).toBe(9);
    const wide = kept(await SharedMemory.open(key, { byteOffset: 3 * GIB, byteLength: 2 * GIB }));
    expect(new Uint8Array(wide.buffer)[GIB - 100]).toBe(7);
    await expect(SharedMemory.open(key, { byteOffset: size - 5, byteLength: 6 })).rejects.toMatchObject({
      code: 'ERR_SHM_RANGE',
    });
    const whole = SharedMemory.open(key);
    if (constants.MAX_LENGTH >= size) {
      expect(kept(await whole).byteLength).toBe(size);
    } else {
      await expect(whole).rejects.toMatchObject({ code: 'ERR_BUFFER_TOO_LARGE' });
      await expect(SharedMemory.open(key, { byteLength: size })).rejects.toMatchObject({
        name: 'RangeError',
        code: 'ERR_BUFFER_TOO_LARGE',
        message: `Expected at most ${constants.MAX_LENGTH} bytes for one ArrayBuffer but received ${size} bytes: map a part, by byteOffset and byteLength`,
      });
    }
    for (const memory of made.splice(0)) memory.close();
    await expect.poll(() => readFileSync('/proc/self/maps', 'utf8').includes(key)).toBe(false);
  });

  it('are reserved whole by a creator that maps a part', async () => {
    const memory = kept(await SharedMemory.create(key, 5 * PAGE, { map: { byteOffset: PAGE + 5, byteLength: 10 } }));
    expect(memory.byteLength).toBe(10);
    const stats = statSync(`/dev/shm${key}`);
    expect(stats.size).toBe(5 * PAGE);
    expect(stats.blocks * 512).toBeGreaterThanOrEqual(5 * PAGE);
    new Uint8Array(memory.buffer).fill(3);
    expect([byteAt(PAGE + 4), byteAt(PAGE + 5), byteAt(PAGE + 14), byteAt(PAGE + 15)]).toEqual([0, 3, 3, 0]);
    const rest = kept(await SharedMemory.open(key, { byteOffset: PAGE + 14 }));
    expect(new Uint8Array(rest.buffer)[0]).toBe(3);
    expect(SharedMemory.tryRemove(key)).toBe('locked');
    memory.close();
    expect(existsSync(`/dev/shm${key}`)).toBe(false);
    const tail = kept(await SharedMemory.create(key, PAGE, { map: { byteOffset: 96 } }));
    expect(tail.byteLength).toBe(PAGE - 96);
  });

  it('are refused before anything is reserved when the part is none, or too large', async () => {
    const create = (byteLength: number, map: unknown) => SharedMemory.create(key, byteLength, { map: map as object });
    for (const map of [
      { byteOffset: PAGE },
      { byteOffset: -1 },
      { byteOffset: 1, byteLength: PAGE },
      { byteLength: 0 },
      { byteLength: PAGE + 1 },
      { byteLength: 1.5 },
    ]) {
      await expect(create(PAGE, map), JSON.stringify(map)).rejects.toThrow(RangeError);
    }
    for (const map of [null, 5, { byteOffset: '1' }, { byteLength: 1n }]) {
      await expect(create(PAGE, map), String(map)).rejects.toThrow(TypeError);
    }
    await expect(create(0, {})).rejects.toThrow('Expected integer below 0 for byteOffset');
    const tooLarge = constants.MAX_LENGTH + 1;
    // Newer versions of Node allow more than any machine has, and then the number itself is too large.
    const error = Number.isSafeInteger(tooLarge) ? { code: 'ERR_BUFFER_TOO_LARGE' } : { name: 'RangeError' };
    await expect(SharedMemory.create(key, tooLarge)).rejects.toMatchObject(error);
    await expect(create(tooLarge, { byteOffset: 0 })).rejects.toMatchObject(error);
    expect(existsSync(`/dev/shm${key}`)).toBe(false);
  });
}
