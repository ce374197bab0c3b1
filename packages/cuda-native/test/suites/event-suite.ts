import { afterAll, beforeAll, expect, it } from 'vitest';
import { BusyError, CudaError, DisposedError, type Kernel } from '../../src/index.js';
import { failureOf, loose, MIB, onDevice, read, testKernels } from './on-device.js';

const MS = 1_000_000;

export function eventSuite(): void {
  const on = onDevice();
  const module = testKernels(on);
  /** Keeps the device busy for nanoseconds. */
  let spin: Kernel<readonly ['u64']>;

  beforeAll(async () => {
    spin = await module().kernel('spin', ['u64']);
  });

  afterAll(() => on.stream.done());

  function busy(ms: number, stream = on.stream): void {
    stream.launch(spin, { grid: 1, block: 1 }, ms * MS);
  }

  it('is reached when the work before it is over, and does not wait for what follows', async () => {
    await using event = on.device.createEvent();
    busy(50);
    on.stream.record(event);
    busy(500);
    expect(event.query()).toBe(false);
    await event.done();
    expect(event.query()).toBe(true);
    expect(on.stream.query()).toBe(false);
    await on.stream.done();
  });

  it('moves when it is recorded again', async () => {
    await using event = on.device.createEvent();
    on.stream.record(event);
    await event.done();
    busy(50);
    on.stream.record(event);
    expect(event.query()).toBe(false);
    await on.stream.done();
    expect(event.query()).toBe(true);
  });

  it('counts as reached when it was never recorded', async () => {
    await using event = on.device.createEvent();
    expect(event.query()).toBe(true);
    await event.done();
    on.stream.wait(event);
    await on.stream.done();
  });

  it('tells the time between two of them', async () => {
    await using start = on.device.createEvent({ timing: true });
    await using end = on.device.createEvent({ timing: true });
    expect(start.timing).toBe(true);
    const before = performance.now();
    on.stream.record(start);
    busy(20);
    on.stream.record(end);
    await end.done();
    const outside = performance.now() - before;
    const elapsed = end.elapsedMs(start);
    // The kernel runs for 20 ms of the device's own clock; the host saw it begin and end.
    expect(elapsed).toBeGreaterThan(19);
    expect(elapsed).toBeLessThan(outside + 1);
    expect(start.elapsedMs(start)).toBe(0);
    expect(start.elapsedMs(end)).toBeCloseTo(-elapsed, 3);
  });

  it('says why there is no time yet, or none at all', async () => {
    await using start = on.device.createEvent({ timing: true });
    await using end = on.device.createEvent({ timing: true });
    expect(await failureOf(() => end.elapsedMs(start))).toMatchObject({
      code: 'CUDA_ERROR_INVALID_HANDLE',
      call: 'cuEventElapsedTime',
    });
    on.stream.record(start);
    busy(50);
    on.stream.record(end);
    expect(await failureOf(() => end.elapsedMs(start))).toMatchObject({ code: 'CUDA_ERROR_NOT_READY', sticky: false });
    await using plain = on.device.createEvent();
    expect(() => plain.elapsedMs(start)).toThrow(TypeError);
    expect(() => start.elapsedMs(plain)).toThrow('Expected events made with { timing: true } for elapsedMs');
    await on.stream.done();
    expect(end.elapsedMs(start)).toBeGreaterThan(0);
  });

  it('makes another stream wait for the work before it', async () => {
    const { device, stream } = on;
    await using other = device.createStream();
    await using event = device.createEvent();
    await using memory = await device.alloc(MIB);
    await using pinned = await device.allocPinned(MIB);
    for (const byte of [1, 2, 3]) {
      busy(30);
      stream.fill(memory, byte);
      stream.record(event);
      other.wait(event);
      await other.copyToHost(pinned, memory);
      await other.done();
      expect(new Uint8Array(pinned.buffer).every((value) => value === byte)).toBe(true);
      await stream.done();
    }
  });

  it('is waited for as it was recorded last, also when it is recorded once more', async () => {
    const { device, stream } = on;
    await using other = device.createStream();
    await using event = device.createEvent();
    await using memory = await device.alloc(16);
    stream.fill(memory, 1);
    stream.record(event);
    other.wait(event);
    busy(300);
    stream.record(event);
    expect(await read(other, memory)).toEqual(new Uint8Array(16).fill(1));
    expect(event.query()).toBe(false);
    await stream.done();
  });

  it('gives up waiting when told to', async () => {
    await using event = on.device.createEvent();
    const reason = new Error('no longer needed');
    busy(50);
    on.stream.record(event);
    const controller = new AbortController();
    const waiting = event.done({ signal: controller.signal });
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(event.done({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(event.query()).toBe(false);
    await event.done();
  });

  it('may be closed while it is waited for, and is used no more', async () => {
    const event = on.device.createEvent({ timing: true });
    await using other = on.device.createEvent({ timing: true });
    await using waiting = on.device.createStream();
    busy(50);
    on.stream.record(event);
    waiting.wait(event);
    let over = 0;
    const waits = [1, 2, 3].map(async () => {
      await event.done();
      over += 1;
    });
    const closed = Promise.all([event.close(), event.close()]);
    expect(event.closed).toBe(true);
    await closed;
    await Promise.all(waits);
    expect(over).toBe(3);
    expect(() => event.query()).toThrow(DisposedError);
    await expect(event.done()).rejects.toThrow(DisposedError);
    expect(() => other.elapsedMs(event)).toThrow(DisposedError);
    expect(() => event.elapsedMs(other)).toThrow(DisposedError);
    expect(() => on.stream.record(event)).toThrow(DisposedError);
    expect(() => on.stream.wait(event)).toThrow('This Event is closed');
  });

  it('may be disposed of before its record is reached', async () => {
    {
      using event = on.device.createEvent();
      busy(20);
      on.stream.record(event);
    }
    await on.stream.done();
  });

  it('is not asked during a capture, which that would spoil', async () => {
    await using event = on.device.createEvent();
    await using graph = await on.stream.capture(() => {
      expect(() => event.query()).toThrow(BusyError);
      on.stream.record(event);
    });
    const inside: Promise<unknown>[] = [];
    await using second = await on.stream.capture(() => {
      inside.push(failureOf(() => event.done()));
    });
    expect(await inside[0]).toBeInstanceOf(BusyError);
    expect([graph.closed, second.closed]).toEqual([false, false]);
  });

  it('checks what it is given before the driver sees it', async () => {
    await using event = on.device.createEvent({ timing: true });
    expect(() => loose(on.device).createEvent({ timing: 1 })).toThrow('Expected boolean for timing');
    expect(() => loose(on.device).createEvent(null)).toThrow(TypeError);
    expect(() => loose(on.stream).record({})).toThrow('Expected Event for event but received Object of type object');
    expect(() => loose(on.stream).wait(on.stream)).toThrow(TypeError);
    expect(() => loose(event).elapsedMs(undefined)).toThrow('Expected Event for start');
    await expect(loose(event).done({ signal: {} })).rejects.toThrow('Expected AbortSignal for signal');
    expect(await failureOf(() => event.elapsedMs(event))).toBeInstanceOf(CudaError);
  });
}
