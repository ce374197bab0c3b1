import type { DeviceMemory } from '@zerohop/cuda-native';
import { checkCrop, checkOneOf, checkPositiveInteger, outOfRange } from '../arguments.js';
import { FORMATS, type FormatTraits, type PixelFormat, traitsOf } from '../reference/formats.js';
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

function planesBehindFirst(format: PixelFormat): number {
  return traitsOf(format).kernel === 'planar8' ? 2 : 0;
}

/**
 * @throws TypeError | RangeError for a wrong size, pitch or crop, an NV12 picture with odd sides, a mosaic with fewer than
 * 3 rows or columns, 16-bit samples at odd addresses, and memory that ends before the picture
 */
export function checkImage(image: DeviceImage): SourceImage {
  const { memory, byteOffset = 0 } = image;
  if (!Number.isSafeInteger(byteOffset) || byteOffset < 0) {
    throw outOfRange('non-negative integer', 'byteOffset', byteOffset);
  }
  const width = checkPositiveInteger('width', image.width);
  const height = checkPositiveInteger('height', image.height);
  const format = checkOneOf('format', image.format, Object.keys(FORMATS) as PixelFormat[]);
  const traits = traitsOf(format);
  const rowBytes = width * traits.bytes;
  const pitch = checkPositiveInteger('pitch', image.pitch ?? rowBytes);
  if (pitch < rowBytes) throw outOfRange(`at least ${rowBytes} (${width} pixels of ${format})`, 'pitch', pitch);
  if (pitch > MOST) throw outOfRange(`at most ${MOST}`, 'pitch', pitch);
  if (height > MOST) throw outOfRange(`at most ${MOST}`, 'height', height);
  const planePitch = checkPositiveInteger('planePitch', image.planePitch ?? pitch * height);
  if (traits.red !== undefined && Math.min(width, height) < 3) {
    throw outOfRange('at least 3x3 pixels', `a ${format} image's size`, `${width}x${height}`);
  }
  if (format === 'NV12' && (width % 2 !== 0 || height % 2 !== 0)) {
    throw outOfRange('even sides', 'an NV12 image', `${width}x${height}`);
  }
  const rows = format === 'NV12' ? height / 2 : height;
  const lastPlane = format === 'NV12' ? planePitch : planesBehindFirst(format) * planePitch;
  const ends = [lastPlane + pitch * (rows - 1), pitch * (height - 1)];
  const needed = byteOffset + Math.max(...ends) + rowBytes;
  if (memory.byteLength < needed) {
    throw outOfRange(`at least ${needed} bytes (${width}x${height} ${format})`, 'memory.byteLength', memory.byteLength);
  }
  if (traits.max > 255) {
    if (pitch % 2 !== 0) throw outOfRange('even pitch', `a ${format} image`, pitch);
    const address = memory.address + BigInt(byteOffset);
    if (address % 2n !== 0n) throw outOfRange('even address', `a ${format} image`, address);
  }
  return {
    memory,
    byteOffset,
    width,
    height,
    format,
    pitch,
    planePitch,
    traits,
    crop: checkCrop(image.crop ?? { x: 0, y: 0, width, height }, image),
    matrix: checkOneOf('matrix', image.matrix ?? (height >= 720 ? 'bt709' : 'bt601'), ['bt601', 'bt709', 'bt2020']),
    range: checkOneOf('range', image.range ?? 'limited', ['limited', 'full']),
  };
}
