import { describe, expect, test } from 'vitest';
import { WINDOWS, windowRange, writePattern } from '../../src/windows.js';

describe('windowRange', () => {
  test.each([1, 64, 4096, 5999, 6000, 6001, 100_003])('covers all of %i elements without an empty window', (n) => {
    let covered = 0;
    for (let k = 0; k < WINDOWS; k++) {
      const { begin, end } = windowRange(k, n);
      expect(begin).toBeLessThan(end);
      expect(begin).toBeLessThanOrEqual(covered);
      covered = Math.max(covered, end);
    }
    expect(covered).toBe(n);
    expect(windowRange(0, n).begin).toBe(0);
  });
});

describe('writePattern', () => {
  test('differs from the pattern before in every element that an answer is checked by', () => {
    const input = new Float32Array(8192);
    const first = writePattern(input, 1);
    const second = writePattern(input, 2);
    expect(first.map((probe) => probe.index)).toEqual([0, WINDOWS / 2, WINDOWS - 1]);
    for (const [i, probe] of second.entries()) expect(probe.expected).not.toBe(first[i]?.expected);
  });

  test('keeps the sums of a 4K tensor exact in FP32', () => {
    const largestElement = 251 + 2000 + 11;
    const largestWindow = Math.ceil((3 * 2160 * 3840) / WINDOWS) + 1;
    expect(largestElement * largestWindow).toBeLessThan(2 ** 24);
  });
});
