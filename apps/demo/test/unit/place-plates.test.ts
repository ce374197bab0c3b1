import { describe, expect, it } from 'vitest';
import { type Area, areaOf, placePlate } from '../../src/annotate/place-plates.js';

const picture = { width: 200, height: 100 };
const plate = { width: 40, height: 10 };
const box = (left: number, top: number, right: number, bottom: number): Area => ({ left, top, right, bottom });

describe('placePlate', () => {
  it.each([
    ['above the box', box(50, 50, 90, 60), { x: 50, y: 40 }],
    ['below it where there is no room above', box(50, 5, 90, 60), { x: 50, y: 60 }],
    ['inside it where there is none at all', box(50, 0, 90, 100), { x: 50, y: 0 }],
    ['inside the picture at its right edge', box(190, 50, 200, 60), { x: 160, y: 40 }],
    ['inside the picture for a box that is not', box(-20, -20, -5, -5), { x: 0, y: 5 }],
    ['inside the picture for a box below it', box(0, 120, 10, 130), { x: 0, y: 90 }],
  ])('%s', (_, at, expected) => {
    expect(placePlate(plate, at, [], picture)).toEqual(expected);
  });

  it('out of the way of others, as long as there is room near by', () => {
    const at = box(100, 50, 102, 52);
    const taken: Area[] = [];
    for (let i = 0; i < 16; i++) {
      const area = areaOf(plate, placePlate(plate, at, taken, picture));
      for (const other of taken) {
        const apart =
          area.right <= other.left || other.right <= area.left || area.bottom <= other.top || other.bottom <= area.top;
        expect({ i, apart }).toEqual({ i, apart: true });
      }
      taken.push(area);
      if (taken.length === 9) break;
    }
    expect(taken.length).toBe(9);
  });

  it('on others in a crowd', () => {
    const everywhere = [box(0, 0, 200, 100)];
    expect(placePlate(plate, box(50, 50, 90, 60), everywhere, picture)).toEqual({ x: 50, y: 40 });
  });
});
