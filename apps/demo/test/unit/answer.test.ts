import { describe, expect, it } from 'vitest';
import { findFault, findImplausible } from '../../src/answer.js';

describe('findFault', () => {
  const model = { output: { name: 'out', classCount: 2, anchors: 9 } };
  const shape = [1, 6, 9];
  const answer = (): Float32Array => new Float32Array(6 * 9).fill(-0.5);

  it('accepts an answer that is there', () => {
    expect(findFault(model, shape, answer())).toBeUndefined();
    expect(findFault(model, shape, answer().fill(3e38))).toBeUndefined();
  });

  it('notices an answer that was not written, wholly or in part', () => {
    expect(findFault(model, shape, answer().fill(Number.NaN))).toBe('9 of 9 anchors hold no number');
    const part = answer();
    part[10] = Number.NaN;
    part[19] = Number.NaN;
    expect(findFault(model, shape, part)).toBe('1 of 9 anchors hold no number');
    part[53] = Number.NEGATIVE_INFINITY;
    expect(findFault(model, shape, part)).toBe('2 of 9 anchors hold no number');
  });

  it.each([
    ['fewer rows', [1, 4, 9], 36],
    ['fewer anchors', [1, 6, 8], 48],
    ['rows and anchors exchanged', [1, 9, 6], 54],
    ['nothing', [1, 6, 0], 0],
    ['fewer elements than its shape', [1, 6, 9], 53],
  ])('notices an answer other than declared: %s', (_, other, length) => {
    expect(findFault(model, other, new Float32Array(length))).toBe(
      `its output came as [${other.join(', ')}] and is declared as [1, 6, 9]`,
    );
  });
});

describe('findImplausible', () => {
  const object = { label: 'a', classId: 0, score: 1, box: [1, 2, 3, 4] } as const;

  it('accepts what can be, also a box that lies outside the picture and is cut to nothing', () => {
    expect(findImplausible([object, { ...object, box: [0, 0, 0, 9] }])).toBeUndefined();
  });

  it('notices a score beyond 1 and a box turned over', () => {
    expect(findImplausible([object, { ...object, score: 5 }])).toBe('a score of 5, and scores go from 0 to 1');
    expect(findImplausible([{ ...object, box: [3, 2, 1, 4] }])).toBe('a box of negative size, [3, 2, 1, 4]');
    expect(findImplausible([{ ...object, box: [1, 4, 3, 2] }])).toBe('a box of negative size, [1, 4, 3, 2]');
  });
});
