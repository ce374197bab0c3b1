import { seeded } from '@zerohop/test-support';
import { describe, expect, test } from 'vitest';
import { decodeYolov8 } from '../../src/reference.js';

/** A tensor `[1, 4 + classes, anchors]` from one row per anchor: cx, cy, w, h, scores. */
function tensorOf(rows: number[][]): { data: Float32Array; shape: number[] } {
  const columns = (rows[0] as number[]).length;
  const data = new Float32Array(columns * rows.length);
  rows.forEach((row, a) => {
    row.forEach((value, r) => {
      data[r * rows.length + a] = value;
    });
  });
  return { data, shape: [1, columns, rows.length] };
}

const decode = (
  rows: number[][],
  options: { scoreThreshold: number; classes?: number[] } = { scoreThreshold: 0.25 },
) => {
  const { data, shape } = tensorOf(rows);
  return decodeYolov8(data, shape, options);
};

describe('decodeYolov8', () => {
  test('cx, cy, w, h become corners; the class is the highest score', () => {
    expect(decode([[100, 50, 20, 10, 0.1, 0.75, 0.5]])).toEqual({
      boxes: Float32Array.of(90, 45, 110, 55),
      scores: Float32Array.of(0.75),
      classIds: Int32Array.of(1),
      anchors: Int32Array.of(0),
    });
  });

  test('the score must be above the threshold, as fp32', () => {
    const box = [1, 1, 1, 1];
    expect(
      decode([
        [...box, 0.25],
        [...box, 0.2500001],
        [...box, 0.2499999],
      ]).anchors,
    ).toEqual(Int32Array.of(1));
    expect(decode([[...box, 0.3]], { scoreThreshold: 0.3 }).anchors).toHaveLength(0);
    expect(
      decode(
        [
          [...box, 0],
          [...box, 1e-45],
        ],
        { scoreThreshold: 0 },
      ).anchors,
    ).toEqual(Int32Array.of(1));
    expect(decode([[...box, 1]], { scoreThreshold: 1 }).anchors).toHaveLength(0);
  });

  test('of equal scores the lowest class id', () => {
    expect(decode([[1, 1, 1, 1, 0.2, 0.5, 0.5]]).classIds).toEqual(Int32Array.of(1));
  });

  test.each([0, 1, 2, 3])('NaN in score %i drops the anchor', (at) => {
    const scores = [0.9, 0.3, 0.9, 0.1];
    scores[at] = NaN;
    expect(
      decode([
        [1, 1, 1, 1, ...scores],
        [2, 2, 2, 2, 0.1, 0.2, 0.3, 0.4],
      ]).anchors,
    ).toEqual(Int32Array.of(1));
  });

  test('boxes that are not finite pass; infinite scores too', () => {
    const { boxes, scores } = decode([
      [NaN, 1, 2, 2, 0.5],
      [1, Infinity, 2, 2, Infinity],
      [1, 1, -2, 2, 0.5],
    ]);
    expect([...boxes]).toEqual([NaN, 0, NaN, 2, 0, Infinity, 2, Infinity, 2, 0, 0, 2]);
    expect([...scores]).toEqual([0.5, Infinity, 0.5]);
  });

  test('classes are filtered after the best class is found', () => {
    const rows = [
      [1, 1, 1, 1, 0.9, 0.5],
      [1, 1, 1, 1, 0.5, 0.9],
    ];
    expect(decode(rows, { scoreThreshold: 0.25, classes: [1] }).anchors).toEqual(Int32Array.of(1));
    expect(decode(rows, { scoreThreshold: 0.25, classes: [] }).anchors).toHaveLength(0);
  });

  test.each([1, 2047, 2048, 2049, 8400])('equals the definition, anchor by anchor: %i anchors', (anchors) => {
    const { next, integer } = seeded(anchors);
    const rows = Array.from({ length: anchors }, () => [
      next() * 640,
      next() * 640,
      next() * 99,
      next() * 99,
      ...Array.from({ length: 7 }, () => (next() < 0.002 ? NaN : Math.fround(integer(0, 20) / 40))),
    ]);
    const { data, shape } = tensorOf(rows);
    const expected = rows.flatMap((row, anchor) => {
      const scores = row.slice(4);
      const best = Math.max(...scores);
      return best > Math.fround(0.4) ? [{ anchor, score: best, classId: scores.indexOf(best) }] : [];
    });
    const found = decodeYolov8(data, shape, { scoreThreshold: 0.4 });
    expect(
      [...found.anchors].map((anchor, i) => ({ anchor, score: found.scores[i], classId: found.classIds[i] })),
    ).toEqual(expected);
    expect(found.boxes).toHaveLength(4 * expected.length);
  });

  test.each([[[1, 4, 10]], [[2, 8, 10]], [[8, 10]], [[1, 8, 0]], [[1, 8, 1.5]], [[1, NaN, 10]]])(
    'refuses shape %j',
    (shape) => {
      expect(() => decodeYolov8(new Float32Array(80), shape, { scoreThreshold: 0.5 })).toThrow(
        new RangeError(`Expected shape [1, 4 + classes, anchors] but received [${shape.join(', ')}]`),
      );
    },
  );

  test('refuses data of another length', () => {
    expect(() => decodeYolov8(new Float32Array(79), [1, 8, 10], { scoreThreshold: 0.5 })).toThrow(
      new RangeError('Expected 80 elements for data but received 79'),
    );
  });
});
