import type { ExifOrientation } from '../src/reference.js';
import { noise } from './noise.js';

export interface OrientCase {
  readonly orientation: ExifOrientation;
  readonly width: number;
  readonly height: number;
  readonly pitch: number;
  readonly byteOffset: number;
  readonly data: Uint8Array;
}

export const ORIENTATIONS = [1, 2, 3, 4, 5, 6, 7, 8] as const;

/** Sizes within a tile of the kernel, of whole tiles, across their edges, and of one row or column. */
const SIZES = [
  [1, 1],
  [1, 77],
  [77, 1],
  [32, 64],
  [33, 31],
  [97, 65],
] as const;

/** Every orientation at every size: dense from the start, and with a pitch and an offset; the memory ends with the picture. */
export function orientCases(): OrientCase[] {
  return ORIENTATIONS.flatMap((orientation) =>
    SIZES.flatMap(([width, height]) =>
      [
        { pitch: 3 * width, byteOffset: 0 },
        { pitch: 3 * width + 5, byteOffset: 3 },
      ].map(({ pitch, byteOffset }) => {
        const data = noise(width + height, byteOffset + pitch * (height - 1) + 3 * width);
        return { orientation, width, height, pitch, byteOffset, data };
      }),
    ),
  );
}
