import { traitsOf } from './formats.js';
import type { Crop } from './geometry.js';
import type { Pixels, Samples } from './pixels.js';

/**
 * One row of a mosaic as RGB, byte-equal to OpenCV's bilinear demosaicing: a missing colour is the mean of the two or
 * four nearest samples that have it, halves rounded up. The outermost pixels of the picture are those beside them.
 * `pitch` counts samples; `y` is a row of the picture. The picture has 3x3 pixels or more.
 */
export function bayerRow<T extends Samples>(
  { width, height, format }: Pixels,
  samples: T,
  pitch: number,
  part: Crop,
  y: number,
  row: T,
): void {
  const [redX, redY] = traitsOf(format).red as readonly [number, number];
  const cy = Math.min(Math.max(y, 1), height - 2);
  const onRedRow = (cy & 1) === redY;
  // The colour this row has beside green, the other one, and the column (0 or 1) where it lies.
  const own = onRedRow ? 0 : 2;
  const column = onRedRow ? redX : 1 - redX;
  for (let x = part.x, to = 0; x < part.x + part.width; x++, to += 3) {
    const cx = Math.min(Math.max(x, 1), width - 2);
    const at = cy * pitch + cx;
    const up = at - pitch;
    const down = at + pitch;
    const here = samples[at] as number;
    const beside = (samples[at - 1] as number) + (samples[at + 1] as number);
    const above = (samples[up] as number) + (samples[down] as number);
    if ((cx & 1) === column) {
      const corners =
        (samples[up - 1] as number) +
        (samples[up + 1] as number) +
        (samples[down - 1] as number) +
        (samples[down + 1] as number);
      row[to + own] = here;
      row[to + 1] = (beside + above + 2) >> 2;
      row[to + 2 - own] = (corners + 2) >> 2;
    } else {
      row[to + own] = (beside + 1) >> 1;
      row[to + 1] = here;
      row[to + 2 - own] = (above + 1) >> 1;
    }
  }
}
