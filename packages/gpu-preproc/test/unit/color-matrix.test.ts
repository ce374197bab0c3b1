import { expect, test } from 'vitest';
import { resize } from '../../src/reference.js';

/** Kr and Kb as the recommendations give them: ITU-R BT.601-7, BT.709-6 and BT.2020-2. */
const STANDARDS = [
  ['bt601', 0.299, 0.114],
  ['bt709', 0.2126, 0.0722],
  ['bt2020', 0.2627, 0.0593],
] as const;

/** 0, 5, … 255. */
const GRID = Array.from({ length: 52 }, (_, i) => 5 * i);

/** Four lumas for each 2 x 2 block; a pair of rows for each U and V. */
function picture(): { width: number; height: number; data: Uint8Array } {
  const width = GRID.length / 2;
  const height = 2 * GRID.length ** 2;
  const data = new Uint8Array((width * height * 3) / 2);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) data[y * width + x] = GRID[2 * x + (y % 2)] as number;
  }
  for (const [i, u] of GRID.entries()) {
    for (const [j, v] of GRID.entries()) {
      const row = width * (height + i * GRID.length + j);
      for (let x = 0; x < width; x += 2) data.set([u, v], row + x);
    }
  }
  return { width, height, data };
}

const cases = STANDARDS.flatMap(([matrix, kr, kb]) =>
  (['limited', 'full'] as const).map((range) => ({ matrix, range, kr, kb })),
);

test.each(cases)('$matrix, $range: the rounded formula of the recommendation', ({ matrix, range, kr, kb }) => {
  const { width, height, data } = picture();
  const image = { width, height, data, format: 'NV12', pitch: width, matrix, range } as const;
  const rgb = resize(image, width, height).data;
  const limited = range === 'limited';
  let furthest = 0;
  for (const [i, u] of GRID.entries()) {
    for (const [j, v] of GRID.entries()) {
      for (const [k, y] of GRID.entries()) {
        // Luma, and the differences Cb and Cr, of 0 to 1 and -1/2 to 1/2; below black is black.
        const luma = limited ? Math.max(0, y - 16) / 219 : y / 255;
        const [cb, cr] = [u, v].map((c) => (c - 128) / (limited ? 224 : 255)) as [number, number];
        const red = luma + 2 * (1 - kr) * cr;
        const blue = luma + 2 * (1 - kb) * cb;
        const green = (luma - kr * red - kb * blue) / (1 - kr - kb);
        const row = 2 * (i * GRID.length + j) + (k % 2);
        for (const [c, exact] of [red, green, blue].entries()) {
          const value = rgb[3 * (row * width + (k >> 1)) + c] as number;
          furthest = Math.max(furthest, Math.abs(value - Math.min(Math.max(255 * exact, 0), 255)));
        }
      }
    }
  }
  // Limited BT.601 is OpenCV's, whose coefficients are off by up to 0.001.
  expect(furthest).toBeLessThan(matrix === 'bt601' && limited ? 0.8 : 0.501);
});
