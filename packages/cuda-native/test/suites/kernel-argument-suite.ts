import { expect, it } from 'vitest';
import { failureOf, loose, onDevice, read, testKernels } from './on-device.js';

const FILL = ['pointer', 'u32', 'u32'] as const;

/** How arguments arrive, and which are refused. */
export function kernelArgumentSuite(): void {
  const on = onDevice();
  const module = testKernels(on);

  it('gets numbers of every type, each at its alignment', async () => {
    const signature = ['u8', 'u16', 'u32', 'u64', 'f32', 'f64', 'pointer'] as const;
    const mixed = await module().kernel('mixed', signature);
    await using out = await on.device.alloc(48);
    const launch = async (...numbers: [number, number, number, bigint | number, number, number]) => {
      on.stream.launch(mixed, { grid: 1, block: 1 }, ...numbers, out);
      return new DataView((await read(on.stream, out)).buffer);
    };
    let seen = await launch(255, 65535, 2 ** 32 - 1, 2n ** 64n - 1n, -1.5, Math.PI);
    expect([0, 8, 16, 24].map((at) => seen.getBigUint64(at, true))).toEqual([
      255n,
      65535n,
      2n ** 32n - 1n,
      2n ** 64n - 1n,
    ]);
    expect(seen.getFloat32(32, true)).toBe(-1.5);
    expect(seen.getFloat64(40, true)).toBe(Math.PI);
    seen = await launch(0, 1, 2, Number.MAX_SAFE_INTEGER, Number.NaN, Number.NEGATIVE_INFINITY);
    expect([0, 8, 16, 24].map((at) => seen.getBigUint64(at, true))).toEqual([0n, 1n, 2n, 2n ** 53n - 1n]);
    expect(seen.getFloat32(32, true)).toBeNaN();
    expect(seen.getFloat64(40, true)).toBe(Number.NEGATIVE_INFINITY);
  });

  it('gets negative numbers as two’s complement', async () => {
    // Signed types where the kernel has unsigned ones of the same size, to see their bits.
    const mixed = await module().kernel('mixed', ['i8', 'i16', 'i32', 'i64', 'f32', 'f64', 'pointer']);
    await using out = await on.device.alloc(48);
    for (const [a, b, c, d] of [
      [-128, -32768, -(2 ** 31), -(2n ** 63n)],
      [127, 32767, 2 ** 31 - 1, 2n ** 63n - 1n],
      [-1, -2, -3, -4],
    ] as const) {
      on.stream.launch(mixed, { grid: 1, block: 1 }, a, b, c, d, 0, 0, out);
      const seen = new DataView((await read(on.stream, out)).buffer);
      expect([seen.getInt8(0), seen.getInt16(8, true), seen.getInt32(16, true)]).toEqual([a, b, c]);
      expect(seen.getBigInt64(24, true)).toBe(BigInt(d));
    }
  });

  it('gets a struct by value, from any view of its bytes', async () => {
    const kernel = await module().kernel('struct_arg', [{ bytes: 24, align: 8 }, 'pointer']);
    await using out = await on.device.alloc(24);
    // { float x, y; int32_t n; int64_t big } with padding before `big`.
    const bytes = new DataView(new ArrayBuffer(40), 8, 24);
    bytes.setFloat32(0, 1.25, true);
    bytes.setFloat32(4, -8, true);
    bytes.setInt32(8, -77, true);
    bytes.setBigInt64(16, -(2n ** 40n), true);
    for (const view of [bytes, new Uint8Array(bytes.buffer, 8, 24), new Float64Array(bytes.buffer, 8, 3)]) {
      on.stream.fill(out, 0);
      on.stream.launch(kernel, { grid: 1, block: 1 }, view, out);
      const seen = new DataView((await read(on.stream, out)).buffer);
      expect([seen.getFloat32(0, true), seen.getFloat32(4, true), seen.getInt32(8, true)]).toEqual([1.25, -8, -77]);
      expect(seen.getBigInt64(16, true)).toBe(-(2n ** 40n));
    }
    expect(() => on.stream.launch(kernel, { grid: 1, block: 1 }, new Uint8Array(23), out)).toThrow(
      'Expected 24 bytes for argument 0 but received 23 bytes',
    );
    expect(() => loose(on.stream).launch(kernel, { grid: 1, block: 1 }, [1], out)).toThrow(
      'Expected ArrayBufferView of 24 bytes for argument 0',
    );
  });

  it('refuses arguments that do not fit before the driver sees them', async () => {
    const mixed = await module().kernel('mixed', ['u8', 'u16', 'u32', 'u64', 'f32', 'f64', 'pointer']);
    await using out = await on.device.alloc(48);
    const good = [1, 2, 3, 4n, 5, 6, out];
    const launch = (index: number, value: unknown) => () =>
      loose(on.stream).launch(mixed, { grid: 1, block: 1 }, ...good.map((each, at) => (at === index ? value : each)));
    for (const [index, value] of [
      [0, 256],
      [0, -1],
      [0, 0.5],
      [1, 65536],
      [2, 2 ** 32],
      [2, Number.NaN],
      [3, -1n],
      [3, 2n ** 64n],
      [3, 2 ** 53],
    ] as const) {
      expect(launch(index, value), `${index}: ${value}`).toThrow(RangeError);
    }
    for (const [index, value] of [
      [0, '1'],
      [1, 1n],
      [3, '1'],
      [4, 1n],
      [5, undefined],
      [6, undefined],
      [6, 4096],
      [6, new Uint8Array(48)],
    ] as const) {
      expect(launch(index, value), `${index}: ${String(value)}`).toThrow(TypeError);
    }
    expect(launch(0, 256)).toThrow('Expected integer between 0 and 255 for argument 0 but received 256 of type number');
    expect(() => loose(on.stream).launch(mixed, { grid: 1, block: 1 }, 1)).toThrow(
      "Expected 7 arguments for kernel 'mixed' but received 1 arguments",
    );
    expect(() => loose(on.stream).launch({}, { grid: 1, block: 1 })).toThrow('Expected Kernel for kernel');
    on.stream.launch(mixed, { grid: 1, block: 1 }, 1, 2, 3, 4, 5, 6, out);
    expect((await read(on.stream, out))[0]).toBe(1);
  });

  it('refuses a signature that is none, or that does not fit', async () => {
    const kernel = (signature: unknown, name: unknown = 'fill_u32', options: unknown = {}) =>
      failureOf(() => loose(module()).kernel(name, signature, options));
    for (const signature of [undefined, 'u32', ['u33'], [null], [{ bytes: 'x' }]]) {
      expect(await kernel(signature), String(signature)).toBeInstanceOf(TypeError);
    }
    for (const signature of [[{ bytes: 0 }], [{ bytes: 8, align: 3 }], [{ bytes: 32765 }], [{ bytes: 32760 }, 'u64']]) {
      expect(await kernel(signature), JSON.stringify(signature)).toBeInstanceOf(RangeError);
    }
    expect(await kernel(FILL, 5)).toBeInstanceOf(TypeError);
    expect(await kernel(FILL, '')).toBeInstanceOf(RangeError);
    expect(await kernel(FILL, 'fill\0')).toBeInstanceOf(RangeError);
    expect(await kernel(FILL, 'fill_u32', null)).toBeInstanceOf(TypeError);
    // What the driver says of the parameters (since CUDA 12.4).
    expect(await kernel(['pointer', 'u32'])).toMatchObject({
      name: 'RangeError',
      message: "Expected a signature of 3 parameters for kernel 'fill_u32' but received one of 2",
    });
    expect(await kernel(['pointer', 'u32', 'u32', 'u32'])).toBeInstanceOf(RangeError);
    expect(await kernel(['pointer', 'u32', 'u16'])).toMatchObject({
      message:
        "Expected a parameter of 4 bytes at byte 12 for signature[2] of kernel 'fill_u32' but received u16: 2 bytes at byte 12",
    });
    expect(await kernel(['u32', 'pointer', 'u32'])).toBeInstanceOf(RangeError);
    expect(await kernel([{ bytes: 24, align: 16 }, 'u64'], 'struct_arg')).toBeUndefined();
  });
}
