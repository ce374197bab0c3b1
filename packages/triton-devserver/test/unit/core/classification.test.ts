import { expect, test } from 'vitest';
import { classify } from '../../../src/core/classification.js';
import { stdSort } from '../../../src/core/std-sort.js';

function classes(values: readonly number[], count = values.length): string[] {
  const bytes = new Uint8Array(Float64Array.from(values).buffer);
  const { bytes: result } = classify(
    { datatype: 'FP64', shape: [values.length], bytes },
    { count, labels: [], batched: false },
  );
  const texts: string[] = [];
  const buffer = Buffer.from(result);
  for (let at = 0; at < buffer.byteLength; ) {
    const end = at + 4 + buffer.readUInt32LE(at);
    texts.push(buffer.toString('utf8', at + 4, end));
    at = end;
  }
  return texts;
}

test('values have six digits, of which the last is even where two are as near; -0 keeps its sign', () => {
  expect(classes([123456.7890625, 0.0000005, 1.0000015, -0, -2.5e-7, 1e21])).toEqual([
    '1000000000000000000000.000000:5',
    '123456.789062:0',
    '1.000001:2',
    '0.000000:1',
    '-0.000000:3',
    '-0.000000:4',
  ]);
});

test('up to 16 equal values stay in their order', () => {
  expect(classes(Array(16).fill(7)).map((text) => text.split(':')[1])).toEqual(
    Array.from({ length: 16 }, (_, index) => String(index)),
  );
});

test('more than 16 values are sorted as by std::sort of GNU, which tells the order of equal ones (g++ 12)', () => {
  const sorted = (size: number, before: (a: number, b: number) => boolean) =>
    stdSort(
      Array.from({ length: size }, (_, index) => index),
      before,
    );
  expect(sorted(20, () => false)).toEqual([10, 19, 18, 17, 16, 15, 14, 13, 12, 11, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  expect(sorted(50, (a, b) => (a * 7) % 5 > (b * 7) % 5)).toEqual([
    2, 47, 27, 22, 7, 42, 32, 17, 12, 37, 49, 24, 29, 19, 34, 14, 39, 9, 44, 4, 36, 41, 31, 46, 1, 26, 21, 6, 11, 16,
    23, 48, 3, 43, 8, 38, 13, 33, 18, 28, 15, 35, 40, 10, 20, 30, 45, 5, 25, 0,
  ]);
});
