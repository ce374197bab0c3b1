import { readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier } from '@zerohop/test-support';
import { afterEach, expect, it } from 'vitest';
import { Device } from '../../src/index.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

/** Makes every piece of work on a stream take `ms`. */
function delayWork(ms: number): void {
  process.env.ZEROHOP_FAKE_WORK_DELAY_US = String(ms * 1000);
}

afterEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('ZEROHOP_FAKE_')) delete process.env[name];
});

describeTier('driver', 'work in flight', () => {
  it('keeps the memory it uses until it is over', async () => {
    const device = await Device.open(0);
    const stream = device.createStream();
    const from = await device.alloc(4096);
    const to = await device.alloc(4096);
    const pinned = await device.allocPinned(4096);
    delayWork(50);
    stream.fill(from, 6);
    stream.copy(to, from.slice(0, 4096));
    await stream.copyToHost(pinned, to);
    // The fake driver answers a free under queued work with a lost context.
    const closed = Promise.all([from.close(), to.close()]);
    const bytes = new Uint8Array(pinned.buffer);
    expect(stream.query()).toBe(false);
    await closed;
    await stream.done();
    expect(bytes.every((byte) => byte === 6)).toBe(true);
    const pinnedClosed = pinned.close();
    expect(bytes.byteLength).toBe(4096);
    await pinnedClosed;
    expect(bytes.byteLength).toBe(0);
    await stream.close();
  });

  it('keeps memory that was disposed of, and frees it afterwards', async () => {
    const device = await Device.open(0);
    const { free } = device.memoryInfo();
    const stream = device.createStream();
    {
      using memory = await device.alloc(1 << 20);
      delayWork(50);
      stream.fill(memory, 1);
    }
    expect(device.memoryInfo().free).toBe(free - (1 << 20));
    await stream.close();
    await expect.poll(() => device.memoryInfo().free).toBe(free);
  });

  it('is waited for when its stream is closed', async () => {
    const device = await Device.open(0);
    const stream = device.createStream();
    await using pinned = await device.allocPinned(16);
    await using memory = await device.alloc(16);
    delayWork(50);
    stream.fill(memory, 8);
    await stream.copyToHost(pinned, memory);
    await stream.close();
    expect(new Uint8Array(pinned.buffer)[15]).toBe(8);
  });

  it('goes on when the wait for it is given up', async () => {
    const device = await Device.open(0);
    await using stream = device.createStream();
    await using memory = await device.alloc(16);
    delayWork(100);
    stream.fill(memory, 8);
    const controller = new AbortController();
    const waiting = stream.done({ signal: controller.signal });
    controller.abort(new Error('no longer needed'));
    await expect(waiting).rejects.toThrow('no longer needed');
    expect(stream.query()).toBe(false);
    await stream.done();
    expect(stream.query()).toBe(true);
  });

  it('counts as unfinished while a copy of ordinary memory waits for its turn', async () => {
    const device = await Device.open(0);
    await using stream = device.createStream();
    await using memory = await device.alloc(64);
    expect(stream.query()).toBe(true);
    const first = stream.copyToDevice(memory, new Uint8Array(64).fill(1));
    const second = stream.copyToDevice(memory, new Uint8Array(64).fill(2));
    // Nothing of the second is enqueued yet, which the driver cannot know.
    expect(stream.query()).toBe(false);
    await first;
    expect(stream.query()).toBe(false);
    await second;
    await stream.done();
    expect(stream.query()).toBe(true);
  });

  it('leaves libuv its threads, however many wait', async () => {
    const device = await Device.open(0);
    const streams = Array.from({ length: 64 }, () => device.createStream());
    await using memory = await device.alloc(64);
    delayWork(1000);
    streams.forEach((stream, i) => {
      stream.fill(memory.slice(i, 1), i);
    });
    let over = 0;
    const waits = streams.map(async (stream) => {
      await stream.done();
      over += 1;
    });
    await readFile(new URL(import.meta.url));
    expect(over).toBe(0);
    await Promise.all(waits);
    expect(over).toBe(64);
    await Promise.all(streams.map((stream) => stream.close()));
  });

  it('does not hold up the event loop where the driver makes it wait', async () => {
    process.env.ZEROHOP_FAKE_CALL_DELAY_US = '50000';
    let turns = 0;
    const turning = setInterval(() => {
      turns += 1;
    }, 1);
    const expectTurns = async (operation: Promise<unknown>) => {
      turns = 0;
      await operation;
      // Each makes several calls of 50 ms; on the JS thread they would leave one turn, for the promise.
      expect(turns).toBeGreaterThan(10);
    };
    try {
      const opening = Device.open(1);
      await expectTurns(opening);
      const device = await opening;
      const allocating = device.alloc(4096, { exportable: true });
      await expectTurns(allocating);
      const pinning = device.allocPinned(4096);
      await expectTurns(pinning);
      await expectTurns((await allocating).close());
      await expectTurns((await pinning).close());
    } finally {
      clearInterval(turning);
    }
  });

  it('gives back all that it took from the driver', async () => {
    const log = join(tmpdir(), `zerohop-calls-${process.pid}`);
    const device = await Device.open(0);
    process.env.ZEROHOP_FAKE_LOG = log;
    try {
      for (let round = 0; round < 20; round += 1) {
        const stream = device.createStream();
        const memory = await device.alloc(4096, { exportable: round % 2 === 0 });
        const pinned = await device.allocPinned(4096);
        const small = memory.slice(0, 4096);
        await stream.copyToDevice(small, pinned);
        await stream.copyToDevice(small, new Uint8Array(4096));
        delayWork(round % 4);
        stream.fill(small, 1);
        await Promise.all([stream.done(), memory.close(), pinned.close(), stream.close()]);
      }
      const count = (name: string) =>
        readFileSync(log, 'utf8')
          .split('\n')
          .filter((call) => call === name).length;
      // An event whose wait ended after its stream was closed goes a moment later.
      await expect.poll(() => count('cuEventDestroy')).toBe(count('cuEventCreate'));
      expect(count('cuMemAlloc')).toBe(20);
      expect(count('cuMemFree')).toBe(20);
      expect(count('cuMemHostAlloc')).toBe(20 + 2 * 20);
      expect(count('cuMemFreeHost')).toBe(count('cuMemHostAlloc'));
      expect(count('cuStreamDestroy')).toBe(count('cuStreamCreate'));
      expect(count('cuEventCreate')).toBeGreaterThanOrEqual(2 * 20);
    } finally {
      rmSync(log, { force: true });
    }
  });
});
