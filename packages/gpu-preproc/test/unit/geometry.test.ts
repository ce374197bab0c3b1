import { seeded } from '@zerohop/test-support';
import { describe, expect, test } from 'vitest';
import { Geometry, letterbox } from '../../src/reference.js';

describe('letterbox', () => {
  test.each([
    // width, height → target: left, top, width, height
    [3840, 2160, 3840, 2160, 0, 0, 3840, 2160],
    [1920, 1080, 3840, 2160, 0, 0, 3840, 2160],
    [3840, 2160, 640, 640, 0, 140, 640, 360],
    [6000, 4000, 3840, 2160, 300, 0, 3240, 2160],
    // An odd pixel goes to the right and the bottom.
    [640, 639, 640, 640, 0, 0, 640, 639],
    [100, 99, 100, 104, 0, 2, 100, 99],
    // 5 · 0.5 = 2.5 and 7 · 0.5 = 3.5: halves go to the even side.
    [10, 5, 5, 5, 0, 1, 5, 2],
    [10, 7, 5, 5, 0, 0, 5, 4],
    [5, 10, 5, 5, 1, 0, 2, 5],
    [7, 10, 5, 5, 0, 0, 4, 5],
    // No side vanishes.
    [8192, 1, 64, 64, 0, 31, 64, 1],
    [1, 1, 3, 5, 0, 1, 3, 3],
  ])('%ix%i into %ix%i', (sourceWidth, sourceHeight, targetWidth, targetHeight, left, top, width, height) => {
    expect(letterbox(sourceWidth, sourceHeight, targetWidth, targetHeight)).toEqual({ left, top, width, height });
  });

  test('3,000 random sizes: inside the target, one side filled, centred to a pixel, aspect within half a pixel', () => {
    const { integer } = seeded(64);
    for (let i = 0; i < 3000; i++) {
      const [w, h, W, H] = [integer(1, 9000), integer(1, 9000), integer(16, 4096), integer(16, 4096)];
      const at = letterbox(w, h, W, H);
      const right = W - at.left - at.width;
      const bottom = H - at.top - at.height;
      const facts = {
        sizes: [w, h, W, H],
        inside: at.left >= 0 && at.top >= 0 && right >= 0 && bottom >= 0,
        filled: at.width === W || at.height === H,
        centred: [0, 1].includes(right - at.left) && [0, 1].includes(bottom - at.top),
        aspect: Math.abs(at.width - Math.max(1, w * Math.min(H / h, W / w))) <= 0.5,
      };
      expect(facts).toEqual({ sizes: [w, h, W, H], inside: true, filled: true, centred: true, aspect: true });
    }
  });
});

describe('Geometry.toImage', () => {
  test('is the inverse of how the picture was laid in, over 3,000 sizes', () => {
    const { next, integer } = seeded(65);
    for (let i = 0; i < 3000; i++) {
      const source = { width: integer(1, 9000), height: integer(1, 9000) };
      const target = { width: integer(16, 4096), height: integer(16, 4096) };
      const at = letterbox(source.width, source.height, target.width, target.height);
      const geometry = new Geometry(source, target, at);
      const box = [next() * source.width, next() * source.height, next() * source.width, next() * source.height];
      const there = box.map((value, k) =>
        k % 2 === 0 ? at.left + (value * at.width) / source.width : at.top + (value * at.height) / source.height,
      ) as [number, number, number, number];
      const error = Math.max(...geometry.toImage(there).map((value, k) => Math.abs(value - (box[k] as number))));
      expect({ source, target, error: error < 1e-3 }).toEqual({ source, target, error: true });
    }
  });

  test('the whole placement is the whole picture, to the last pixel', () => {
    const source = { width: 1001, height: 333 };
    const target = { width: 640, height: 640 };
    const at = letterbox(1001, 333, 640, 640);
    const { left, top, width, height } = at;
    expect(new Geometry(source, target, at).toImage([left, top, left + width, top + height])).toEqual([
      0, 0, 1001, 333,
    ]);
  });

  test('clamps to the picture; infinite coordinates become its edges, NaN stays', () => {
    const geometry = new Geometry(
      { width: 100, height: 50 },
      { width: 100, height: 100 },
      letterbox(100, 50, 100, 100),
    );
    expect(geometry.toImage([-5, 0, 500, 99])).toEqual([0, 0, 100, 50]);
    expect(geometry.toImage([-Infinity, Infinity, Infinity, -Infinity])).toEqual([0, 50, 100, 0]);
    expect(geometry.toImage([NaN, 30, 50, 60])).toEqual([NaN, 5, 50, 35]);
  });
});
