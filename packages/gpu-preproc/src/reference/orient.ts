import type { Pixels } from './pixels.js';

/** What EXIF says of how a picture was taken; 1 is upright. */
export type ExifOrientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/**
 * How the upright picture reads the stored one. With `transpose`, column and row change places first; then `mirrorX` counts
 * the stored column from the right and `mirrorY` the stored row from the bottom.
 */
export interface Turn {
  readonly transpose: boolean;
  readonly mirrorX: boolean;
  readonly mirrorY: boolean;
}

/**
 * The table of EXIF 2.3 (tag 0x0112): where row 0 and column 0 of the stored picture lie. 2 and 4 are mirrored, 3 is
 * turned by 180°, 6 and 8 are turned right and left, 5 and 7 are mirrored at a diagonal.
 */
const TURNS: Readonly<Record<ExifOrientation, Turn>> = {
  1: { transpose: false, mirrorX: false, mirrorY: false },
  2: { transpose: false, mirrorX: true, mirrorY: false },
  3: { transpose: false, mirrorX: true, mirrorY: true },
  4: { transpose: false, mirrorX: false, mirrorY: true },
  5: { transpose: true, mirrorX: false, mirrorY: false },
  6: { transpose: true, mirrorX: false, mirrorY: true },
  7: { transpose: true, mirrorX: true, mirrorY: true },
  8: { transpose: true, mirrorX: true, mirrorY: false },
};

export const turnOf = (orientation: ExifOrientation): Turn => TURNS[orientation];

/** The size of the upright picture. */
export function uprightSize(
  { width, height }: { readonly width: number; readonly height: number },
  orientation: ExifOrientation,
): { width: number; height: number } {
  return turnOf(orientation).transpose ? { width: height, height: width } : { width, height };
}

/** An RGB8 picture turned upright, as a dense picture with memory of its own. */
export function orient(
  { data, pitch, ...stored }: Pick<Pixels, 'data' | 'pitch' | 'width' | 'height'>,
  orientation: ExifOrientation,
): Pixels {
  const { transpose, mirrorX, mirrorY } = turnOf(orientation);
  const { width, height } = uprightSize(stored, orientation);
  const upright = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [column, row] = transpose ? [y, x] : [x, y];
      const fromX = mirrorX ? stored.width - 1 - column : column;
      const fromY = mirrorY ? stored.height - 1 - row : row;
      const from = fromY * pitch + 3 * fromX;
      upright.set(data.subarray(from, from + 3), 3 * (y * width + x));
    }
  }
  return { width, height, format: 'RGB8', pitch: 3 * width, data: upright };
}
