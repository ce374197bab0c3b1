import { expect, test } from 'vitest';
import { fuzz } from '../fuzz/fuzz.mjs';

test('300 damaged pictures: each a tensor or a typed refusal, the same ones each time', {
  timeout: 120_000,
}, async () => {
  const [first, second] = await Promise.all([fuzz({ seed: 7, count: 300 }), fuzz({ seed: 7, count: 300 })]);
  expect(first.problems).toEqual([]);
  expect(Object.keys(first.outcomes).sort()).toEqual([
    'ERR_IMAGE_CORRUPT',
    'ERR_IMAGE_TOO_LARGE',
    'ERR_IMAGE_UNSUPPORTED',
    'tensor',
  ]);
  expect(second.digest).toBe(first.digest);
});
