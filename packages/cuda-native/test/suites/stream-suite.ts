import { expect, it } from 'vitest';
import { DisposedError, SharedMemory } from '../../src/index.js';
import { loose, MIB, onDevice, pattern } from './on-device.js';

export function streamSuite(): void {
  const on = onDevice();

  it('copies from and to pinned memory, in order', async () => {
    await using memory = await on.device.alloc(MIB);
    await using up = await on.device.allocPinned(MIB);
    await using down = await on.device.allocPinned(MIB);
    const bytes = pattern(MIB);
    new Uint8Array(up.buffer).set(bytes);
    await on.stream.copyToDevice(memory, up);
    on.stream.fill(memory.slice(10, 20), 9);
    await on.stream.copyToHost(new Uint8Array(down.buffer), memory);
    await on.stream.done();
    bytes.fill(9, 10, 30);
    expect(Buffer.compare(new Uint8Array(down.buffer), bytes)).toBe(0);
    expect(on.stream.query()).toBe(true);
  });

  it('copies parts of pinned memory', async () => {
    await using memory = await on.device.alloc(100);
    await using pinned = await on.device.allocPinned(1000);
    const view = new Uint8Array(pinned.buffer);
    view.set(pattern(1000));
    await on.stream.copyToDevice(memory, view.subarray(300, 400));
    await on.stream.copyToHost(view.subarray(700, 800), memory);
    await on.stream.done();
    expect(Array.from(view.subarray(700, 800))).toEqual(Array.from(pattern(1000).subarray(300, 400)));
  });

  // Below, at and above the size of a staging chunk, and with an odd rest.
  it.each([1, 4 * MIB, 4 * MIB + 1, 13 * MIB + 5])('copies %i bytes of ordinary memory', async (byteLength) => {
    await using memory = await on.device.alloc(byteLength);
    const bytes = pattern(byteLength);
    await on.stream.copyToDevice(memory, bytes);
    const back = new Uint8Array(byteLength);
    await on.stream.copyToHost(back, memory);
    expect(Buffer.compare(back, bytes)).toBe(0);
  });

  it('copies every kind of view', async () => {
    await using memory = await on.device.alloc(16);
    await on.stream.copyToDevice(memory, Float32Array.of(1.5, -2, 3, 4));
    const doubles = new Float64Array(4);
    await on.stream.copyToHost(new DataView(doubles.buffer, 8, 16), memory);
    expect(Array.from(new Float32Array(doubles.buffer, 8, 4))).toEqual([1.5, -2, 3, 4]);
  });

  it('runs copies of ordinary memory one after the other', async () => {
    await using memory = await on.device.alloc(5 * MIB);
    const copies = Array.from({ length: 8 }, (_, i) =>
      on.stream.copyToDevice(memory, new Uint8Array(memory.byteLength).fill(i)),
    );
    await Promise.all(copies);
    const back = new Uint8Array(memory.byteLength);
    await on.stream.copyToHost(back, memory);
    expect(back.every((byte) => byte === 7)).toBe(true);
  });

  it('copies shared memory, which stays mapped until then', async () => {
    const shared = await SharedMemory.create(`/zerohop-test-copy-${process.pid}`, 6 * MIB);
    new Uint8Array(shared.buffer).set(pattern(6 * MIB));
    await using memory = await on.device.alloc(6 * MIB);
    const copy = on.stream.copyToDevice(memory, new Uint8Array(shared.buffer));
    expect(() => shared.close()).toThrow(expect.objectContaining({ code: 'ERR_BUSY' }));
    shared[Symbol.dispose]();
    expect(shared.closed).toBe(true);
    await copy;
    const back = new Uint8Array(6 * MIB);
    await on.stream.copyToHost(back, memory);
    expect(Buffer.compare(back, pattern(6 * MIB))).toBe(0);
    expect(SharedMemory.tryRemove(shared.key)).toBe('absent');
  });

  it('lets go of shared memory as soon as its copy is awaited', async () => {
    await using memory = await on.device.alloc(4096);
    for (const copy of ['copyToDevice', 'copyToHost'] as const) {
      const shared = await SharedMemory.create(`/zerohop-test-let-go-${process.pid}`, 4096);
      const bytes = new Uint8Array(shared.buffer);
      await (copy === 'copyToHost' ? on.stream.copyToHost(bytes, memory) : on.stream.copyToDevice(memory, bytes));
      shared.close();
    }
  });

  it('copies on the device', async () => {
    await using from = await on.device.alloc(3000);
    await using to = await on.device.alloc(3000);
    on.stream.fill(to, 0);
    await on.stream.copyToDevice(from, pattern(3000));
    on.stream.copy(to.slice(1000, 500), from.slice(0, 500));
    const back = new Uint8Array(3000);
    await on.stream.copyToHost(back, to);
    expect(Array.from(back.subarray(1000, 1500))).toEqual(Array.from(pattern(3000).subarray(0, 500)));
    expect(back[999]).toBe(0);
    expect(back[1500]).toBe(0);
  });

  it('waits with many others at once', async () => {
    const streams = Array.from({ length: 16 }, () => on.device.createStream());
    await using memory = await on.device.alloc(16 * MIB);
    streams.forEach((each, i) => {
      each.fill(memory.slice(i * MIB, MIB), i);
    });
    await Promise.all(streams.flatMap((each) => [each.done(), each.done()]));
    const back = new Uint8Array(16 * MIB);
    await on.stream.copyToHost(back, memory);
    expect(streams.map((_, i) => back[i * MIB])).toEqual(streams.map((_, i) => i));
    await Promise.all(streams.map((each) => each.close()));
  });

  it('gives up waiting when told to', async () => {
    const reason = new Error('no longer needed');
    await expect(on.stream.done({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await on.stream.done({ signal: new AbortController().signal });
  });

  it('is used no more after close', async () => {
    const other = on.device.createStream();
    await using memory = await on.device.alloc(16);
    other.fill(memory, 1);
    await Promise.all([other.close(), other.close()]);
    expect(other.closed).toBe(true);
    expect(() => other.fill(memory, 1)).toThrow(DisposedError);
    expect(() => other.query()).toThrow(DisposedError);
    await expect(other.done()).rejects.toThrow(DisposedError);
  });

  it('checks what it is given before the driver sees it', async () => {
    await using memory = await on.device.alloc(64);
    const stream = loose(on.stream);
    expect(() => stream.copyToDevice(memory, new Uint8Array(63))).toThrow(RangeError);
    expect(() => stream.copyToDevice(memory, [1, 2])).toThrow('Expected ArrayBufferView or PinnedMemory for src');
    expect(() => stream.copyToDevice({}, new Uint8Array(64))).toThrow(TypeError);
    expect(() => stream.copyToHost(new Uint8Array(65), memory)).toThrow(RangeError);
    expect(() => stream.copy(memory.slice(0, 32), memory.slice(31, 32))).toThrow('do not overlap');
    expect(() => stream.copy(memory.slice(0, 32), memory.slice(32, 31))).toThrow(RangeError);
    expect(() => stream.fill(memory, 256)).toThrow('Expected integer between 0 and 255 for byte');
    expect(() => stream.fill(memory, '1')).toThrow(TypeError);
    await expect(stream.done(null)).rejects.toThrow('Expected object for options but received null of type object');
  });
}
