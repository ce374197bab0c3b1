import type { Datatype } from '@zerohop/cuda-native/tensor';
import { expect, test } from 'vitest';
import { compareBytes } from '../../src/answer-difference.js';
import { patternBytes } from '../../src/verify-pattern.js';

const bytes = (view: ArrayBufferView) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
const floats = (...values: number[]) => bytes(new Float32Array(values));
const halves = (...bits: number[]) => bytes(new Uint16Array(bits));

test.for<[string, Datatype, Uint8Array, Uint8Array, string | undefined]>([
  ['equal bytes', 'INT32', bytes(new Int32Array([1, 2])), bytes(new Int32Array([1, 2])), undefined],
  ['integers', 'INT32', bytes(new Int32Array([1, 2])), bytes(new Int32Array([1, 3])), 'byte 4 is 3 instead of 2'],
  ['another size', 'UINT8', new Uint8Array(4), new Uint8Array(3), '3 bytes instead of 4'],
  ['text', 'BYTES', new Uint8Array([1, 0, 0, 0, 65]), new Uint8Array([1, 0, 0, 0, 66]), 'byte 4 is 66 instead of 65'],
  ['floats within 0.1 % of the largest', 'FP32', floats(100, 0), floats(100.05, 0.09), undefined],
  ['floats beyond', 'FP32', floats(100, 0), floats(100, 0.11), 'element 1 is 0.10999999940395355 instead of 0'],
  ['zeros instead of floats', 'FP32', floats(0.5, 0.25), floats(0, 0), 'element 0 is 0 instead of 0.5'],
  [
    'floats where all are zero',
    'FP32',
    floats(0, 0),
    floats(0, 1e-9),
    'element 1 is 9.999999717180685e-10 instead of 0',
  ],
  ['a zero with another sign', 'FP32', floats(0), floats(-0), undefined],
  ['no number in both', 'FP32', floats(Number.NaN, 1), floats(Number.NaN, 1.0001), undefined],
  ['no number in one', 'FP32', floats(1), floats(Number.NaN), 'element 0 is NaN instead of 1'],
  ['infinity in both', 'FP32', floats(1 / 0, 1), floats(1 / 0, 1.0001), undefined],
  ['infinities of other signs', 'FP32', floats(1 / 0), floats(-1 / 0), 'element 0 is -Infinity instead of Infinity'],
  ['doubles', 'FP64', bytes(new Float64Array([1])), bytes(new Float64Array([1.0005])), undefined],
  // 1 and the next one above; 1 and 1.0625.
  ['FP16 within 1 %', 'FP16', halves(0x3c00), halves(0x3c01), undefined],
  ['FP16 beyond', 'FP16', halves(0x3c00), halves(0x3c40), 'element 0 is 1.0625 instead of 1'],
  [
    'FP16 subnormal, and negative',
    'FP16',
    halves(0x0001),
    halves(0x8001),
    'element 0 is -5.960464477539063e-8 instead of 5.960464477539063e-8',
  ],
  ['FP16 infinity', 'FP16', halves(0x3c00), halves(0x7c00), 'element 0 is Infinity instead of 1'],
  ['BF16 within 1 %', 'BF16', halves(0x3f80), halves(0x3f81), undefined],
  ['BF16 beyond', 'BF16', halves(0x3f80), halves(0x4000), 'element 0 is 2 instead of 1'],
])('%s', ([, datatype, expected, actual, difference]) => {
  // Also of a part of a buffer that begins at an odd place.
  const moved = new Uint8Array(actual.byteLength + 1);
  moved.set(actual, 1);
  for (const given of [actual, moved.subarray(1)]) {
    const found = compareBytes(datatype, expected, given);
    expect(found.same ? undefined : found.how).toBe(difference);
  }
});

const NUMERIC = ['BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64'] as const;

test('generated integers are 0 or 1, so that they are indices of every table and no long loops', () => {
  for (const datatype of NUMERIC) {
    const width = Number(/\d+/.exec(datatype)?.[0] ?? 8) / 8;
    const pattern = patternBytes(datatype, 1000 * width, 0);
    expect(pattern.byteLength).toBe(1000 * width);
    const low = pattern.filter((_, index) => index % width === 0);
    expect(new Set(low)).toEqual(new Set([0, 1]));
    expect(pattern.filter((_, index) => index % width > 0).every((byte) => byte === 0)).toBe(true);
  }
});

test('generated floats are quarters below one in every format', () => {
  const values = new Set(new Float32Array(patternBytes('FP32', 4000, 0).buffer));
  expect(values).toEqual(new Set([0, 0.25, 0.5, 0.75]));
  // The 16-bit formats stand for the same numbers: no distance to FP32's own.
  for (const datatype of ['FP16', 'BF16'] as const) {
    const bits = new Uint16Array(patternBytes(datatype, 2000, 0).buffer);
    const wanted = new Float32Array(patternBytes('FP32', 4000, 0).buffer);
    const codes = datatype === 'FP16' ? [0, 0x3400, 0x3800, 0x3a00] : [0, 0x3e80, 0x3f00, 0x3f40];
    expect([...bits]).toEqual([...wanted].map((value) => codes[value * 4]));
  }
});

test('the pattern is fixed, differs from input to input, and has no short period', () => {
  const pattern = patternBytes('UINT8', 8192, 0);
  expect(patternBytes('UINT8', 8192, 0)).toEqual(pattern);
  expect(patternBytes('UINT8', 8192, 1)).not.toEqual(pattern);
  const head = pattern.subarray(0, 4096);
  const shifts = Array.from({ length: 4096 }, (_, index) => index + 1);
  expect(shifts.filter((shift) => Buffer.compare(head, pattern.subarray(shift, shift + 4096)) === 0)).toEqual([]);
});
