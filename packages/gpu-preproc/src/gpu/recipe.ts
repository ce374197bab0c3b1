import { checkOneOf, checkPositiveInteger, outOfRange } from '../arguments.js';
import { checkLetterbox, checkOverlap, checkValues } from '../checks.js';
import type { ElementType } from '../reference/elements.js';
import type { LetterboxOptions, ResizeMode } from '../reference/geometry.js';
import type { Interpolation } from '../reference/resize.js';
import type { ColorOrder, Triple } from '../reference/tensor.js';

/**
 * How an image becomes a tensor, or a batch of tiles of the tensor's size. `align` and `scaleUp` are read by
 * `resize: 'letterbox'` alone.
 */
export interface KernelRecipe extends LetterboxOptions {
  /** Of the tensor, or of each tile. */
  readonly width: number;
  readonly height: number;
  /** @defaultValue 'FP32' */
  readonly datatype?: ElementType;
  /** @defaultValue 'NCHW' */
  readonly layout?: 'NCHW' | 'NHWC';
  /** 1 only for gray sources. @defaultValue 3 */
  readonly channels?: 1 | 3;
  /** `'tiles'`: at its own size, cut; the last tile of a row or column ends with the image. @defaultValue 'letterbox' */
  readonly resize?: ResizeMode | 'tiles';
  /** Pixels that neighbouring tiles share; only of tiles. @defaultValue 0 */
  readonly overlap?: number;
  /** @defaultValue 'linear' */
  readonly interpolation?: Interpolation;
  /** @defaultValue 'RGB' */
  readonly colorOrder?: ColorOrder;
  /** Bytes, before normalisation; for deeper sources in proportion. @defaultValue 114 in every plane */
  readonly pad?: Triple;
  /** @defaultValue 1 for UINT8 and INT8, else 1 / (the source's largest value) */
  readonly scale?: number | undefined;
  /** By plane. @defaultValue 0 */
  readonly mean?: Triple;
  /** By plane; positive. @defaultValue 1 */
  readonly std?: Triple;
}

/** A {@link KernelRecipe}, checked; `scale` stays open where it depends on the source. */
export type FullRecipe = Omit<Required<KernelRecipe>, 'scale'> & { readonly scale: number | undefined };

/** The kernels' integers, and the pixels that a thread may be beyond the last. */
const MOST_IN_ROW = 2 ** 31 - 1 - 8;

function checkChannels(channels: 1 | 3): 1 | 3 {
  if (channels !== 1 && channels !== 3) throw outOfRange('1 or 3', 'channels', channels);
  return channels;
}

/** @throws TypeError | RangeError for a wrong value */
export function checkRecipe(recipe: KernelRecipe): FullRecipe {
  const width = checkPositiveInteger('width', recipe.width);
  const height = checkPositiveInteger('height', recipe.height);
  const channels = checkChannels(recipe.channels ?? 3);
  if (width * channels > MOST_IN_ROW) throw outOfRange(`at most ${Math.floor(MOST_IN_ROW / channels)}`, 'width', width);
  const overlap = checkOverlap('overlap', recipe.overlap ?? 0, { width, height });
  const resize = checkOneOf('resize', recipe.resize ?? 'letterbox', ['letterbox', 'stretch', 'none', 'tiles']);
  if (overlap > 0 && resize !== 'tiles') throw outOfRange("0 unless resize is 'tiles'", 'overlap', overlap);
  return {
    width,
    height,
    overlap,
    channels,
    datatype: checkOneOf('datatype', recipe.datatype ?? 'FP32', ['FP32', 'FP16', 'UINT8', 'INT8']),
    layout: checkOneOf('layout', recipe.layout ?? 'NCHW', ['NCHW', 'NHWC']),
    resize,
    ...checkLetterbox(recipe),
    ...checkValues(recipe),
  };
}
