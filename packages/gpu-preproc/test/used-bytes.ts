import { traitsOf } from '../src/reference/formats.js';
import type { HostImage } from './kernel-definition.js';

/** The bytes of a picture's memory from its beginning to the picture's last sample. */
export function usedBytes({ data, byteOffset, width, height, format, pitch, planePitch }: HostImage): Uint8Array {
  const { bytes, kernel } = traitsOf(format);
  const planes = { planar8: [height, height, height], nv12: [height, height / 2] }[kernel] ?? [height];
  const ends = planes.map((rows, i) => byteOffset + i * planePitch + (rows - 1) * pitch + width * bytes);
  return data.subarray(0, Math.max(...ends));
}
