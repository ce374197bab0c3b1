import { expect, it } from 'vitest';
import { CudaError, DisposedError, SharedMemory } from '../../src/index.js';
import { failureOf, loose, onDevice, pattern, read, testKernels } from './on-device.js';

/** Memory that somebody else owns: here, always, another object of our own. */
export function wrapSuite(): void {
  const on = onDevice();
  const module = testKernels(on);

  it('shows page-locked memory of the host: kernels, fills and copies reach it where it lies', async () => {
    const { device, stream } = on;
    const shared = await SharedMemory.create(`/zerohop-test-wrap-${process.pid}`, 8192);
    await using registered = await device.registerHost(shared);
    await using pinned = await device.allocPinned(4096);
    await using memory = await device.alloc(4096);
    const shown = device.wrap(registered);
    expect([shown.address, shown.byteLength, shown.device]).toEqual([registered.deviceAddress, 8192, device]);
    const fill = await module().kernel('fill_u32', ['pointer', 'u32', 'u32']);
    stream.launch(fill, { grid: 4, block: 256 }, shown.slice(4096, 4096), 0x3f800000, 1024);
    stream.fill(shown.slice(0, 1024), 3);
    stream.copy(memory, shown.slice(4096, 4096));
    stream.copy(shown.slice(1024, 1024), memory.slice(0, 1024));
    stream.copy(device.wrap(pinned), memory);
    void stream.copyToDevice(shown.slice(2048, 16), pattern(16));
    await stream.done();
    const floats = new Float32Array(shared.buffer);
    expect(new Uint8Array(shared.buffer, 0, 1024).every((byte) => byte === 3)).toBe(true);
    expect(floats.subarray(256, 512).every((value) => value === 1)).toBe(true);
    expect(Buffer.compare(new Uint8Array(shared.buffer, 2048, 16), pattern(16))).toBe(0);
    expect(floats.subarray(1024).every((value) => value === 1)).toBe(true);
    expect(new Float32Array(pinned.buffer).every((value) => value === 1)).toBe(true);
    expect(await read(stream, shown.slice(0, 16))).toEqual(new Uint8Array(16).fill(3));
    await registered.close();
    shared.close();
  });

  it('shows page-locked memory for as long as that is open, and closing that waits for work with it', async () => {
    const { device, stream } = on;
    const pinned = await device.allocPinned(4096);
    const shown = device.wrap(pinned);
    const part = shown.slice(0, 16);
    expect(() => shown.exportIpc()).toThrow(TypeError);
    await device.wrap(pinned).close();
    expect([shown.closed, pinned.closed]).toEqual([false, false]);
    const spin = await module().kernel('spin', ['u64']);
    stream.launch(spin, { grid: 1, block: 1 }, 30_000_000);
    stream.fill(part, 1);
    await pinned.close();
    expect(stream.query()).toBe(true);
    expect([shown.closed, part.closed]).toEqual([true, true]);
    expect(() => stream.fill(part, 1)).toThrow(DisposedError);
    expect(() => device.wrap(pinned)).toThrow(DisposedError);
  });

  it('is the same memory', async () => {
    const { device, stream } = on;
    await using owner = await device.alloc(4096);
    await using all = device.wrap(owner.address, 4096, { keepAlive: owner });
    await using part = device.wrap(owner.address + 1000n, 96, { keepAlive: owner });
    expect([all.address, part.address]).toEqual([owner.address, owner.address + 1000n]);
    expect([all.byteLength, part.byteLength, part.device]).toEqual([4096, 96, device]);
    await stream.copyToDevice(all, pattern(4096));
    stream.fill(part.slice(90, 6), 1);
    const expected = pattern(4096).fill(1, 1090, 1096);
    expect(Buffer.compare(await read(stream, owner), expected)).toBe(0);
    expect(Buffer.compare(await read(stream, part), expected.subarray(1000, 1096))).toBe(0);
  });

  it('is borrowed: closing it frees nothing', async () => {
    const { device, stream } = on;
    await using owner = await device.alloc(64);
    const wrapped = device.wrap(owner.address, 64, { keepAlive: owner });
    const slice = wrapped.slice(0, 8);
    stream.fill(wrapped, 7);
    await Promise.all([wrapped.close(), wrapped.close()]);
    expect([wrapped.closed, slice.closed, owner.closed]).toEqual([true, true, false]);
    expect(() => wrapped.address).toThrow(DisposedError);
    expect(() => stream.fill(slice, 1)).toThrow(DisposedError);
    expect(await read(stream, owner)).toEqual(new Uint8Array(64).fill(7));
  });

  it('is not exported', async () => {
    await using owner = await on.device.alloc(64, { exportable: true });
    await using wrapped = on.device.wrap(owner.address, 64, { keepAlive: owner });
    expect(() => wrapped.exportIpc()).toThrow(TypeError);
  });

  it('is refused where the driver knows no such memory', async () => {
    const { device, stream } = on;
    await using owner = await device.alloc(3 * 1024 * 1024);
    await using pinned = await device.allocPinned(4096);
    const wrap = (address: bigint, byteLength: number) =>
      failureOf(() => device.wrap(address, byteLength, { keepAlive: owner }));
    for (const [address, byteLength, words] of [
      [4096n, 1, 'the address is not of the CUDA driver'],
      [2n ** 63n, 1, 'the address is not of the CUDA driver'],
      [pinned.deviceAddress, 16, 'the address is memory of the host'],
      [owner.address, owner.byteLength * 100, `not ${owner.byteLength * 100}`],
    ] as const) {
      const error = await wrap(address, byteLength);
      expect(error).toBeInstanceOf(CudaError);
      expect(error).toMatchObject({ code: 'CUDA_ERROR_INVALID_VALUE', device: 0, sticky: false });
      expect((error as CudaError).message).toContain(words);
    }
    stream.fill(owner, 0);
    await stream.done();
  });

  it('checks what it is given before the driver sees it', async () => {
    await using owner = await on.device.alloc(64);
    const { address } = owner;
    const wrap =
      (...args: unknown[]) =>
      () =>
        loose(on.device).wrap(...args);
    const options = { keepAlive: owner };
    for (const args of [
      [Number(address), 64, options],
      ['1', 64, options],
      [address, '64', options],
      [address, 64],
    ]) {
      expect(wrap(...args)).toThrow(TypeError);
    }
    for (const args of [
      [0n, 64, options],
      [-1n, 64, options],
      [2n ** 64n, 64, options],
      [address, 0, options],
    ]) {
      expect(wrap(...args)).toThrow(RangeError);
    }
    expect(wrap(address, 64, null)).toThrow('Expected object for options but received null of type object');
    expect(wrap(5, 64, options)).toThrow('Expected positive bigint for address but received 5 of type number');
  });
}
