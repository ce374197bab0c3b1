import { describe, expect, test } from 'vitest';
import { splitBytes } from '../../src/bytes-elements.js';
import { decodeBytes, elementByteLength, encodeBytes, region, type Tensor, tensor } from '../../src/index.js';

describe('tensor', () => {
  test('numeric data is a view of the caller’s memory', () => {
    const whole = Float32Array.of(0, 1, 2, 3, 4);
    const made = tensor('FP32', [2, 2], whole.subarray(1));
    expect(made.data.buffer).toBe(whole.buffer);
    expect([made.data.byteOffset, made.data.byteLength]).toEqual([4, 16]);
    expect(made.shape).toEqual([2, 2]);
  });

  test.each([
    ['BOOL', new Uint8Array(2)],
    ['UINT8', Buffer.alloc(2)],
    ['UINT16', new Uint16Array(2)],
    ['UINT32', new Uint32Array(2)],
    ['UINT64', new BigUint64Array(2)],
    ['INT8', new Int8Array(2)],
    ['INT16', new Int16Array(2)],
    ['INT32', new Int32Array(2)],
    ['INT64', new BigInt64Array(2)],
    ['FP16', new Uint16Array(2)],
    ['BF16', new Uint16Array(2)],
    ['FP32', new Float32Array(2)],
    ['FP64', new Float64Array(2)],
  ] as const)('%s', (datatype, data) => {
    const made = (tensor as (...args: unknown[]) => Tensor)(datatype, [2], data);
    expect(made.data.byteLength).toBe(2 * (elementByteLength(datatype) ?? 0));
    const wrong = datatype === 'FP64' ? new Float32Array(2) : new Float64Array(2);
    expect(() => (tensor as (...args: unknown[]) => Tensor)(datatype, [2], wrong)).toThrow(TypeError);
  });

  test.each([
    ['BOOL', [true, false], Uint8Array.of(1, 0)],
    ['UINT8', [0, 255], Uint8Array.of(0, 255)],
    ['UINT16', [0, 65535], Uint16Array.of(0, 65535)],
    ['UINT32', [0, 2 ** 32 - 1], Uint32Array.of(0, 2 ** 32 - 1)],
    ['UINT64', [7, 2n ** 64n - 1n], BigUint64Array.of(7n, 2n ** 64n - 1n)],
    ['INT8', [-128, 127], Int8Array.of(-128, 127)],
    ['INT16', [-32768, 32767], Int16Array.of(-32768, 32767)],
    ['INT32', [-(2 ** 31), 2 ** 31 - 1], Int32Array.of(-(2 ** 31), 2 ** 31 - 1)],
    ['INT64', [-1, -(2n ** 63n)], BigInt64Array.of(-1n, -(2n ** 63n))],
    ['FP32', [0.1, Number.NaN], Float32Array.of(0.1, Number.NaN)],
    ['FP64', [0.1, Number.NEGATIVE_INFINITY], Float64Array.of(0.1, Number.NEGATIVE_INFINITY)],
  ] as const)('an ordinary array as %s', (datatype, values, expected) => {
    const make = tensor as (...args: unknown[]) => Tensor;
    expect(make(datatype, [2], values).data).toEqual(new Uint8Array(expected.buffer));
  });

  test.each([
    ['UINT8', [256], RangeError],
    ['UINT8', [-1], RangeError],
    ['INT8', [128], RangeError],
    ['INT32', [1.5], RangeError],
    ['INT32', [Number.NaN], RangeError],
    ['UINT32', [2 ** 32], RangeError],
    ['INT64', [2 ** 53], RangeError],
    ['INT64', [2n ** 63n], RangeError],
    ['UINT64', [-1n], RangeError],
    ['UINT64', ['1'], TypeError],
    ['INT32', [1n], TypeError],
    ['FP32', ['1'], TypeError],
    ['FP64', [undefined], TypeError],
    ['BOOL', [1], TypeError],
  ] as const)('%s does not take %s', (datatype, values, kind) => {
    const make = () => (tensor as (...args: unknown[]) => Tensor)(datatype, [1], values);
    expect(make).toThrow(kind);
    expect(make).toThrow('data[0]');
  });

  test('BYTES elements have a little-endian length before them', () => {
    const made = tensor('BYTES', [3], ['é', '', Uint8Array.of(7)]);
    expect([...made.data]).toEqual([2, 0, 0, 0, 0xc3, 0xa9, 0, 0, 0, 0, 1, 0, 0, 0, 7]);
    expect(splitBytes(made.data)?.map((element) => [...element])).toEqual([[0xc3, 0xa9], [], [7]]);
  });

  test('BYTES that break off have no elements', () => {
    expect(splitBytes(Uint8Array.of(1, 0, 0))).toBeUndefined();
    expect(splitBytes(Uint8Array.of(2, 0, 0, 0, 9))).toBeUndefined();
    expect(splitBytes(Uint8Array.of(255, 255, 255, 255, 9))).toBeUndefined();
  });

  test('BYTES in a region: what follows the elements is ignored, and what is missing is an error', () => {
    const bytes = encodeBytes(['ab', '', Uint8Array.of(0xff)]);
    const stale = Uint8Array.from([...bytes, 9, 0, 0, 0, 1]);
    expect(decodeBytes(stale, 3).map((element) => [...element])).toEqual([[97, 98], [], [255]]);
    expect(decodeBytes(stale, 3)[0]?.buffer).toBe(stale.buffer);
    expect(decodeBytes(stale, 0)).toEqual([]);
    expect(() => decodeBytes(stale, 4)).toThrow('Expected 4 BYTES elements for bytes but received 3 of type number');
    expect(() => decodeBytes(bytes, -1)).toThrow(RangeError);
  });

  test('a scalar and an empty tensor have shapes too', () => {
    expect(tensor('FP32', [], new Float32Array(1)).shape).toEqual([]);
    expect(tensor('FP32', [0, 4], new Float32Array(0)).data.byteLength).toBe(0);
  });

  test('wrong arguments say what was expected and what came', () => {
    expect(() => tensor('FP32', [2, 2], new Float32Array(3))).toThrow(
      'Expected 4 elements (shape [2, 2]) for data but received 3 of type number',
    );
    expect(() => tensor('FP32', [-1], new Float32Array(1))).toThrow(
      'Expected non-negative integer for shape[0] but received -1 of type number',
    );
    expect(() => tensor('FP32', [1], new Float64Array(1) as never)).toThrow(
      'Expected Float32Array for data of FP32 but received',
    );
    expect(() => tensor('FP8' as 'FP32', [1], new Float32Array(1))).toThrow(
      /^Expected one of BOOL, .*BYTES for datatype/,
    );
    expect(() => tensor('BYTES', [1], [1 as never])).toThrow(TypeError);
    expect(() => tensor('BYTES', [1], 'a' as never)).toThrow(TypeError);
    expect(() => tensor('FP32', [2 ** 30, 2 ** 30], new Float32Array(1))).toThrow(RangeError);
  });
});

describe('region', () => {
  test('the size follows from the shape', () => {
    expect(region('r', { datatype: 'FP32', shape: [1, 3, 4], byteOffset: 256 })).toEqual({
      region: 'r',
      datatype: 'FP32',
      shape: [1, 3, 4],
      byteOffset: 256,
      byteLength: 48,
    });
  });

  test('wrong arguments say what was expected and what came', () => {
    expect(() => region('r', { datatype: 'FP32', shape: [2], byteLength: 4 })).toThrow(
      'Expected 8 bytes (FP32 [2]) for byteLength but received 4 of type number',
    );
    expect(() => region('', { datatype: 'FP32', shape: [2] })).toThrow(TypeError);
    expect(() => region('r', { datatype: 'BYTES', shape: [2] })).toThrow(TypeError);
    expect(() => region('r', { datatype: 'FP32', shape: [0] })).toThrow(RangeError);
    expect(() => region('r', { datatype: 'FP32', shape: [1], byteOffset: -1 })).toThrow(RangeError);
  });
});

test('an unknown datatype has no size', () => {
  expect(elementByteLength('BYTES')).toBeUndefined();
  expect(() => elementByteLength('toString' as 'FP32')).toThrow(TypeError);
});
