import type { DeviceMemory } from '@zerohop/cuda-native';
import { outOfRange } from '../arguments.js';
import { checkExtent, checkPixelLayout } from '../pixel-layout.js';
import { type FormatTraits, type PixelFormat, traitsOf } from '../reference/formats.js';
import type { Crop } from '../reference/geometry.js';

/** A picture in memory that the device can read: `height` rows of `width` pixels. Borrowed until the work is over. */
export interface DeviceImage {
  readonly memory: DeviceMemory;
  /** Bytes from the start of `memory` to the first pixel. @defaultValue 0 */
  readonly byteOffset?: number;
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  /** Bytes from row to row. @defaultValue a row's bytes */
  readonly pitch?: number;
  /** Bytes from plane to plane, of `NV12` to the chroma. @defaultValue `pitch · height` */
  readonly planePitch?: number;
  /** @defaultValue the whole picture */
  readonly crop?: Crop;
  /** Of `NV12`. @defaultValue 'bt709' from 720 rows on, else 'bt601' */
  readonly matrix?: 'bt601' | 'bt709' | 'bt2020';
  /** Of `NV12`. @defaultValue 'limited' */
  readonly range?: 'limited' | 'full';
}

/** A {@link DeviceImage}, checked and without gaps. */
export interface SourceImage extends Required<DeviceImage> {
  readonly traits: FormatTraits;
}

/** The kernels' integers: of a pitch, and of a side. */
const MOST = 2 ** 31 - 1;

/**
 * @throws TypeError | RangeError for a wrong size, pitch or crop, an NV12 picture with odd sides, a mosaic with fewer than
 * 3 rows or columns, 16-bit samples at odd addresses, and memory that ends before the picture
 */
export function checkImage(image: DeviceImage): SourceImage {
  const { memory, byteOffset = 0 } = image;
  if (!Number.isSafeInteger(byteOffset) || byteOffset < 0) {
    throw outOfRange('non-negative integer', 'byteOffset', byteOffset);
  }
  const layout = checkPixelLayout(image);
  const { format, pitch, height } = layout;
  if (pitch > MOST) throw outOfRange(`at most ${MOST}`, 'pitch', pitch);
  if (height > MOST) throw outOfRange(`at most ${MOST}`, 'height', height);
  checkExtent(layout, memory, byteOffset);
  const traits = traitsOf(format);
  if (traits.max > 255) {
    const address = memory.address + BigInt(byteOffset);
    if (address % 2n !== 0n) throw outOfRange('even address', `a ${format} image`, address);
  }
  return { ...layout, memory, byteOffset, traits };
}
