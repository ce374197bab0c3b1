import sharp from 'sharp';
import type { LabelTiles } from './label-tiles.js';
import { type Area, areaOf, placePlate } from './place-plates.js';
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

/** All plates together may cover this part of a picture. */
const plateShare = 0.25;

/**
 * Draws boxes and labels into the picture's own bytes. Line width and letters grow with the picture: 4 and 36 pixels at
 * 3840 x 2160. The best scores get their plates first: one that is wider than the picture, or that would cover too much
 * of a small one, is left out, and the colour of the frame must do.
 */
export async function annotate(target: Raster, annotations: readonly Annotation[], tiles: LabelTiles): Promise<void> {
  const side = Math.min(target.width, target.height);
  const thickness = Math.max(1, Math.round(side / 540));
  const fontSize = Math.max(8, Math.round(side / 60));
  const ordered = [...annotations].sort((a, b) => b.score - a.score);
  for (const { classId, box } of [...ordered].reverse()) {
    strokeRectangle(target, wholePixels(box), thickness, colorOf(classId));
  }
  const plates: { tile: Raster; area: Area }[] = [];
  let room = plateShare * target.width * target.height;
  for (const { label, classId, score, box } of ordered) {
    const tile = await tiles.render(`${label} ${score.toFixed(2)}`, fontSize, colorOf(classId));
    if (tile.width > target.width || tile.height > target.height || tile.width * tile.height > room) continue;
    room -= tile.width * tile.height;
    const [x1, y1, x2, y2] = wholePixels(box);
    const frame = { left: x1 - thickness, top: y1 - thickness, right: x2 + thickness, bottom: y2 + thickness };
    const taken = plates.map(({ area }) => area);
    plates.push({ tile, area: areaOf(tile, placePlate(tile, frame, taken, target)) });
  }
  for (const { tile, area } of [...plates].reverse()) blit(target, tile, area.left, area.top);
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
