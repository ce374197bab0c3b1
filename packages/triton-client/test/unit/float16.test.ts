import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromBfloat16, fromFloat16, tensor, toBfloat16, toFloat16 } from '../../src/index.js';

const EVERY_PATTERN = Uint16Array.from({ length: 0x1_0000 }, (_, bits) => bits);

interface Format {
  readonly name: string;
  readonly exponentBits: number;
  readonly fractionBits: number;
  readonly to: typeof toFloat16;
  readonly from: typeof fromFloat16;
}

const FORMATS: readonly Format[] = [
  { name: 'FP16', exponentBits: 5, fractionBits: 10, to: toFloat16, from: fromFloat16 },
  { name: 'BF16', exponentBits: 8, fractionBits: 7, to: toBfloat16, from: fromBfloat16 },
];

/** The definition: sign, exponent and fraction, in doubles, which are exact for both formats. */
function numberOf(bits: number, { exponentBits, fractionBits }: Format): number {
  const bias = 2 ** (exponentBits - 1) - 1;
  const exponent = (bits >> fractionBits) & (2 ** exponentBits - 1);
  const fraction = bits & (2 ** fractionBits - 1);
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 2 ** exponentBits - 1) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - fractionBits);
  return sign * (2 ** fractionBits + fraction) * 2 ** (exponent - bias - fractionBits);
}

/** The doubles right above and below a positive one. */
function neighbours(value: number): [number, number] {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  return [bits - 1n, bits + 1n].map((next) => {
    view.setBigUint64(0, next);
    return view.getFloat64(0);
  }) as [number, number];
}

/** Comparing 65536 elements by expect() takes seconds. */
function firstDifference(actual: Uint16Array, expected: ArrayLike<number>): object | undefined {
  if (actual.length !== expected.length) return { lengths: [actual.length, expected.length] };
  const index = actual.findIndex((bits, at) => bits !== expected[at]);
  return index < 0 ? undefined : { index, actual: actual[index], expected: expected[index] };
}

describe.each(FORMATS)('$name', (format) => {
  const { to, from, exponentBits, fractionBits } = format;
  const infinity = (2 ** exponentBits - 1) << fractionBits;

  test('every pattern is the number that the definition gives', () => {
    const wrong = from(EVERY_PATTERN).findIndex((value, bits) => !Object.is(value, numberOf(bits, format)));
    expect(wrong).toBe(-1);
  });

  test('every pattern that is a number comes back as itself, and a NaN as a quiet NaN of its sign', () => {
    const floats = from(EVERY_PATTERN);
    const quiet = 2 ** (fractionBits - 1);
    const expected = EVERY_PATTERN.map((bits) => ((bits & 0x7fff) > infinity ? bits | quiet : bits));
    expect(firstDifference(to(floats), expected)).toBeUndefined();
  });

  test('halfway between every two neighbours the even one is nearest, and beside it the nearer one', () => {
    const numbers: number[] = [];
    const expected: number[] = [];
    for (let bits = 0; bits < infinity; bits += 1) {
      const next = bits + 1 === infinity ? 2 ** (2 ** (exponentBits - 1)) : numberOf(bits + 1, format);
      const middle = (numberOf(bits, format) + next) / 2;
      const [below, above] = neighbours(middle);
      numbers.push(below, middle, above, -below, -middle, -above);
      const even = bits % 2 === 0 ? bits : bits + 1;
      for (const sign of [0, 0x8000]) expected.push(bits | sign, even | sign, (bits + 1) | sign);
    }
    expect(firstDifference(to(numbers), expected)).toBeUndefined();
  });

  test('a Float32Array is rounded like the same numbers', () => {
    fc.assert(
      fc.property(fc.float32Array({ maxLength: 64 }), (floats) => {
        expect(to(floats)).toEqual(to([...floats]));
      }),
      { numRuns: 500 },
    );
  });

  test('no number is nearer than the one chosen', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: -60000, max: 60000 }), (value) => {
        const [bits] = to([value]) as unknown as [number];
        const distance = Math.abs(numberOf(bits, format) - value);
        for (const other of [bits - 1, bits + 1]) {
          if ((other & 0x7fff) >= infinity) continue;
          expect(Math.abs(numberOf(other, format) - value)).toBeGreaterThanOrEqual(distance);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('the ends of the range', () => {
    const { MAX_VALUE, MIN_VALUE, POSITIVE_INFINITY } = Number;
    const inputs = [0, -0, MIN_VALUE, -MIN_VALUE, MAX_VALUE, -MAX_VALUE, POSITIVE_INFINITY];
    expect([...to(inputs)]).toEqual([0, 0x8000, 0, 0x8000, infinity, infinity | 0x8000, infinity]);
    expect(to([]).length).toBe(0);
    expect(from(new Uint16Array(0)).length).toBe(0);
  });

  test('a part of an array, at any offset', () => {
    expect(to(Float32Array.of(9, 1, 2).subarray(1))).toEqual(to([1, 2]));
    expect(from(to([9, 1, 2]).subarray(1))).toEqual(Float32Array.of(1, 2));
  });

  test('tensor() takes patterns as they are and converts numbers', () => {
    const bits = to([1.5, -2]);
    const datatype = format.name as 'FP16' | 'BF16';
    for (const data of [bits, [1.5, -2], Float32Array.of(1.5, -2)]) {
      expect(tensor(datatype, [2], data).data).toEqual(new Uint8Array(bits.buffer));
    }
  });

  test('what is no list of numbers is refused', () => {
    expect(() => to([1, '2' as unknown as number])).toThrow("Expected number for data[1] but received '2'");
    expect(() => to(new Float64Array(1) as never)).toThrow(TypeError);
  });
});
