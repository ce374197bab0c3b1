import { checkBoolean, checkOneOf, checkTriple, outOfRange, wrongType } from './arguments.js';
import type { LetterboxOptions } from './reference/geometry.js';
import type { Interpolation } from './reference/resize.js';
import type { ColorOrder, Triple } from './reference/tensor.js';

/** What becomes of a picture's values: options that a `Preprocessor` and a recipe of the kernels have in common. */
export interface ValueOptions {
  readonly interpolation?: Interpolation;
  readonly colorOrder?: ColorOrder;
  readonly scale?: number | undefined;
  readonly mean?: number | Triple;
  readonly std?: number | Triple;
  readonly pad?: number | Triple;
}

/** {@link ValueOptions}, checked; `scale` stays open where it depends on the source. */
export interface CheckedValues {
  readonly interpolation: Interpolation;
  readonly colorOrder: ColorOrder;
  readonly scale: number | undefined;
  readonly mean: Triple;
  readonly std: Triple;
  readonly pad: Triple;
}

function checkScale(scale: number | undefined): number | undefined {
  if (scale === undefined) return undefined;
  if (typeof scale !== 'number') throw wrongType('finite number', 'scale', scale);
  if (!Number.isFinite(scale)) throw outOfRange('finite number', 'scale', scale);
  return scale;
}

const isByte = (v: number): boolean => Number.isInteger(v) && v >= 0 && v <= 255;
/** In fp32, which is what is divided by. */
const isPositive = (v: number): boolean => Number.isFinite(v) && Math.fround(v) > 0;

/** @throws TypeError | RangeError for a wrong value */
export function checkValues(options: ValueOptions): CheckedValues {
  return {
    interpolation: checkOneOf('interpolation', options.interpolation ?? 'linear', ['linear', 'area', 'nearest']),
    colorOrder: checkOneOf('colorOrder', options.colorOrder ?? 'RGB', ['RGB', 'BGR']),
    scale: checkScale(options.scale),
    mean: checkTriple('mean', options.mean ?? 0, 'finite number', Number.isFinite),
    std: checkTriple('std', options.std ?? 1, 'positive number', isPositive),
    pad: checkTriple('pad', options.pad ?? 114, 'integer from 0 to 255', isByte),
  };
}

/** @param prefix of the options' names in messages */
export function checkLetterbox(
  { align = 'centre', scaleUp = true }: LetterboxOptions,
  prefix = '',
): Required<LetterboxOptions> {
  return {
    align: checkOneOf(`${prefix}align`, align, ['centre', 'topLeft']),
    scaleUp: checkBoolean(`${prefix}scaleUp`, scaleUp),
  };
}

/** The pixels that neighbouring tiles share: fewer than a tile has along either side. */
export function checkOverlap(
  name: string,
  overlap: number,
  tile: { readonly width: number; readonly height: number },
): number {
  const most = Math.min(tile.width, tile.height) - 1;
  if (typeof overlap !== 'number') throw wrongType('integer', name, overlap);
  if (!Number.isInteger(overlap) || overlap < 0 || overlap > most) {
    throw outOfRange(`integer from 0 to ${most}`, name, overlap);
  }
  return overlap;
}
