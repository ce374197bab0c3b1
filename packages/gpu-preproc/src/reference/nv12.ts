import { colorMatrix } from './color-matrix.js';
import type { Crop } from './geometry.js';
import type { Pixels } from './pixels.js';

/**
 * NV12 to RGB with integers of 2^-20, each pixel with the chroma of its 2x2 block: `(Y·y + V·v + 2^19) >> 20`, clamped.
 * BT.601 limited is byte-equal to OpenCV. The sums stay below 2^31: the largest is 239 · 1220542 + 128 · 2245000.
 */
export function nv12Row(image: Pixels, part: Crop): (y: number, row: Uint8Array) => void {
  const { data, pitch, height } = image;
  const planePitch = image.planePitch ?? pitch * height;
  const matrix = colorMatrix(image.matrix ?? (height >= 720 ? 'bt709' : 'bt601'), image.range ?? 'limited');
  const { lumaOffset, luma, vToRed, uToGreen, vToGreen, uToBlue } = matrix;
  return (y, row) => {
    const lumaRow = y * pitch;
    const chromaRow = planePitch + (y >> 1) * pitch;
    for (let x = part.x, to = 0; x < part.x + part.width; x++, to += 3) {
      const base = Math.max(0, (data[lumaRow + x] as number) - lumaOffset) * luma + 0x80000;
      const chroma = chromaRow + (x & ~1);
      const u = (data[chroma] as number) - 128;
      const v = (data[chroma + 1] as number) - 128;
      row[to] = clamped((base + vToRed * v) >> 20);
      row[to + 1] = clamped((base + uToGreen * u + vToGreen * v) >> 20);
      row[to + 2] = clamped((base + uToBlue * u) >> 20);
    }
  };
}

const clamped = (value: number): number => Math.min(Math.max(value, 0), 255);
