import { afterEach, expect, it } from 'vitest';
import { BusyError, DisposedError, SharedMemory } from '../../src/index.js';
import { failureOf, loose, MIB, onDevice, pattern, read, testKernels } from './on-device.js';

/** Shared memory that devices copy from and to without a detour. */
export function registerSuite(): void {
  const on = onDevice();
  const module = testKernels(on);
  const made: SharedMemory[] = [];
  let counter = 0;

  async function region(byteLength: number): Promise<SharedMemory> {
    counter += 1;
    const memory = await SharedMemory.create(`/zerohop-test-register-${process.pid}-${counter}`, byteLength);
    made.push(memory);
    return memory;
  }

  afterEach(() => {
    // Nothing here leaves a registration behind: close() would say so.
    for (const memory of made.splice(0)) memory.close();
  });

  it('is copied from and to where it lies, in order with other work', async () => {
    const { device, stream } = on;
    const shared = await region(MIB);
    await using registered = await device.registerHost(shared);
    expect(registered.buffer).toBe(shared.buffer);
    expect(registered.byteLength).toBe(MIB);
    await using memory = await device.alloc(MIB);
    const bytes = new Uint8Array(shared.buffer);
    bytes.set(pattern(MIB));
    // Views of the shared buffer are pinned memory now: the copies are only enqueued.
    void stream.copyToDevice(memory, bytes);
    stream.fill(memory.slice(0, 16), 1);
    void stream.copyToHost(bytes.subarray(16, 32), memory.slice(0, 16));
    void stream.copyToHost(bytes.subarray(MIB - 8), memory.slice(8, 8));
    await stream.done();
    const expected = pattern(MIB)
      .fill(1, 16, 32)
      .fill(1, MIB - 8);
    expect(Buffer.compare(bytes, expected)).toBe(0);
    expect(Buffer.compare(await read(stream, memory), pattern(MIB).fill(1, 0, 16))).toBe(0);
  });

  it('moves with a renewed buffer: copies with the new one are still only enqueued, the old one is refused', async () => {
    const { device, stream } = on;
    const shared = await region(4096);
    const registering = device.registerHost(shared);
    // While the registration is under way, and after it.
    shared.renew();
    const registered = await registering;
    expect(registered.buffer).toBe(shared.buffer);
    const old = new Uint8Array(shared.buffer);
    const fresh = new Uint8Array(shared.renew());
    expect(registered.buffer).toBe(fresh.buffer);
    await using memory = await device.alloc(4096);
    fresh.set(pattern(4096));
    void stream.copyToDevice(memory, fresh);
    await stream.done();
    expect(Buffer.compare(await read(stream, memory), pattern(4096))).toBe(0);
    expect(() => stream.copyToDevice(memory, old)).toThrow(/detached buffer/);
    await registered.close();
    expect(fresh.byteLength).toBe(4096);
  });

  it('is reached by kernels, as another process that has the key sees', async () => {
    const { device, stream } = on;
    const shared = await region(8192);
    const elsewhere = await SharedMemory.open(shared.key);
    made.push(elsewhere);
    await using registered = await device.registerHost(shared.buffer);
    const fill = await module().kernel('fill_u32', ['pointer', 'u32', 'u32']);
    const at = await module().kernel('fill_u32', ['u64', 'u32', 'u32']);
    const saxpy = await module().kernel('saxpy', ['f32', 'pointer', 'u64', 'u32']);
    stream.launch(fill, { grid: 4, block: 256 }, registered, 0x3f800000, 1024);
    stream.launch(at, { grid: 4, block: 256 }, registered.deviceAddress + 4096n, 0x40000000, 1024);
    stream.launch(saxpy, { grid: 4, block: 256 }, 3, registered, registered.deviceAddress + 4096n, 1024);
    await stream.done();
    const floats = new Float32Array(elsewhere.buffer);
    expect(floats.subarray(0, 1024).every((value) => value === 1)).toBe(true);
    expect(floats.subarray(1024).every((value) => value === 5)).toBe(true);
  });

  it('keeps the region mapped until it is closed', async () => {
    const { device, stream } = on;
    const shared = await region(4096);
    const registering = device.registerHost(shared);
    expect(() => shared.close()).toThrow(BusyError);
    const registered = await registering;
    expect(() => shared.close()).toThrow('registered with a device');
    await using memory = await device.alloc(4096);
    const spin = await module().kernel('spin', ['u64']);
    stream.launch(spin, { grid: 1, block: 1 }, 30_000_000);
    stream.fill(memory, 6);
    void stream.copyToHost(registered, memory);
    // Disposed of first, under a copy that runs: it goes last.
    shared[Symbol.dispose]();
    expect(shared.closed).toBe(true);
    const bytes = new Uint8Array(registered.buffer);
    await Promise.all([registered.close(), registered.close()]);
    expect(bytes.byteLength).toBe(0);
    expect(() => registered.deviceAddress).toThrow(DisposedError);
    expect(() => stream.copyToHost(registered, memory)).toThrow(DisposedError);
    expect(SharedMemory.tryRemove(shared.key)).toBe('absent');
  });

  it('goes through the staging buffers again afterwards', async () => {
    const { device, stream } = on;
    const shared = await region(4096);
    await using memory = await device.alloc(4096);
    for (let round = 1; round <= 3; round += 1) {
      const registered = await device.registerHost(shared);
      new Uint8Array(shared.buffer).fill(round);
      void stream.copyToDevice(memory, registered);
      await registered.close();
      expect((await read(stream, memory))[4095]).toBe(round);
      new Uint8Array(shared.buffer).fill(100 + round);
      await stream.copyToDevice(memory, new Uint8Array(shared.buffer));
      expect((await read(stream, memory))[4095]).toBe(100 + round);
    }
  });

  it('is not registered twice', async () => {
    const { device } = on;
    const shared = await region(4096);
    const registered = await device.registerHost(shared);
    expect(await failureOf(() => device.registerHost(shared))).toMatchObject({
      code: 'CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED',
      call: 'cuMemHostRegister',
      sticky: false,
    });
    // The first one is as it was.
    expect(() => shared.close()).toThrow(BusyError);
    await using memory = await device.alloc(4096);
    void on.stream.copyToDevice(memory, registered);
    await registered.close();
    shared.close();
    expect(shared.closed).toBe(true);
  });

  it('checks what it is given before the driver sees it', async () => {
    const { registerHost } = { registerHost: (memory: unknown) => loose(on.device).registerHost(memory) };
    const empty = await region(0);
    await using pinned = await on.device.allocPinned(16);
    for (const memory of [
      undefined,
      null,
      {},
      'key',
      new ArrayBuffer(16),
      new Uint8Array(16),
      empty,
      empty.buffer,
      pinned,
    ]) {
      await expect(registerHost(memory)).rejects.toThrow(TypeError);
    }
    await expect(registerHost(new ArrayBuffer(16))).rejects.toThrow(
      'Expected SharedMemory with bytes, or its buffer for memory but received ArrayBuffer of type object',
    );
    const closed = await region(16);
    closed.close();
    await expect(registerHost(closed)).rejects.toThrow(DisposedError);
  });
}
