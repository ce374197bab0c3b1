import { roundHalfEven } from './rounding.js';

/** x1, y1, x2, y2: two corners in pixels, pixel edges at integers (the first pixel spans 0 to 1). */
export type Box = [x1: number, y1: number, x2: number, y2: number];

/** How a picture is brought to the tensor's size. */
export type ResizeMode = 'letterbox' | 'stretch' | 'none';

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
): Placement {
  const ratio = Math.min(targetHeight / sourceHeight, targetWidth / sourceWidth);
  const width = Math.max(1, roundHalfEven(sourceWidth * ratio));
  const height = Math.max(1, roundHalfEven(sourceHeight * ratio));
  return {
    left: roundHalfEven((targetWidth - width) / 2 - 0.1),
    top: roundHalfEven((targetHeight - height) / 2 - 0.1),
    width,
    height,
  };
}

const clamp = (value: number, limit: number): number => Math.min(Math.max(value, 0), limit);

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
  ) {
    this.sourceWidth = source.width;
    this.sourceHeight = source.height;
    this.targetWidth = target.width;
    this.targetHeight = target.height;
    this.left = placement.left;
    this.top = placement.top;
    this.width = placement.width;
    this.height = placement.height;
    this.gainX = placement.width / source.width;
    this.gainY = placement.height / source.height;
  }

  /** A box in tensor pixels as a box in pixels of the source picture, clamped to it. NaN stays NaN. */
  toImage(box: readonly [number, number, number, number]): Box {
    const [x1, y1, x2, y2] = box;
    return [
      clamp((x1 - this.left) / this.gainX, this.sourceWidth),
      clamp((y1 - this.top) / this.gainY, this.sourceHeight),
      clamp((x2 - this.left) / this.gainX, this.sourceWidth),
      clamp((y2 - this.top) / this.gainY, this.sourceHeight),
    ];
  }
}
