import { seeded } from '@zerohop/test-support';
import { describe, expect, test } from 'vitest';
import { nms } from '../../src/index.js';
import { greedyNms } from '../../src/reference.js';
import { boxSet, KINDS } from '../box-sets.js';
import { iou, naiveNms } from '../naive-nms.js';

const run = (boxes: number[][], scores: number[], iouThreshold = 0.5, more = {}): number[] => [
  ...greedyNms(Float32Array.from(boxes.flat()), scores, { iouThreshold, ...more }).indices,
];

describe('the rule', () => {
  const a = [0, 0, 10, 10];
  const half = [0, 0, 10, 5]; // IoU with a is exactly 0.5

  test('an IoU equal to the threshold does not suppress; above it does', () => {
    expect(run([a, half], [0.9, 0.8], 0.5)).toEqual([0, 1]);
    expect(run([a, half], [0.9, 0.8], 0.4999)).toEqual([0]);
  });

  test('IoU is exact to the last bit of fp32: 3,000 pairs at a threshold of their own IoU and one step below', () => {
    const { next } = seeded(17);
    const bits = new Int32Array(1);
    const value = new Float32Array(bits.buffer);
    const wrong: number[] = [];
    for (let pair = 0; pair < 3000; pair++) {
      const [x, y, w, h] = [next() * 3000, next() * 2000, 60 + next() * 200, 60 + next() * 200];
      const [dx, dy] = [next() * 20, next() * 20];
      const boxes = Float32Array.of(x, y, x + w, y + h, x + dx, y + dy, x + w + dx, y + h - dy);
      value[0] = iou(boxes, 0, 1);
      const at = value[0];
      bits[0] = (bits[0] as number) - 1;
      const below = value[0];
      const kept = [at, below].map((iouThreshold) => greedyNms(boxes, [1, 0.5], { iouThreshold }).indices.length);
      if (kept.join() !== '2,1') wrong.push(pair);
    }
    expect(wrong).toEqual([]);
  });

  test('a suppressed box suppresses nothing', () => {
    // 0 kills 1 (IoU 9/11 each step), 1 would kill 2, 0 does not.
    const row = [0, 1, 2].map((i) => [i * 3, 0, i * 3 + 10, 10]);
    expect(run(row, [0.9, 0.8, 0.7], 0.5)).toEqual([0, 2]);
  });

  test("order: score descending, equal scores by index; +0 equals -0; indices are the caller's", () => {
    const far = (i: number): number[] => [100 * i, 0, 100 * i + 10, 10];
    expect(run([0, 1, 2, 3, 4, 5].map(far), [0.5, 0.9, 0.5, -1, 0, -0])).toEqual([1, 0, 2, 4, 5, 3]);
    expect(run([0, 1, 2].map(far), [-2, -1, -Infinity])).toEqual([1, 0, 2]);
    expect(run([a, a, a], [0.5, 0.5, 0.5])).toEqual([0]);
  });

  test('boxes of other classes stay, unless agnostic', () => {
    expect(run([a, a, a], [0.7, 0.8, 0.9], 0.5, { classIds: [1, 2, 1] })).toEqual([2, 1]);
    expect(run([a, a, a], [0.7, 0.8, 0.9], 0.5, { classIds: [1, 2, 1], classAgnostic: true })).toEqual([2]);
  });

  test('a class id may be any number', () => {
    for (const id of [2 ** 40, 2 ** 31, 0.5, -1]) {
      expect(run([a, a, a], [0.7, 0.8, 0.9], 0.5, { classIds: [id, id, id + 1] })).toEqual([2, 1]);
    }
  });

  test.each([
    ['two empty boxes', [5, 5, 5, 5], [5, 5, 5, 5]],
    ['boxes without height', [0, 5, 9, 5], [0, 5, 9, 5]],
    ['inverted boxes', [9, 9, 0, 0], [9, 9, 0, 0]],
    ['NaN coordinates', [0, 0, NaN, 10], [0, 0, 10, 10]],
    ['infinite coordinates', [0, 0, Infinity, 10], [0, 0, 10, 10]],
    ['two infinite boxes', [-Infinity, -Infinity, Infinity, Infinity], [-Infinity, -Infinity, Infinity, Infinity]],
    ['areas that overflow', [-3e38, -3e38, 3e38, 3e38], [-3e38, -3e38, 3e38, 3e38]],
    ['areas that underflow', [0, 0, 1e-30, 1e-30], [0, 0, 1e-30, 1e-30]],
    ['touching edges', [0, 0, 10, 10], [10, 0, 20, 10]],
  ])('%s suppress nothing, even at threshold 0', (_, first, second) => {
    expect(run([first, second], [0.9, 0.8], 0)).toEqual([0, 1]);
    expect(run([first, second], [0.8, 0.9], 0)).toEqual([1, 0]);
  });

  test('a NaN score is never kept', () => {
    expect(run([a, [50, 50, 60, 60]], [NaN, 0.1])).toEqual([1]);
  });

  test('threshold 1 keeps everything, identical boxes too', () => {
    expect(run([a, a, a], [1, 2, 3], 1)).toEqual([2, 1, 0]);
  });

  test('nothing in, nothing out', () => {
    expect(greedyNms([], [], { iouThreshold: 0.5 })).toEqual({ indices: new Int32Array(0), truncated: false });
  });
});

describe('equals the definition with every pair compared', () => {
  const counts = [1, 2, 63, 64, 65, 255, 256, 257, 700];
  test.each(KINDS.flatMap((kind) => counts.map((count) => [kind, count] as const)))('%s, %i boxes', (kind, count) => {
    for (const [i, iouThreshold] of [0, 0.3, 0.45, 0.5, 0.7, 1].entries()) {
      for (const classes of [1, 3]) {
        const seed = 1000 * count + i;
        const { boxes, scores, classIds } = boxSet(kind, count, classes, seed);
        const options = { iouThreshold, classIds };
        const found = [...greedyNms(boxes, scores, options).indices];
        expect({ seed, iouThreshold, classes, found }).toEqual({
          seed,
          iouThreshold,
          classes,
          found: naiveNms(boxes, scores, options),
        });
      }
    }
  });

  test.each(['spread', 'clustered'] as const)('%s, 5,000 boxes of 5 classes', (kind) => {
    const { boxes, scores, classIds } = boxSet(kind, 5000, 5, 7);
    const options = { iouThreshold: 0.45, classIds };
    expect([...greedyNms(boxes, scores, options).indices]).toEqual(naiveNms(boxes, scores, options));
  });
});

describe('caps', () => {
  const { boxes, scores } = boxSet('spread', 900, 1, 3);
  const all = [...greedyNms(boxes, scores, { iouThreshold: 0.5 }).indices];

  test('maxDetections keeps the first of the full answer and tells when boxes were left unseen', () => {
    for (const cap of [1, 299, 300, all.length - 1, all.length, all.length + 1, 10_000]) {
      const { indices, truncated } = greedyNms(boxes, scores, { iouThreshold: 0.5, maxDetections: cap });
      expect([...indices]).toEqual(all.slice(0, cap));
      if (cap < all.length) expect(truncated).toBe(true);
      if (cap > all.length) expect(truncated).toBe(false);
    }
  });

  test('maxCandidates looks at the best-scored boxes only', () => {
    const sorted = [...scores.keys()].sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b);
    for (const cap of [1, 64, 899, 900, 901]) {
      const best = new Set(sorted.slice(0, cap));
      const { indices, truncated } = greedyNms(boxes, scores, { iouThreshold: 0.5, maxCandidates: cap });
      expect([...indices]).toEqual(all.filter((i) => best.has(i)));
      expect(truncated).toBe(cap < 900);
    }
  });

  test('100,000 boxes with equal scores: the lowest indices win', () => {
    const far = Float32Array.from({ length: 400_000 }, (_, i) => 20 * (i >> 2) + (i % 4 < 2 ? 0 : 10));
    const { indices, truncated } = greedyNms(far, new Float32Array(100_000).fill(0.5), {
      iouThreshold: 0.5,
      maxCandidates: 30_000,
    });
    expect(truncated).toBe(true);
    expect([...indices]).toEqual(Array.from({ length: 30_000 }, (_, i) => i));
  });
});

describe('wrong arguments', () => {
  const ok = { iouThreshold: 0.5 };
  test.each<[string, () => unknown, object, string]>([
    ['boxes', () => greedyNms([1, 2, 3], [1], ok), RangeError, '4 (4 for each of 1 scores) for boxes.length'],
    ['scores', () => greedyNms([], undefined as never, ok), TypeError, 'array of numbers for scores'],
    [
      'classIds',
      () => greedyNms([], [], { ...ok, classIds: [1] }),
      RangeError,
      '0 (one for each score) for classIds.length',
    ],
    ['iouThreshold', () => greedyNms([], [], { iouThreshold: 1.1 }), RangeError, 'number from 0 to 1 for iouThreshold'],
    ['iouThreshold', () => greedyNms([], [], { iouThreshold: NaN }), RangeError, 'number from 0 to 1 for iouThreshold'],
    ['options', () => greedyNms([], [], undefined as never), TypeError, 'object for options'],
    [
      'maxDetections',
      () => greedyNms([], [], { ...ok, maxDetections: 0 }),
      RangeError,
      'positive integer for maxDetections',
    ],
    [
      'maxCandidates',
      () => greedyNms([], [], { ...ok, maxCandidates: 1.5 }),
      RangeError,
      'positive integer for maxCandidates',
    ],
  ])('%s', (_, call, type, text) => {
    expect(call).toThrow(type);
    expect(call).toThrow(text);
  });

  test('more scores than can be ordered', () => {
    expect(() => greedyNms(new Float32Array(4 * (2 ** 21 + 1)), new Float32Array(2 ** 21 + 1), ok)).toThrow(RangeError);
  });
});

test('nms() of the main entry gives the indices, or rejects', async () => {
  const { boxes, scores, classIds } = boxSet('clustered', 300, 4, 11);
  const options = { iouThreshold: 0.45, classIds };
  expect(await nms(boxes, scores, options)).toEqual(greedyNms(boxes, scores, options).indices);
  await expect(nms([1], [1], options)).rejects.toThrow(RangeError);
});
