import { expect, test } from 'vitest';
import { growth, type Holdings, slope } from '../../src/cycles/holdings.js';

const first: Holdings = {
  cycles: 0,
  residentBytes: 100e6,
  heldBytes: 10e6,
  files: 20,
  namedMaps: 40,
  maps: 150,
  threads: 19,
  deviceFreeBytes: 1e9,
};

test('what stays within the limits has not grown', () => {
  expect(growth([first, { ...first, residentBytes: 102e6, maps: 166, deviceFreeBytes: 2e9, files: 19 }])).toEqual([]);
});

test.each<[Partial<Holdings>, string]>([
  [{ residentBytes: 102_100_000 }, 'resident bytes grew from 100000000 to 102100000 (2.1 %)'],
  [{ maps: 167 }, 'mappings grew from 150 to 167'],
  [{ namedMaps: 41 }, 'mappings of files and devices grew from 40 to 41'],
  [{ files: 21 }, 'open files grew from 20 to 21'],
  [{ threads: 20 }, 'threads grew from 19 to 20'],
  [{ deviceFreeBytes: 1e9 - 512 }, 'used device memory grew by 512 bytes'],
])('%o has grown', (change, problem) => {
  expect(growth([first, first, { ...first, ...change }])).toEqual([problem]);
});

test('the slope is that of the line through the readings', () => {
  const readings = [0, 1, 2, 3].map((i) => ({ ...first, cycles: i * 100, residentBytes: 1e6 + i * 700 }));
  expect(slope(readings)).toBeCloseTo(7);
  expect(slope([first])).toBe(0);
});
