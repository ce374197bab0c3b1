import type { Samples } from './pixels.js';
import type { TensorBits } from './tensor.js';

/** Takes `count` pixels of interleaved RGB apart into three planes, through the table. `red`, `green`, `blue`: offsets into `out`. */
export function writePlanes(
  row: Samples,
  offset: number,
  count: number,
  table: TensorBits,
  levels: number,
  bgr: boolean,
  out: TensorBits,
  red: number,
  green: number,
  blue: number,
): void {
  const redTable = bgr ? 2 * levels : 0;
  const blueTable = bgr ? 0 : 2 * levels;
  for (let x = 0, from = offset; x < count; x++, from += 3) {
    out[red + x] = table[redTable + (row[from] as number)] as number;
    out[green + x] = table[levels + (row[from + 1] as number)] as number;
    out[blue + x] = table[blueTable + (row[from + 2] as number)] as number;
  }
}

/** The same into interleaved elements, from `start` on. */
export function writePixels(
  row: Samples,
  offset: number,
  count: number,
  table: TensorBits,
  levels: number,
  bgr: boolean,
  out: TensorBits,
  start: number,
): void {
  const first = bgr ? 2 : 0;
  for (let x = 0, from = offset, to = start; x < count; x++, from += 3, to += 3) {
    out[to] = table[row[from + first] as number] as number;
    out[to + 1] = table[levels + (row[from + 1] as number)] as number;
    out[to + 2] = table[2 * levels + (row[from + 2 - first] as number)] as number;
  }
}

/** The first of each pixel's three equal samples, into one plane. */
export function writeGray(
  row: Samples,
  offset: number,
  count: number,
  table: TensorBits,
  out: TensorBits,
  start: number,
): void {
  for (let x = 0, from = offset; x < count; x++, from += 3) out[start + x] = table[row[from] as number] as number;
}
