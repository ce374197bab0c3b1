import { describe, expect, test } from 'vitest';
import { elementByteLength, region, type Tensor, tensor } from '../../src/index.js';
import { splitBytes } from '../../src/tensor.js';

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

  test('booleans become bytes', () => {
    expect([...tensor('BOOL', [3], [true, false, true]).data]).toEqual([1, 0, 1]);
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
