import { expect, it } from 'vitest';
import { DisposedError } from '../../src/index.js';
import { MIB, onDevice } from './on-device.js';

export function memorySuite(): void {
  const on = onDevice();

  it('is freed by close, once', async () => {
    const memory = await on.device.alloc(64 * MIB);
    const { free } = on.device.memoryInfo();
    expect(memory.byteLength).toBe(64 * MIB);
    expect(memory.address).toBeTypeOf('bigint');
    await Promise.all([memory.close(), memory.close()]);
    await memory.close();
    expect(memory.closed).toBe(true);
    expect(on.device.memoryInfo().free).toBeGreaterThanOrEqual(free + 64 * MIB);
    expect(() => memory.address).toThrow(DisposedError);
    expect(() => memory.slice(0, 1)).toThrow(DisposedError);
  });

  it('has slices that end with it', async () => {
    const memory = await on.device.alloc(4096);
    const slice = memory.slice(1024, 512);
    expect(slice.address).toBe(memory.address + 1024n);
    const inner = slice.slice(256, 256);
    expect(inner.address).toBe(memory.address + 1280n);
    const beside = memory.slice(0, 512);
    await slice.close();
    expect([slice.closed, inner.closed, beside.closed, memory.closed]).toEqual([true, true, false, false]);
    expect(() => on.stream.fill(inner, 0)).toThrow(DisposedError);
    on.stream.fill(beside, 0);
    await memory.close();
    expect(beside.closed).toBe(true);
    expect(() => on.stream.fill(beside, 0)).toThrow(DisposedError);
  });

  it('is zeroed, rounded up and alone when exportable', async () => {
    await using memory = await on.device.alloc(2 * MIB + 1, { exportable: true });
    expect(memory.byteLength).toBe(2 * MIB + 1);
    const handle = memory.exportIpc();
    expect(handle.rawHandle.byteLength).toBe(64);
    expect(handle.allocationByteLength).toBe(4 * MIB);
    expect(handle.byteOffset).toBe(0);
    expect(handle.deviceUuid).toBe(on.device.uuid);
    expect(memory.slice(MIB, MIB).exportIpc()).toMatchObject({ byteOffset: MIB, allocationByteLength: 4 * MIB });
    const bytes = new Uint8Array(memory.byteLength).fill(1);
    await on.stream.copyToHost(bytes, memory);
    expect(bytes.every((byte) => byte === 0)).toBe(true);
  });

  it('is not exported when it was not made for it', async () => {
    await using memory = await on.device.alloc(4096);
    expect(() => memory.exportIpc()).toThrow(TypeError);
  });
}
