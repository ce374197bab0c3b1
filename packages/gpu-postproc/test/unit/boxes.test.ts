import { expect, test } from 'vitest';
import type { Box } from '../../src/index.js';
import { withoutPartner } from '../boxes.js';

test('withoutPartner pairs by label, IoU and score, each one once', () => {
  const one = { label: 'pit', score: 0.9, box: [0, 0, 100, 100] as Box };
  expect(withoutPartner([one], [{ ...one, score: 0.885, box: [1, 1, 101, 101] }])).toEqual([]);
  expect(withoutPartner([one], [{ ...one, label: 'crack' }])).toEqual([one]);
  expect(withoutPartner([one], [{ ...one, score: 0.87 }])).toEqual([one]);
  expect(withoutPartner([one], [{ ...one, box: [5, 5, 105, 105] }])).toEqual([one]);
  expect(withoutPartner([one, one], [one])).toEqual([one]);
});
