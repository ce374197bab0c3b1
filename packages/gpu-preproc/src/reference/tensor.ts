import { Geometry, letterbox, type Placement, type ResizeMode } from './geometry.js';
import type { Pixels } from './pixels.js';
import { type Interpolation, resizeRows } from './resize.js';
import { float16Bits } from './rounding.js';

/** The order of the tensor's three planes. */
export type ColorOrder = 'RGB' | 'BGR';

/** One value per plane of the tensor, in the tensor's own order (`colorOrder`). */
export type Triple = readonly [number, number, number];

/** What the bytes 0–255 of a picture become. */
export interface Normalisation {
  readonly scale: number;
  readonly mean: Triple;
  readonly std: Triple;
}

/**
 * Normalises one byte: `((v · scale) − mean) / std`, each step rounded to fp32, `scale` in double precision. With
 * `scale = 1/255` the first step equals the fp32 division `v / 255` for all 256 values.
 */
export function normalise(value: number, scale: number, mean: number, std: number): number {
  const scaled = Math.fround(value * scale);
  return Math.fround(Math.fround(scaled - Math.fround(mean)) / Math.fround(std));
}

/** A tensor `[1, 3, height, width]`, dense, as bit patterns: FP32 in an Int32Array, FP16 in a Uint16Array. */
export type TensorBits = Int32Array | Uint16Array;

/** For each plane the bit patterns of the 256 normalised bytes: plane `c`'s begin at `256 · c`. */
export function normalisationTable(datatype: 'FP32' | 'FP16', { scale, mean, std }: Normalisation): TensorBits {
  const values = new Float32Array(768);
  for (let c = 0; c < 3; c++) {
    for (let v = 0; v < 256; v++) values[256 * c + v] = normalise(v, scale, mean[c] as number, std[c] as number);
  }
  return datatype === 'FP32' ? new Int32Array(values.buffer) : Uint16Array.from(values, float16Bits);
}

/** How a picture becomes a tensor. */
export interface TensorRecipe {
  readonly width: number;
  readonly height: number;
  readonly resize: ResizeMode;
  readonly interpolation: Interpolation;
  readonly colorOrder: ColorOrder;
  /** Bytes, before normalisation. */
  readonly pad: Triple;
  /** From {@link normalisationTable}; of the same array type as the tensor. */
  readonly table: TensorBits;
}

function place(image: Pixels, recipe: TensorRecipe): Placement {
  const { width, height } = recipe;
  if (recipe.resize === 'letterbox') return letterbox(image.width, image.height, width, height);
  if (recipe.resize === 'none' && (image.width !== width || image.height !== height)) {
    throw new RangeError(
      `Expected an image of ${width}x${height} pixels for resize 'none' but received ${image.width}x${image.height}`,
    );
  }
  return { left: 0, top: 0, width, height };
}

/** Fills everything of one plane that the picture does not cover. */
function padPlane(plane: TensorBits, width: number, height: number, at: Placement, bits: number): void {
  plane.fill(bits, 0, at.top * width);
  plane.fill(bits, (at.top + at.height) * width);
  if (at.width === width) return;
  for (let y = at.top; y < Math.min(at.top + at.height, height); y++) {
    plane.fill(bits, y * width, y * width + at.left);
    plane.fill(bits, y * width + at.left + at.width, (y + 1) * width);
  }
}

/** Takes one row of RGB apart into three planes, through the table. `red`, `green`, `blue`: offsets into `out`. */
function writeRow(
  row: Uint8Array,
  offset: number,
  count: number,
  table: TensorBits,
  bgr: boolean,
  out: TensorBits,
  red: number,
  green: number,
  blue: number,
): void {
  const redTable = bgr ? 512 : 0;
  const blueTable = bgr ? 0 : 512;
  for (let x = 0, from = offset; x < count; x++, from += 3) {
    out[red + x] = table[redTable + (row[from] as number)] as number;
    out[green + x] = table[256 + (row[from + 1] as number)] as number;
    out[blue + x] = table[blueTable + (row[from + 2] as number)] as number;
  }
}

/**
 * Writes the picture into `out`, every element of it, and tells where it went. Synchronous; allocates a few rows.
 * @throws RangeError for `resize: 'none'` and another size, or when `out` has not `3 · height · width` elements
 */
export function imageToTensor(image: Pixels, recipe: TensorRecipe, out: TensorBits): Geometry {
  const { width, height, table, pad } = recipe;
  const area = width * height;
  if (out.length !== 3 * area) {
    throw new RangeError(`Expected ${3 * area} elements for the tensor but received ${out.length}`);
  }
  const at = place(image, recipe);
  for (let c = 0; c < 3; c++) {
    const bits = table[256 * c + (pad[c] as number)] as number;
    padPlane(out.subarray(c * area, (c + 1) * area), width, height, at, bits);
  }
  const bgr = recipe.colorOrder === 'BGR';
  const redPlane = bgr ? 2 * area : 0;
  const bluePlane = bgr ? 0 : 2 * area;
  resizeRows(image, at.width, at.height, recipe.interpolation, (y, row, offset) => {
    const start = (at.top + y) * width + at.left;
    writeRow(row, offset, at.width, table, bgr, out, redPlane + start, area + start, bluePlane + start);
  });
  return new Geometry(image, recipe, at);
}
