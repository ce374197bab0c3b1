import { ELEMENT_BYTES, type ElementType, elementBits } from './elements.js';
import type { Depth } from './formats.js';
import { type Crop, Geometry, type LetterboxOptions, letterbox, type Placement, type ResizeMode } from './geometry.js';
import { cropOf, depthOf, type Pixels, rgbRows } from './pixels.js';
import { type Interpolation, resizeRows } from './resize.js';
import { tileParts } from './tiles.js';
import { writeGray, writePixels, writePlanes } from './write.js';

/** The order of the tensor's three planes. */
export type ColorOrder = 'RGB' | 'BGR';

/** One value per plane of the tensor, in the tensor's own order (`colorOrder`). */
export type Triple = readonly [number, number, number];

/** What the values of a picture become. */
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

/**
 * A dense tensor as bit patterns: FP32 in an Int32Array, FP16 in a Uint16Array, UINT8 and INT8 in a Uint8Array. A
 * `Float32Array` of the same buffer has the values.
 */
export type TensorBits = Int32Array | Uint16Array | Uint8Array;

/** `count` elements of a datatype, zeroed, in a buffer of the given kind. */
export function tensorBits(
  datatype: ElementType,
  count: number,
  Buffer: new (byteLength: number) => ArrayBufferLike = ArrayBuffer,
): TensorBits {
  return typedElements(datatype, new Buffer(count * ELEMENT_BYTES[datatype]), 0, count);
}

/** `count` elements of a datatype that lie in `buffer`. @throws RangeError for memory too short or not aligned to an element */
export function typedElements(
  datatype: ElementType,
  buffer: ArrayBufferLike,
  byteOffset: number,
  count: number,
): TensorBits {
  if (datatype === 'FP32') return new Int32Array(buffer, byteOffset, count);
  return datatype === 'FP16' ? new Uint16Array(buffer, byteOffset, count) : new Uint8Array(buffer, byteOffset, count);
}

/**
 * For each plane the bit patterns of the normalised values 0 to `levels − 1`: plane `c`'s begin at `levels · c`. UINT8 and
 * INT8 are rounded half to even and saturated.
 */
export function normalisationTable(
  datatype: ElementType,
  { scale, mean, std }: Normalisation,
  levels = 256,
): TensorBits {
  const table = tensorBits(datatype, 3 * levels);
  for (let c = 0; c < 3; c++) {
    const known = [0, 1, 2].findIndex((plane) => mean[plane] === mean[c] && std[plane] === std[c]);
    if (known < c) {
      table.copyWithin(levels * c, levels * known, levels * (known + 1));
      continue;
    }
    for (let v = 0; v < levels; v++) {
      table[levels * c + v] = elementBits(datatype, normalise(v, scale, mean[c] as number, std[c] as number));
    }
  }
  return table;
}

/** How a picture becomes a tensor, or a batch of tiles of the tensor's size. */
export interface TensorRecipe extends LetterboxOptions {
  readonly width: number;
  readonly height: number;
  readonly datatype: ElementType;
  /** @defaultValue 'NCHW' */
  readonly layout?: 'NCHW' | 'NHWC';
  /** 1 only for `GRAY8` and `GRAY16`. @defaultValue 3 */
  readonly channels?: 1 | 3;
  /** `'tiles'`: at its own size, cut; the last tile of a row or column ends with the picture. */
  readonly resize: ResizeMode | 'tiles';
  /** Pixels that neighbouring tiles share. @defaultValue 0 */
  readonly overlap?: number;
  readonly interpolation: Interpolation;
  readonly colorOrder: ColorOrder;
  /** Bytes, before normalisation; for deeper sources in proportion. */
  readonly pad: Triple;
  /** @defaultValue 1 for UINT8 and INT8, else 1 / 255, 1 / 4095 or 1 / 65535 by the source's depth */
  readonly scale?: number | undefined;
  /** @defaultValue 0 */
  readonly mean?: Triple;
  /** @defaultValue 1 */
  readonly std?: Triple;
}

function normalisationOf(
  { datatype, scale, mean = [0, 0, 0], std = [1, 1, 1] }: TensorRecipe,
  max: Depth,
): Normalisation {
  const whole = datatype === 'UINT8' || datatype === 'INT8';
  return { scale: scale ?? (whole ? 1 : 1 / max), mean, std };
}

/** Tables of recipes in use: one of a deep source takes milliseconds to make. */
const tables = new WeakMap<TensorRecipe, Map<Depth, TensorBits>>();

/** 12-bit sources too have entries for all of 16 bits: what a camera leaves in the high bits must not lead outside. */
const levelsOf = (max: Depth): number => (max === 255 ? 256 : 65536);

function tableOf(recipe: TensorRecipe, max: Depth): TensorBits {
  const known = tables.get(recipe) ?? new Map<Depth, TensorBits>();
  tables.set(recipe, known);
  const table = known.get(max) ?? normalisationTable(recipe.datatype, normalisationOf(recipe, max), levelsOf(max));
  known.set(max, table);
  return table;
}

function place({ width, height }: Crop, recipe: TensorRecipe): Placement {
  if (recipe.resize === 'letterbox') return letterbox(width, height, recipe.width, recipe.height, recipe);
  if (recipe.resize === 'none' && (recipe.width !== width || recipe.height !== height)) {
    throw new RangeError(
      `Expected an image of ${recipe.width}x${recipe.height} pixels for resize 'none' but received ${width}x${height}`,
    );
  }
  if (recipe.resize === 'tiles') return { left: 0, top: 0, width, height };
  return { left: 0, top: 0, width: recipe.width, height: recipe.height };
}

/**
 * How a picture will be laid in: one geometry, or one for each tile in the order of the batch, row by row from the top.
 * @throws RangeError for `resize: 'none'` and a picture, or crop, of another size
 */
export function geometriesOf(image: Pick<Pixels, 'width' | 'height' | 'crop'>, recipe: TensorRecipe): Geometry[] {
  const crop = cropOf(image);
  const parts = recipe.resize === 'tiles' ? tileParts(recipe, crop) : [crop];
  return parts.map((part) => new Geometry(image, recipe, place(part, recipe), part));
}

/** Rows of a tensor: `from` to before `to`, counted through the whole batch (`batch · height` of them). */
export interface RowBand {
  readonly from: number;
  readonly to: number;
}

/** In another kind of array the bits would become numbers: those of 1.0, in a Float32Array, 1065353216.0. */
function checkElements(datatype: ElementType, out: TensorBits): void {
  const expected = tensorBits(datatype, 0)[Symbol.toStringTag];
  const received = out[Symbol.toStringTag];
  if (received !== expected) {
    throw new TypeError(
      `Expected ${expected}, the bits of ${datatype}, for out but received ${received}: see tensorBits`,
    );
  }
}

/**
 * Writes the picture into `out`, every element of it, and tells where it went. With `rows`, only those rows of the tensor
 * are written: several threads that share the picture and the tensor can write a band each, and get the same bytes.
 * Synchronous; allocates a few rows.
 * @throws TypeError when `out` is another kind of array than `tensorBits` makes
 * @throws RangeError for `resize: 'none'` and another size, when `out` has not the elements of the tensor (of all tiles),
 * and for one channel of a picture that has colours
 */
export function imageToTensor(image: Pixels, recipe: TensorRecipe, out: TensorBits, rows?: RowBand): Geometry[] {
  const { width, height, channels = 3 } = recipe;
  if (channels === 1 && !image.format.startsWith('GRAY')) {
    throw new RangeError(`Expected GRAY8 or GRAY16 for a tensor of one channel but received ${image.format}`);
  }
  checkElements(recipe.datatype, out);
  const geometries = geometriesOf(image, recipe);
  const each = channels * width * height;
  if (out.length !== geometries.length * each) {
    throw new RangeError(`Expected ${geometries.length * each} elements for the tensor but received ${out.length}`);
  }
  const { from = 0, to = geometries.length * height } = rows ?? {};
  for (const [i, geometry] of geometries.entries()) {
    const first = Math.max(0, from - i * height);
    const end = Math.min(height, to - i * height);
    if (first < end) writePart(image, recipe, geometry, out.subarray(i * each, (i + 1) * each), first, end);
  }
  return geometries;
}

function writePart(
  image: Pixels,
  recipe: TensorRecipe,
  { crop, left, top, width, height }: Geometry,
  out: TensorBits,
  first: number,
  end: number,
): void {
  const max = depthOf(image);
  const table = tableOf(recipe, max);
  const levels = levelsOf(max);
  const { channels = 3, layout = 'NCHW' } = recipe;
  const area = recipe.width * recipe.height;
  padRows(recipe, max, { left, top, width, height }, out, first, end);
  const bgr = recipe.colorOrder === 'BGR';
  const redPlane = bgr ? 2 * area : 0;
  const bluePlane = bgr ? 0 : 2 * area;
  const job = { width, height, first: Math.max(0, first - top), end: Math.min(height, end - top) };
  if (job.first >= job.end) return;
  resizeRows(rgbRows(image, crop), job, recipe.interpolation, (y, row, offset) => {
    const start = (top + y) * recipe.width + left;
    if (channels === 1) writeGray(row, offset, width, table, out, start);
    else if (layout === 'NHWC') writePixels(row, offset, width, table, levels, bgr, out, 3 * start);
    else writePlanes(row, offset, width, table, levels, bgr, out, redPlane + start, area + start, bluePlane + start);
  });
}

/** Fills everything of the rows that the picture does not cover. */
function padRows(recipe: TensorRecipe, max: Depth, at: Placement, out: TensorBits, first: number, end: number): void {
  const { width, height, channels = 3, layout = 'NCHW', datatype, pad } = recipe;
  if (at.left === 0 && at.top === 0 && at.width === width && at.height === height) return;
  const { scale, mean, std } = normalisationOf(recipe, max);
  const bits = pad.map((byte, c) =>
    elementBits(datatype, normalise((byte * max) / 255, scale, mean[c] as number, std[c] as number)),
  );
  const fill = (from: number, to: number): void => {
    if (layout === 'NCHW' || channels === 1) {
      for (let c = 0; c < channels; c++) {
        out.fill(bits[c] as number, c * width * height + from, c * width * height + to);
      }
    } else {
      for (let i = from; i < to; i++) for (let c = 0; c < 3; c++) out[3 * i + c] = bits[c] as number;
    }
  };
  for (let y = first; y < end; y++) {
    if (y < at.top || y >= at.top + at.height) fill(y * width, (y + 1) * width);
    else {
      fill(y * width, y * width + at.left);
      fill(y * width + at.left + at.width, (y + 1) * width);
    }
  }
}
