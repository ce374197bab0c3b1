import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
// @ts-expect-error a build script without types
import { buildGlyphs } from '../../scripts/build-glyphs.mjs';
import { annotate, encodeJpeg } from '../../src/annotate/annotate.js';
import type { GlyphTable } from '../../src/annotate/glyphs.js';
import { LabelTiles } from '../../src/annotate/label-tiles.js';
import { blit, fillRectangle, type Raster, strokeRectangle } from '../../src/annotate/raster.js';

const glyphs = buildGlyphs() as GlyphTable;

const black = (width: number, height: number): Raster => ({ width, height, data: new Uint8Array(width * height * 3) });
const lit = ({ width, height, data }: Raster): string[] =>
  Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (_, x) => (data[(y * width + x) * 3] === 0 ? '.' : '#')).join(''),
  );

describe('raster', () => {
  it('fills only what lies inside', () => {
    const picture = black(4, 3);
    fillRectangle(picture, -5, 1, 2, 9, [255, 0, 0]);
    fillRectangle(picture, 7, 0, 9, 2, [255, 0, 0]);
    expect(lit(picture)).toEqual(['....', '##..', '##..']);
  });

  it('draws a frame round a box and leaves the inside alone', () => {
    const picture = black(6, 5);
    strokeRectangle(picture, [2, 2, 4, 3], 1, [255, 255, 255]);
    expect(lit(picture)).toEqual(['......', '.####.', '.#..#.', '.####.', '......']);
  });

  it('copies with clipping on every side', () => {
    const tile = { width: 2, height: 2, data: new Uint8Array(12).fill(255) };
    for (const [left, top, expected] of [
      [-1, -1, ['#..', '...', '...']],
      [2, 2, ['...', '...', '..#']],
      [0, 1, ['...', '##.', '##.']],
      [3, 0, ['...', '...', '...']],
      [-2, 0, ['...', '...', '...']],
    ] as const) {
      const picture = black(3, 3);
      blit(picture, tile, left, top);
      expect(lit(picture)).toEqual(expected);
    }
  });
});

describe('LabelTiles', () => {
  it('draws letters without any font: more ink for more letters, none for blanks', async () => {
    const tiles = new LabelTiles(glyphs);
    const ink = async (text: string): Promise<number> => {
      const { data } = await tiles.render(text, 36, [0, 0, 0]);
      return data.filter((byte) => byte > 128).length / 3;
    };
    expect(await ink('   ')).toBe(0);
    expect(await ink('l')).toBeGreaterThan(40);
    expect(await ink('scratch')).toBeGreaterThan((await ink('s')) * 4);
  });

  it('has letters of the height that was asked for', async () => {
    const { width, height, data } = await new LabelTiles(glyphs).render('H', 100, [0, 0, 0]);
    const rows = Array.from({ length: height }, (_, y) => data.subarray(y * width * 3, (y + 1) * width * 3));
    const inked = rows.filter((row) => row.some((byte) => byte > 128)).length;
    expect(Math.abs(inked - (100 * glyphs.capHeight) / glyphs.unitsPerEm)).toBeLessThan(2);
  });

  it('draws ? for a letter that it does not have', async () => {
    const tiles = new LabelTiles(glyphs);
    expect((await tiles.render('\u{4e2d}', 36, [0, 0, 0])).data).toEqual((await tiles.render('?', 36, [0, 0, 0])).data);
  });

  it('is not misled by markup in a label', async () => {
    const { height } = await new LabelTiles(glyphs).render('<b>&"', 36, [0, 0, 0]);
    expect(height).toBeGreaterThan(20);
  });

  it('draws a text once', async () => {
    const tiles = new LabelTiles(glyphs);
    expect(await tiles.render('pit 0.50', 36, [1, 2, 3])).toBe(await tiles.render('pit 0.50', 36, [1, 2, 3]));
  });
});

describe('annotate', () => {
  it('frames every box and keeps labels inside the picture, at any place and size', async () => {
    const picture = black(400, 300);
    const boxes = [
      [0, 0, 400, 300],
      [390, 290, 399.5, 299.5],
      [-20, -20, 5, 5],
      [100, 100, 103.2, 180],
    ] as const;
    await annotate(
      picture,
      boxes.map((box, classId) => ({ label: 'dent', classId, score: 0.5, box })),
      new LabelTiles(glyphs),
    );
    const at = (x: number, y: number) => [...picture.data.subarray((y * 400 + x) * 3, (y * 400 + x) * 3 + 3)];
    expect(at(389, 295)).toEqual([10, 132, 255]);
    expect(at(99, 150)).toEqual([48, 209, 88]);
    expect(at(101, 150)).toEqual([0, 0, 0]);
    expect(picture.data.length).toBe(400 * 300 * 3);
  });

  it.each([
    [64, 64, 1],
    [30, 3000, 0],
    [3000, 30, 4],
    [1080, 1920, 9],
    [1, 1, 0],
  ])('in %i x %i, %i plates lie apart, whole, and leave most of the picture free', async (width, height, plates) => {
    const picture = { width, height, data: new Uint8Array(width * height * 3).fill(1) };
    const tiles = new LabelTiles(glyphs);
    // All at one point, as in a crowd, so that hardly anything but the plates is drawn.
    const annotations = Array.from({ length: 9 }, (_, i) => ({
      label: 'scratch',
      classId: 0,
      score: 0.5 + i / 1e6,
      box: [0.3 * width, 0.6 * height, 0.3 * width, 0.6 * height] as const,
    }));
    await annotate(picture, annotations, tiles);
    const drawn = picture.data.filter((value) => value !== 1).length / 3;
    const fontSize = Math.max(8, Math.round(Math.min(width, height) / 60));
    const tile = await tiles.render('scratch 0.50', fontSize, [255, 59, 48]);
    expect(Math.round(drawn / (tile.width * tile.height))).toBe(plates);
  });

  it('encodes a JPEG of the same size', async () => {
    const metadata = await sharp(await encodeJpeg(black(64, 48))).metadata();
    expect(metadata).toMatchObject({ format: 'jpeg', width: 64, height: 48 });
  });
});
