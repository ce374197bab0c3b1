import { beforeAll, expect, it } from 'vitest';
import { BusyError, CudaError, DisposedError, type Kernel } from '../../src/index.js';
import { failureOf, loose, MIB, onDevice, pattern, read, testKernels } from './on-device.js';

const MS = 1_000_000;

export function graphSuite(): void {
  const on = onDevice();
  const module = testKernels(on);
  let fill: Kernel<readonly ['pointer', 'u32', 'u32']>;
  let spin: Kernel<readonly ['u64']>;

  beforeAll(async () => {
    fill = await module().kernel('fill_u32', ['pointer', 'u32', 'u32']);
    spin = await module().kernel('spin', ['u64']);
  });

  it('runs what was captured, as often as it is launched, on what is in the memory then', async () => {
    const { device, stream } = on;
    const saxpy = await module().kernel('saxpy', ['f32', 'pointer', 'pointer', 'u32']);
    const n = 512;
    await using x = await device.allocPinned(4 * n);
    await using y = await device.allocPinned(4 * n);
    await using memory = await device.alloc(8 * n);
    const [xs, ys] = [memory.slice(0, 4 * n), memory.slice(4 * n, 4 * n)];
    stream.fill(memory, 0);
    await stream.done();
    await using graph = await stream.capture(() => {
      void stream.copyToDevice(xs, x);
      stream.launch(saxpy, { grid: 4, block: 128 }, 2, xs, ys, n);
      void stream.copyToHost(y, ys);
    });
    expect(graph.device).toBe(device);
    // Nothing has run yet.
    expect((await read(stream, memory)).every((byte) => byte === 0)).toBe(true);
    let sum = 0;
    for (const value of [1, 10, 100]) {
      new Float32Array(x.buffer).fill(value);
      stream.launchGraph(graph);
      await stream.done();
      sum += 2 * value;
      expect(new Float32Array(y.buffer).every((each) => each === sum)).toBe(true);
    }
    // Several at once run one after the other, also on other streams.
    await using other = device.createStream();
    stream.launchGraph(graph);
    stream.launchGraph(graph);
    other.launchGraph(graph);
    await Promise.all([stream.done(), other.done()]);
    expect(new Float32Array(y.buffer)[0]).toBe(sum + 600);
  });

  it('captures fills, copies and 2D copies', async () => {
    const { device, stream } = on;
    await using pinned = await device.allocPinned(64);
    await using memory = await device.alloc(192);
    const [a, b, c] = [0, 64, 128].map((at) => memory.slice(at, 64)) as [never, never, never];
    await using graph = await stream.capture(() => {
      stream.fill(memory, 1);
      void stream.copyToDevice(a, pinned);
      stream.copy(b, a);
      stream.copy2d({ dst: c, dstPitch: 8, src: b, srcPitch: 16, width: 8, height: 4 });
    });
    for (const first of [3, 50]) {
      new Uint8Array(pinned.buffer).set(pattern(64).map((byte) => byte + first));
      stream.launchGraph(graph);
      const bytes = await read(stream, memory);
      const expected = Array.from(new Uint8Array(pinned.buffer));
      expect(Array.from(bytes.subarray(0, 64))).toEqual(expected);
      expect(Array.from(bytes.subarray(64, 128))).toEqual(expected);
      const rows = [0, 16, 32, 48].flatMap((at) => expected.slice(at, at + 8));
      expect(Array.from(bytes.subarray(128))).toEqual([...rows, ...new Array<number>(32).fill(1)]);
    }
  });

  it('captures other streams that wait for its events', async () => {
    const { device, stream } = on;
    await using side = device.createStream();
    await using begun = device.createEvent();
    await using ended = device.createEvent();
    await using memory = await device.alloc(2 * MIB);
    const [left, right] = [memory.slice(0, MIB), memory.slice(MIB, MIB)];
    stream.fill(memory, 0);
    await stream.done();
    await using graph = await stream.capture(() => {
      stream.record(begun);
      side.wait(begun);
      stream.launch(fill, { grid: MIB / 1024, block: 256 }, left, 0x01010101, MIB / 4);
      side.launch(fill, { grid: MIB / 1024, block: 256 }, right, 0x02020202, MIB / 4);
      side.record(ended);
      stream.wait(ended);
    });
    expect(side.query()).toBe(true);
    expect((await read(stream, memory))[MIB]).toBe(0);
    stream.launchGraph(graph);
    const bytes = await read(stream, memory);
    expect(bytes.subarray(0, MIB).every((byte) => byte === 1)).toBe(true);
    expect(bytes.subarray(MIB).every((byte) => byte === 2)).toBe(true);
    // What only the other stream used belongs to the graph as well.
    await begun.close();
    expect(() => stream.launchGraph(graph)).toThrow(DisposedError);
  });

  it('fails when another stream does not come back, and both can be used again', async () => {
    const { device, stream } = on;
    await using side = device.createStream();
    await using begun = device.createEvent();
    await using memory = await device.alloc(64);
    const error = await failureOf(() =>
      stream.capture(() => {
        stream.record(begun);
        side.wait(begun);
        side.fill(memory, 1);
      }),
    );
    expect(error).toBeInstanceOf(CudaError);
    expect(error).toMatchObject({ code: 'CUDA_ERROR_STREAM_CAPTURE_UNJOINED', sticky: false });
    stream.fill(memory, 2);
    await stream.done();
    side.fill(memory, 3);
    expect(await read(side, memory)).toEqual(new Uint8Array(64).fill(3));
  });

  it('may hold nothing', async () => {
    await using graph = await on.stream.capture(() => {});
    on.stream.launchGraph(graph);
    await on.stream.done();
  });

  it('passes on what the work throws, and the stream can be used again', async () => {
    const { device, stream } = on;
    await using memory = await device.alloc(64);
    const thrown = new Error('changed my mind');
    await expect(
      stream.capture(() => {
        stream.fill(memory, 1);
        throw thrown;
      }),
    ).rejects.toBe(thrown);
    stream.fill(memory, 5);
    expect(await read(stream, memory)).toEqual(new Uint8Array(64).fill(5));
    await using graph = await stream.capture(() => stream.fill(memory, 6));
    stream.launchGraph(graph);
    expect(await read(stream, memory)).toEqual(new Uint8Array(64).fill(6));
  });

  it('refuses work that is async, also when that fails later', async () => {
    const { stream } = on;
    await expect(loose(stream).capture(async () => {})).rejects.toThrow(
      'Expected a function that enqueues synchronously for work but received one that is async',
    );
    // An unhandled rejection would fail this run.
    await expect(
      loose(stream).capture(async () => {
        throw new Error('nobody hears of this');
      }),
    ).rejects.toThrow(TypeError);
    for (const work of [undefined, null, 'work', {}]) {
      await expect(loose(stream).capture(work)).rejects.toThrow('Expected function for work');
    }
    await stream.done();
  });

  it('refuses, while it is being captured, what cannot be', async () => {
    const { device, stream } = on;
    await using memory = await device.alloc(64);
    const inside: Promise<unknown>[] = [];
    await using graph = await stream.capture(() => {
      expect(() => stream.copyToDevice(memory, new Uint8Array(64))).toThrow(BusyError);
      expect(() => stream.copyToHost(new Uint8Array(64), memory)).toThrow(BusyError);
      expect(() => stream.query()).toThrow('Work is being captured on this thread');
      inside.push(...[() => stream.done(), () => stream.close(), () => stream.capture(() => {})].map(failureOf));
      stream.fill(memory, 9);
    });
    for (const error of await Promise.all(inside)) expect(error).toBeInstanceOf(BusyError);
    expect(stream.closed).toBe(false);
    stream.launchGraph(graph);
    expect(await read(stream, memory)).toEqual(new Uint8Array(64).fill(9));
  });

  it('begins when copies of ordinary memory before it are over', async () => {
    const { device, stream } = on;
    await using memory = await device.alloc(MIB);
    const copy = stream.copyToDevice(memory, new Uint8Array(MIB).fill(8));
    await using graph = await stream.capture(() => stream.fill(memory.slice(0, 1), 1));
    await copy;
    stream.launchGraph(graph);
    const bytes = await read(stream, memory);
    expect([bytes[0], bytes[1], bytes[MIB - 1]]).toEqual([1, 8, 8]);
  });

  it('cannot be launched once something that it uses is closed', async () => {
    const { device, stream } = on;
    const memory = await device.alloc(64);
    await using other = await device.alloc(64);
    const graph = await stream.capture(() => {
      stream.fill(memory, 1);
      stream.fill(other, 1);
    });
    stream.launchGraph(graph);
    // Closing waits for the launch.
    await memory.close();
    expect(() => stream.launchGraph(graph)).toThrow(DisposedError);
    expect(() => stream.launchGraph(graph)).toThrow('This DeviceMemory, which the Graph uses, is closed');
    await graph.close();
    expect(() => stream.launchGraph(graph)).toThrow('This Graph is closed');
  });

  it('stays while launches of it run', async () => {
    const { device, stream } = on;
    await using memory = await device.alloc(64);
    const graph = await stream.capture(() => {
      stream.launch(spin, { grid: 1, block: 1 }, 30 * MS);
      stream.fill(memory, 4);
    });
    stream.fill(memory, 0);
    stream.launchGraph(graph);
    const closed = Promise.all([graph.close(), graph.close()]);
    expect(graph.closed).toBe(true);
    expect(stream.query()).toBe(false);
    await closed;
    expect(await read(stream, memory)).toEqual(new Uint8Array(64).fill(4));
    expect(() => loose(stream).launchGraph({})).toThrow('Expected Graph for graph');
  });
}
