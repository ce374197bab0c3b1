import sharp from 'sharp';
import type { LabelTiles } from './label-tiles.js';
import { blit, type Raster, type Rgb, strokeRectangle } from './raster.js';

/** What is drawn for one object; the box is `[x1, y1, x2, y2]` in pixels of the picture. */
export interface Annotation {
  readonly label: string;
  readonly classId: number;
  readonly score: number;
  readonly box: readonly [number, number, number, number];
}

/** Far apart in hue and all visible on grey; classes beyond the last start again. */
const palette: readonly Rgb[] = [
  [255, 59, 48],
  [10, 132, 255],
  [255, 204, 0],
  [48, 209, 88],
  [191, 90, 242],
  [255, 149, 0],
  [100, 210, 255],
  [255, 55, 160],
];

/**
 * Draws boxes and labels into the picture's own bytes, the best score last so that it lies on top. Line width and
 * letters grow with the picture: 4 and 36 pixels at 3840 x 2160.
 */
export async function annotate(target: Raster, annotations: readonly Annotation[], tiles: LabelTiles): Promise<void> {
  const side = Math.min(target.width, target.height);
  const thickness = Math.max(1, Math.round(side / 540));
  const fontSize = Math.max(10, Math.round(side / 60));
  const ordered = [...annotations].sort((a, b) => a.score - b.score);
  for (const { classId, box } of ordered) strokeRectangle(target, wholePixels(box), thickness, colorOf(classId));
  for (const { label, classId, score, box } of ordered) {
    const tile = await tiles.render(`${label} ${score.toFixed(2)}`, fontSize, colorOf(classId));
    const [left, top, , bottom] = wholePixels(box);
    const above = top - thickness - tile.height;
    const below = bottom + thickness;
    // Above the box where there is room, else below it, else inside the picture's top edge.
    const y = above >= 0 ? above : below + tile.height <= target.height ? below : 0;
    const x = Math.max(0, Math.min(left - thickness, target.width - tile.width));
    blit(target, tile, x, y);
  }
}

/** @returns the picture as JPEG bytes */
export async function encodeJpeg(picture: Raster): Promise<Buffer> {
  const { width, height, data } = picture;
  return sharp(data, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 90 })
    .toBuffer();
}

function wholePixels([x1, y1, x2, y2]: Annotation['box']): [number, number, number, number] {
  return [Math.floor(x1), Math.floor(y1), Math.ceil(x2), Math.ceil(y2)];
}

function colorOf(classId: number): Rgb {
  return palette[classId % palette.length] as Rgb;
}
