import { expect, it } from 'vitest';
import { CudaError, DisposedError } from '../../src/index.js';
import { failureOf, fixture, loose, onDevice, read, testKernels } from './on-device.js';

const MS = 1_000_000n;
const FILL = ['pointer', 'u32', 'u32'] as const;

/** Launches, and what they run on. */
export function kernelSuite(): void {
  const on = onDevice();
  const module = testKernels(on);

  it('describes itself', async () => {
    const kernel = await module().kernel('fill_u32', FILL);
    expect(kernel.name).toBe('fill_u32');
    expect(kernel.device).toBe(on.device);
    expect(kernel.maxThreadsPerBlock).toBeGreaterThanOrEqual(256);
    expect(kernel.registers).toBeGreaterThan(0);
    expect(kernel.staticSharedBytes).toBe(0);
    expect(kernel.dynamicSharedBytes).toBe(48 * 1024);
    expect(kernel.closed).toBe(false);
  });

  it('computes on device memory, its slices, and null', async () => {
    const saxpy = await module().kernel('saxpy', ['f32', 'pointer', 'pointer', 'u32']);
    const scale = await module().kernel('scale_f64', ['f64', 'pointer', 'i64']);
    const fill = await module().kernel('fill_u32', FILL);
    const n = 1000;
    await using memory = await on.device.alloc(3 * n * 4);
    const [x, y] = [memory.slice(0, 4 * n), memory.slice(4 * n, 4 * n)];
    const values = Float32Array.from({ length: n }, (_, i) => i / 3);
    await on.stream.copyToDevice(x, values);
    await on.stream.copyToDevice(y, values);
    on.stream.launch(saxpy, { grid: Math.ceil(n / 128), block: 128 }, 2.5, x, y, n);
    const sum = new Float32Array((await read(on.stream, y)).buffer);
    expect(Array.from(sum)).toEqual(Array.from(values, (value) => Math.fround(Math.fround(2.5 * value) + value)));
    const doubles = memory.slice(0, 80);
    await on.stream.copyToDevice(
      doubles,
      Float64Array.from({ length: 10 }, (_, i) => i),
    );
    on.stream.launch(scale, { grid: 1, block: 32 }, -0.5, doubles, 9n);
    on.stream.launch(scale, { grid: 1, block: 32 }, 2, doubles, 1);
    expect(Array.from(new Float64Array((await read(on.stream, doubles)).buffer))).toEqual([
      -0, -0.5, -1, -1.5, -2, -2.5, -3, -3.5, -4, 9,
    ]);
    on.stream.launch(fill, { grid: 1, block: 1 }, null, 1, 0);
    await on.stream.done();
  });

  it('computes on pinned memory where it lies', async () => {
    const fill = await module().kernel('fill_u32', FILL);
    await using pinned = await on.device.allocPinned(4096);
    const values = new Uint32Array(pinned.buffer);
    on.stream.launch(fill, { grid: 4, block: 256 }, pinned, 0xdeadbeef, 1000);
    await on.stream.done();
    expect(values.subarray(0, 1000).every((value) => value === 0xdeadbeef)).toBe(true);
    expect(values[1000]).toBe(0);
    // Inside the memory, by its address.
    const by = await module().kernel('fill_u32', ['u64', 'u32', 'u32']);
    on.stream.launch(by, { grid: 1, block: 32 }, pinned.deviceAddress + 4000n, 7, 24);
    await on.stream.done();
    expect(Array.from(values.subarray(999, 1002))).toEqual([0xdeadbeef, 7, 7]);
  });

  it('runs as many threads as the launch has', async () => {
    const fill = await module().kernel('fill_u32', FILL);
    await using memory = await on.device.alloc(4096);
    for (const [grid, block, threads] of [
      [3, 7, 21],
      [[5], [8, 1, 1], 40],
      [[2, 1], [4], 8],
      [1, 1024, 1024],
    ] as const) {
      on.stream.fill(memory, 0);
      on.stream.launch(fill, { grid, block }, memory, 1, 1024);
      const values = new Uint32Array((await read(on.stream, memory)).buffer);
      expect(values.filter((value) => value === 1)).toHaveLength(threads);
    }
  });

  it('copies its arguments before the call returns', async () => {
    const fill = await module().kernel('fill_u32', FILL);
    const spin = await module().kernel('spin', ['u64']);
    await using memory = await on.device.alloc(400);
    on.stream.launch(spin, { grid: 1, block: 1 }, 20n * MS);
    for (let i = 0; i < 100; i += 1) on.stream.launch(fill, { grid: 1, block: 1 }, memory.slice(i * 4, 4), i, 1);
    const values = new Uint32Array((await read(on.stream, memory)).buffer);
    expect(Array.from(values)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  it('refuses sizes over the limits before the driver sees them', async () => {
    const fill = await module().kernel('fill_u32', FILL);
    await using memory = await on.device.alloc(16);
    const launch = (config: unknown) => () => loose(on.stream).launch(fill, config, memory, 1, 1);
    for (const config of [
      { grid: 0, block: 1 },
      { grid: -1, block: 1 },
      { grid: 1.5, block: 1 },
      { grid: 2 ** 31, block: 1 },
      { grid: [1, 65536], block: 1 },
      { grid: [1, 1, 65536], block: 1 },
      { grid: 1, block: 1025 },
      { grid: 1, block: [1, 1, 65] },
      { grid: 1, block: [32, 32, 2] },
      { grid: 1, block: Number.NaN },
      { grid: 1, block: 1, sharedBytes: 48 * 1024 + 1 },
      { grid: 1, block: 1, sharedBytes: -1 },
      { grid: 8, block: 1, cluster: 3 },
      { grid: 16, block: 1, cluster: 16 },
      { grid: [4, 4], block: 1, cluster: [4, 4] },
    ]) {
      expect(launch(config), JSON.stringify(config)).toThrow(RangeError);
    }
    for (const config of [
      undefined,
      null,
      {},
      { grid: '1', block: 1 },
      { grid: [], block: 1 },
      { grid: [1, 1, 1, 1], block: 1 },
      { grid: 1 },
      { grid: 1, block: 1, sharedBytes: '0' },
      { grid: [1, null], block: 1, cluster: {} },
    ]) {
      expect(launch(config), JSON.stringify(config)).toThrow(TypeError);
    }
    await on.stream.done();
  });

  it('may use more than 48 KiB of dynamic shared memory when that was asked for', async () => {
    const signature = ['pointer', 'u32'] as const;
    const most = on.device.maxSharedBytesPerBlock;
    const large = await module().kernel('dynamic_shared', signature, { dynamicSharedBytes: most });
    // The same function of the driver: what this one asks for must not take from the other.
    const small = await module().kernel('dynamic_shared', signature, { dynamicSharedBytes: 49153 });
    const plain = await module().kernel('dynamic_shared', signature);
    expect([large, small, plain].map((kernel) => kernel.dynamicSharedBytes)).toEqual([most, 49153, 49152]);
    await using out = await on.device.alloc(8);
    for (const [kernel, bytes] of [
      [large, most],
      [small, 49153],
      [plain, 49152],
      [plain, 0],
    ] as const) {
      on.stream.launch(kernel, { grid: 1, block: 64, sharedBytes: bytes }, out, bytes);
      let sum = 0;
      for (let i = 0; i < bytes; i += 1) sum += i & 255;
      expect(Array.from(new Uint32Array((await read(on.stream, out)).buffer))).toEqual([bytes, sum]);
    }
    expect(() => on.stream.launch(small, { grid: 1, block: 1, sharedBytes: 49154 }, out, 0)).toThrow(RangeError);
    await expect(module().kernel('dynamic_shared', signature, { dynamicSharedBytes: most + 1 })).rejects.toThrow(
      `Expected integer between 0 and ${most} for dynamicSharedBytes`,
    );
  });

  it('stays loaded while a launch of it runs, and is launched no more after that', async () => {
    const { device, stream } = on;
    const mine = await device.loadModule(fixture('kernels.fatbin'));
    const spin = await mine.kernel('spin', ['u64']);
    const fill = await mine.kernel('fill_u32', FILL);
    await using memory = await device.alloc(400);
    stream.launch(spin, { grid: 1, block: 1 }, 50n * MS);
    stream.launch(fill, { grid: 1, block: 100 }, memory, 5, 100);
    const looking = mine.kernel('saxpy', ['f32', 'pointer', 'pointer', 'u32']);
    const closed = Promise.all([mine.close(), mine.close()]);
    expect([mine.closed, spin.closed]).toEqual([true, true]);
    expect(() => stream.launch(spin, { grid: 1, block: 1 }, 1)).toThrow(DisposedError);
    expect(() => stream.launch(spin, { grid: 1, block: 1 }, 1)).toThrow('This Kernel, with its Module, is closed');
    await expect(looking).rejects.toThrow(DisposedError);
    await expect(mine.kernel('spin', ['u64'])).rejects.toThrow('This Module is closed');
    await closed;
    const values = new Uint32Array((await read(stream, memory)).buffer);
    expect(values.every((value) => value === 5)).toBe(true);
  });

  it('is not found when the module has no such entry', async () => {
    const missing = await failureOf(() => module().kernel('nope', []));
    expect(missing).toBeInstanceOf(CudaError);
    expect(missing).toMatchObject({ code: 'CUDA_ERROR_NOT_FOUND', call: 'cuModuleGetFunction', sticky: false });
    expect((missing as CudaError).message).toContain("kernel 'nope'");
  });

  it('runs in clusters where the device has them', async () => {
    const { device, stream } = on;
    const fill = await module().kernel('fill_u32', FILL);
    await using out = await device.alloc(4 * 4 * 2 * 4);
    if (device.computeCapability.major < 9) {
      expect(() => stream.launch(fill, { grid: 8, block: 1, cluster: 2 }, out, 1, 1)).toThrow('compute capability 9.0');
      return;
    }
    await using clusters = await device.loadModule(fixture('cluster.ptx'));
    const rank = await clusters.kernel('cluster_rank', ['pointer']);
    for (const [grid, cluster, ranks] of [
      [8, 4, [0, 1, 2, 3, 0, 1, 2, 3]],
      [8, [8], [0, 1, 2, 3, 4, 5, 6, 7]],
      [
        [4, 2],
        [2, 2],
        [0, 1, 0, 1, 2, 3, 2, 3],
      ],
      [
        [2, 2, 2],
        [1, 1, 2],
        [0, 0, 0, 0, 1, 1, 1, 1],
      ],
      [4, undefined, [0, 0, 0, 0]],
    ] as const) {
      stream.launch(rank, { grid, block: 32, ...(cluster !== undefined && { cluster }) }, out);
      const seen = new Uint32Array((await read(stream, out)).buffer);
      expect(Array.from(seen.subarray(0, ranks.length))).toEqual(ranks);
    }
  });
}
