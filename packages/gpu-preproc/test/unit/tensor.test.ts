import { describe, expect, test } from 'vitest';
import { float16Bits, normalisationTable, normalise, roundHalfEven } from '../../src/reference.js';

test('roundHalfEven', () => {
  expect([0.5, 1.5, 2.5, -0.5, -1.5, 2.4999, 2.5001, -0.1].map(roundHalfEven)).toEqual([0, 2, 2, 0, -2, 2, 3, 0]);
  expect(Object.is(roundHalfEven(-0.1), 0)).toBe(true);
});

describe('float16Bits', () => {
  test.each([
    [0, 0x0000],
    [-0, 0x8000],
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [65519.99, 0x7bff],
    [65520, 0x7c00],
    [-Infinity, 0xfc00],
    [NaN, 0x7e00],
    [2 ** -14, 0x0400],
    [2 ** -24, 0x0001],
    // Halfway to the smallest subnormal goes to the even side, 0; just above does not.
    [2 ** -25, 0x0000],
    [2 ** -25 * 1.001, 0x0001],
    // Rounding up carries into the exponent.
    [1 - 2 ** -13, 0x3c00],
    [2 ** -14 - 2 ** -26, 0x0400],
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
  ])('%f', (value, bits) => {
    expect(float16Bits(value)).toBe(bits);
  });

  test('every finite pattern survives the way there and back', () => {
    const wrong: number[] = [];
    for (let bits = 0; bits < 0x7c00; bits++) {
      const exponent = bits >> 10;
      const fraction = bits & 0x3ff;
      const value = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
      if (float16Bits(value) !== bits || float16Bits(-value) !== bits + 0x8000) wrong.push(bits);
    }
    expect(wrong).toEqual([]);
  });
});

describe('normalise', () => {
  test('the default scale equals the fp32 division by 255 for all bytes', () => {
    const wrong = Array.from({ length: 256 }, (_, v) => v).filter(
      (v) => normalise(v, 1 / 255, 0, 1) !== Math.fround(v / 255),
    );
    expect(wrong).toEqual([]);
  });

  test('mean and std are per plane, applied after the scale', () => {
    const table = normalisationTable('FP32', { scale: 1, mean: [0, 10, 20], std: [1, 2, 4] });
    const floats = new Float32Array(table.buffer);
    expect([floats[255], floats[256 + 30], floats[512]]).toEqual([255, 10, -5]);
  });
});
