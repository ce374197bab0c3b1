import { checkCrop, checkOneOf, checkPositiveInteger, outOfRange } from './arguments.js';
import { type PixelFormat, traitsOf } from './reference/formats.js';
import { BYTES_PER_PIXEL, type Pixels } from './reference/pixels.js';

const FORMATS = Object.keys(BYTES_PER_PIXEL) as PixelFormat[];

/** Where each pixel of a picture lies, and which are used; without gaps. */
export type PixelLayout = Required<Omit<Pixels, 'data'>>;

/** A {@link PixelLayout} as it is given: what is left out has a default. */
export type PixelLayoutOptions = Pick<PixelLayout, 'width' | 'height' | 'format'> & Partial<PixelLayout>;

/** What some formats ask for beside a size. */
function checkShape(format: PixelFormat, width: number, height: number, pitch: number): void {
  if (format === 'NV12' && (width % 2 !== 0 || height % 2 !== 0)) {
    throw outOfRange('even sides', 'an NV12 image', `${width}x${height}`);
  }
  const { red, max } = traitsOf(format);
  if (red !== undefined && Math.min(width, height) < 3) {
    throw outOfRange('at least 3x3 pixels', `a ${format} image's size`, `${width}x${height}`);
  }
  if (max > 255 && pitch % 2 !== 0) throw outOfRange('even pitch', `a ${format} image`, pitch);
}

/**
 * @throws TypeError, RangeError for a wrong value, an NV12 picture with odd sides, a mosaic with fewer than 3 rows or
 * columns, and 16-bit samples in rows of an odd number of bytes
 */
export function checkPixelLayout(options: PixelLayoutOptions): PixelLayout {
  const width = checkPositiveInteger('width', options.width);
  const height = checkPositiveInteger('height', options.height);
  const format = checkOneOf('format', options.format, FORMATS);
  const rowBytes = width * BYTES_PER_PIXEL[format];
  const pitch = checkPositiveInteger('pitch', options.pitch ?? rowBytes);
  if (pitch < rowBytes) throw outOfRange(`at least ${rowBytes} (${width} pixels of ${format})`, 'pitch', pitch);
  checkShape(format, width, height, pitch);
  return {
    width,
    height,
    format,
    pitch,
    planePitch: checkPositiveInteger('planePitch', options.planePitch ?? pitch * height),
    crop: checkCrop(options.crop ?? { x: 0, y: 0, width, height }, { width, height }),
    matrix: checkOneOf('matrix', options.matrix ?? (height >= 720 ? 'bt709' : 'bt601'), ['bt601', 'bt709', 'bt2020']),
    range: checkOneOf('range', options.range ?? 'limited', ['limited', 'full']),
  };
}

/** The bytes that a picture takes from its first pixel to its last. */
export function extent({
  width,
  height,
  format,
  pitch,
  planePitch,
}: Pick<PixelLayout, 'width' | 'height' | 'format' | 'pitch' | 'planePitch'>): number {
  const plane = (rows: number): number => pitch * (rows - 1) + width * BYTES_PER_PIXEL[format];
  if (format === 'NV12') return Math.max(plane(height), planePitch + plane(height / 2));
  return plane(height) + (traitsOf(format).kernel === 'planar8' ? 2 * planePitch : 0);
}

/** @throws RangeError for memory that ends before the picture, which begins `byteOffset` bytes behind its start */
export function checkExtent(layout: PixelLayout, memory: { readonly byteLength: number }, byteOffset = 0): void {
  const needed = byteOffset + extent(layout);
  if (memory.byteLength >= needed) return;
  const { width, height, format } = layout;
  throw outOfRange(`at least ${needed} bytes (${width}x${height} ${format})`, 'memory.byteLength', memory.byteLength);
}
