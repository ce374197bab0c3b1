import { readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier } from '@zerohop/test-support';
import { afterEach, expect, it } from 'vitest';
import { Device, DisposedError } from '../../src/index.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { failureOf, fixture } from '../suites/on-device.js';
import { runCollected } from '../support/collected.js';
import { delayWork, resetFake } from '../support/fake-driver.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

afterEach(resetFake);

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
    const ended = await runCollected(`
      for (let round = 0; round < 20; round += 1) {
        const stream = device.createStream();
        const memory = await device.alloc(4096, { exportable: round % 2 === 0 });
        const pinned = await device.allocPinned(4096);
        const small = memory.slice(0, 4096);
        await stream.copyToDevice(small, pinned);
        await stream.copyToDevice(small, new Uint8Array(4096));
        process.env.ZEROHOP_FAKE_WORK_DELAY_US = String((round % 4) * 1000);
        stream.fill(small, 1);
        await Promise.all([stream.done(), memory.close(), pinned.close(), stream.close()]);
      }
      const { bytes, memory, pinned, stream } = live();
      console.log([bytes, memory, pinned, stream].join());
      // An event whose wait ended after its stream was closed goes with the stream.
      console.log(await collected(() => total() === 1));
    `);
    expect(ended.stderr).toBe('');
    expect(ended.stdout).toBe('0,0,0,1\ntrue\n');
  });

  it('keeps an event that is waited for until the wait is over', async () => {
    const device = await Device.open(0);
    const stream = device.createStream();
    await using memory = await device.alloc(16);
    const event = device.createEvent();
    delayWork(50);
    stream.fill(memory, 1);
    stream.record(event);
    const waiting = event.done();
    // The stream can't say when its work is over: only the wait itself is left to keep the event.
    process.env.ZEROHOP_FAKE_FAIL = 'cuStreamQuery=1';
    await Promise.all([waiting, event.close()]);
    process.env.ZEROHOP_FAKE_FAIL = '';
    await stream.close();
  });

  it('keeps a module whose kernel is being looked up', async () => {
    const device = await Device.open(0);
    const module = await device.loadModule(fixture('kernels.ptx'));
    process.env.ZEROHOP_FAKE_CALL_DELAY_US = 'cuFuncLoad=50000';
    const looking = failureOf(() => module.kernel('spin', ['u64']));
    await module.close();
    // Found, though nobody wants it any more: a module unloaded meanwhile would be an error of the driver.
    expect(await looking).toBeInstanceOf(DisposedError);
  });

  it('keeps what a graph uses while it is made ready', async () => {
    const log = join(tmpdir(), `zerohop-graph-calls-${process.pid}`);
    const device = await Device.open(0);
    const stream = device.createStream();
    const memory = await device.alloc(64);
    const module = await device.loadModule(fixture('kernels.ptx'));
    const fill = await module.kernel('fill_u32', ['pointer', 'u32', 'u32']);
    process.env.ZEROHOP_FAKE_CALL_DELAY_US = 'cuGraphInstantiateWithFlags=50000';
    process.env.ZEROHOP_FAKE_LOG = log;
    try {
      const capturing = stream.capture(() => stream.launch(fill, { grid: 1, block: 16 }, memory, 1, 16));
      // Past the capture itself, into what happens off the JS thread.
      await expect.poll(() => readFileSync(log, 'utf8')).toContain('cuGraphInstantiateWithFlags');
      await Promise.all([module.close(), memory.close()]);
      const graph = await capturing;
      const calls = readFileSync(log, 'utf8')
        .split('\n')
        .map((call) => call.split(' ')[0]);
      expect(calls.indexOf('cuModuleUnload')).toBeGreaterThan(calls.indexOf('cuGraphUpload'));
      expect(calls.indexOf('cuMemFree')).toBeGreaterThan(calls.indexOf('cuGraphUpload'));
      expect(() => stream.launchGraph(graph)).toThrow(DisposedError);
      await graph.close();
    } finally {
      rmSync(log, { force: true });
    }
    await stream.close();
  });

  it('of a graph that could not be made ready is given back', async () => {
    const report = join(tmpdir(), `zerohop-graph-live-${process.pid}`);
    const device = await Device.open(0);
    const stream = device.createStream();
    await using memory = await device.alloc(64);
    process.env.ZEROHOP_FAKE_REPORT = report;
    try {
      const graphs = () => {
        const { graph, exec } = JSON.parse(readFileSync(report, 'utf8')) as Record<string, number>;
        return [graph, exec];
      };
      for (const call of ['cuGraphInstantiateWithFlags', 'cuGraphUpload', 'cuStreamSynchronize']) {
        process.env.ZEROHOP_FAKE_FAIL = `${call}=2`;
        const failed = failureOf(() => stream.capture(() => stream.fill(memory, 1)));
        expect(await failed).toMatchObject({ code: 'CUDA_ERROR_OUT_OF_MEMORY', call });
        await expect.poll(graphs).toEqual([0, 0]);
      }
      process.env.ZEROHOP_FAKE_FAIL = '';
      const thrown = failureOf(() =>
        stream.capture(() => {
          stream.fill(memory, 1);
          throw new Error('changed my mind');
        }),
      );
      expect(await thrown).toMatchObject({ message: 'changed my mind' });
      await expect.poll(graphs).toEqual([0, 0]);
    } finally {
      rmSync(report, { force: true });
    }
    await stream.close();
  });
});
