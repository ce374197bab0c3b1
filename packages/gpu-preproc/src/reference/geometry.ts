import { roundHalfEven } from './rounding.js';

/** x1, y1, x2, y2: two corners in pixels, pixel edges at integers (the first pixel spans 0 to 1). */
export type Box = [x1: number, y1: number, x2: number, y2: number];

/** How a picture is brought to the tensor's size. */
export type ResizeMode = 'letterbox' | 'stretch' | 'none';

/** A part of a picture, in its pixels. */
export interface Crop {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface LetterboxOptions {
  /** Where the picture lies: padding on both sides, or on the right and below only. @defaultValue 'centre' */
  readonly align?: 'centre' | 'topLeft';
  /** Whether pictures smaller than the tensor are enlarged. @defaultValue true */
  readonly scaleUp?: boolean;
}

/** Where the picture lies in the tensor, in tensor pixels: exactly the integers that were used to write it. */
export interface Placement {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/**
 * The letterbox of the YOLO family, with padding on both sides: ratio `r = min(H'/h, W'/w)` in double precision; size
 * `round(w·r) × round(h·r)`, halves to even; the rest is halved, and an odd pixel goes to the right and the bottom
 * (`left = round(rest/2 − 0.1)`). No side becomes smaller than one pixel. A picture that has the target's size already
 * keeps it.
 */
export function letterbox(
  sourceWidth: number,
  sourceHeight: number,
  targetWidth: number,
  targetHeight: number,
  { align = 'centre', scaleUp = true }: LetterboxOptions = {},
): Placement {
  const fit = Math.min(targetHeight / sourceHeight, targetWidth / sourceWidth);
  const ratio = scaleUp ? fit : Math.min(fit, 1);
  const width = Math.max(1, roundHalfEven(sourceWidth * ratio));
  const height = Math.max(1, roundHalfEven(sourceHeight * ratio));
  if (align === 'topLeft') return { left: 0, top: 0, width, height };
  return {
    left: roundHalfEven((targetWidth - width) / 2 - 0.1),
    top: roundHalfEven((targetHeight - height) / 2 - 0.1),
    width,
    height,
  };
}

const clamp = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high);

/**
 * How one picture was laid into a tensor, and the way back. Made by the preprocessor; plain numbers, owns nothing.
 *
 * The gains are those of the rounded size that was really used (`width / sourceWidth`), not the ratio before rounding:
 * the two differ by up to half a tensor pixel at the far edge.
 */
export class Geometry implements Placement {
  /** Size in pixels of the upright source picture. */
  readonly sourceWidth: number;
  readonly sourceHeight: number;
  /** The part of the source that the tensor shows: the whole, a crop, or a tile. */
  readonly crop: Crop;
  /** Size in pixels of the tensor. */
  readonly targetWidth: number;
  readonly targetHeight: number;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Tensor pixels per source pixel. */
  readonly gainX: number;
  readonly gainY: number;

  constructor(
    source: { readonly width: number; readonly height: number },
    target: { readonly width: number; readonly height: number },
    placement: Placement,
    crop: Crop = { x: 0, y: 0, width: source.width, height: source.height },
  ) {
    this.crop = crop;
    this.sourceWidth = source.width;
    this.sourceHeight = source.height;
    this.targetWidth = target.width;
    this.targetHeight = target.height;
    this.left = placement.left;
    this.top = placement.top;
    this.width = placement.width;
    this.height = placement.height;
    this.gainX = placement.width / crop.width;
    this.gainY = placement.height / crop.height;
  }

  /**
   * A box in tensor pixels as a box in pixels of the source picture, also where the tensor shows a crop or a tile of it;
   * clamped to the part that is shown. NaN stays NaN.
   */
  toImage(box: readonly [number, number, number, number]): Box {
    const { x, y, width, height } = this.crop;
    const column = (value: number): number => clamp((value - this.left) / this.gainX + x, x, x + width);
    const row = (value: number): number => clamp((value - this.top) / this.gainY + y, y, y + height);
    return [column(box[0]), row(box[1]), column(box[2]), row(box[3])];
  }
}
