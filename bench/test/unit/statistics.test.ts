import { describe, expect, test } from 'vitest';
import { percentile, spread } from '../../src/statistics.js';

describe('percentile', () => {
  test('is the nearest rank', () => {
    const values = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
    expect(percentile(values, 0.5)).toBe(50);
    expect(percentile(values, 0.51)).toBe(60);
    expect(percentile(values, 0.99)).toBe(100);
    expect(percentile(values, 1)).toBe(100);
    expect(percentile([7], 0.5)).toBe(7);
  });

  test('refuses no values', () => {
    expect(() => percentile([], 0.5)).toThrow(RangeError);
  });
});

describe('spread', () => {
  test('takes the middle value, or the mean of the two in the middle', () => {
    expect(spread([5, 1, 3])).toEqual({ median: 3, min: 1, max: 5 });
    expect(spread([4, 1, 2, 9])).toEqual({ median: 3, min: 1, max: 9 });
    expect(spread([2])).toEqual({ median: 2, min: 2, max: 2 });
  });
});
