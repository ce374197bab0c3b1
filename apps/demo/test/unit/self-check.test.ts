import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findDifference, formatKnownObjects, parseKnownObjects } from '../../src/self-check.js';
import { testPicture } from '../../src/test-picture.js';

describe('testPicture', () => {
  it('is the same everywhere', () => {
    const hash = createHash('sha256').update(testPicture(3840, 2160)).digest('hex');
    expect(hash).toBe('9d57b39f4274978e630bd1032601b26438926340a6658a57e863dccbe442ee80');
  });

  it('fits any size', () => {
    expect(testPicture(1, 1).length).toBe(3);
    expect(testPicture(640, 32).length).toBe(640 * 32 * 3);
  });
});

describe('known objects', () => {
  const known = parseKnownObjects('0 0.91 100 200 400 305; 3 0.5 1 2 30.5 40');

  it('are read', () => {
    expect(known).toEqual([
      { classId: 0, score: 0.91, box: [100, 200, 400, 305] },
      { classId: 3, score: 0.5, box: [1, 2, 30.5, 40] },
    ]);
  });

  it('come back from their own text', () => {
    expect(parseKnownObjects(formatKnownObjects(known))).toEqual(known);
  });

  it.each(['', '0 0.9 1 2 3', '0 x 1 2 3 4', '0 0.9 1 2 3 4;'])('are refused when malformed: %j', (text) => {
    expect(() => parseKnownObjects(text)).toThrowError(expect.objectContaining({ code: 'ERR_SELF_CHECK' }));
  });

  it('may be found among others, a little off', () => {
    expect(
      findDifference(known, [
        { classId: 1, score: 0.9, box: [0, 0, 9, 9] },
        { classId: 3, score: 0.505, box: [1.2, 2, 30.5, 40] },
        { classId: 0, score: 0.9, box: [100, 200, 401, 305] },
      ]),
    ).toBeUndefined();
  });

  it.each([
    { classId: 1, score: 0.91, box: [100, 200, 400, 305] as const },
    { classId: 0, score: 0.8, box: [100, 200, 400, 305] as const },
    { classId: 0, score: 0.91, box: [100, 200, 300, 305] as const },
  ])('are missed when class, score or box differ', (found) => {
    expect(findDifference(known.slice(0, 1), [found])).toMatch(/^class 0 with score 0\.91 at \[100, 200, 400, 305\]/);
  });
});
