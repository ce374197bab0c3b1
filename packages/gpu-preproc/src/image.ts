import { checkCrop, checkOneOf, checkPositiveInteger, outOfRange, wrongType } from './arguments.js';
import { PreprocError } from './errors.js';
import { type PixelFormat, traitsOf } from './reference/formats.js';
import type { Crop } from './reference/geometry.js';
import { BYTES_PER_PIXEL, type Pixels } from './reference/pixels.js';

const FORMATS = Object.keys(BYTES_PER_PIXEL) as PixelFormat[];

/**
 * A picture in host memory. Comes from {@link decodeImage}, which gives it memory of its own, or from {@link imageFrom},
 * which borrows the caller's. `close()` (or `[Symbol.dispose]`) lets go of the pixels; closing twice is fine.
 */
export class Image implements Pixels {
  /** Size in pixels. */
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  /** Distance in bytes from the start of one row to the start of the next. */
  readonly pitch: number;
  /** Distance in bytes from plane to plane, of `NV12` to the chroma. */
  readonly planePitch: number;
  /** The part that is used. */
  readonly crop: Crop;
  /** How `NV12` is read. */
  readonly matrix: 'bt601' | 'bt709' | 'bt2020';
  readonly range: 'limited' | 'full';
  /** Which decoder made it; undefined for borrowed memory. */
  readonly decoder: 'sharp' | undefined;
  #data: Uint8Array | undefined;

  /** @internal Checked arguments only. */
  constructor(pixels: Pixels, decoder?: 'sharp') {
    this.width = pixels.width;
    this.height = pixels.height;
    this.format = pixels.format;
    this.pitch = pixels.pitch;
    this.planePitch = pixels.planePitch ?? pixels.pitch * pixels.height;
    this.crop = pixels.crop ?? { x: 0, y: 0, width: pixels.width, height: pixels.height };
    this.matrix = pixels.matrix ?? (pixels.height >= 720 ? 'bt709' : 'bt601');
    this.range = pixels.range ?? 'limited';
    this.decoder = decoder;
    this.#data = pixels.data;
  }

  /** The bytes, from the first pixel on. @throws PreprocError ERR_DISPOSED */
  get data(): Uint8Array {
    if (this.#data === undefined) throw new PreprocError('ERR_DISPOSED', 'The image is closed');
    return this.#data;
  }

  get closed(): boolean {
    return this.#data === undefined;
  }

  close(): void {
    this.#data = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** How the bytes given to {@link imageFrom} are to be read. */
export interface ImageOptions {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  /** Bytes from row to row; even for 16-bit samples. @defaultValue `width` times the bytes of a pixel */
  readonly pitch?: number;
  /** Bytes from plane to plane, of `NV12` to the chroma. @defaultValue `pitch · height` */
  readonly planePitch?: number;
  /** The part that is used. Boxes come back in pixels of the whole picture. @defaultValue the whole picture */
  readonly crop?: Crop;
  /** How `NV12` is read. @defaultValue 'bt709' from 720 rows on, else 'bt601' */
  readonly matrix?: 'bt601' | 'bt709' | 'bt2020';
  /** How `NV12` is read. @defaultValue 'limited' */
  readonly range?: 'limited' | 'full';
}

/** The bytes that a picture takes from its first pixel to its last. */
function extent({ width, height, format, pitch, planePitch }: Required<Omit<Pixels, 'data'>>): number {
  const plane = (rows: number): number => pitch * (rows - 1) + width * BYTES_PER_PIXEL[format];
  if (format === 'NV12') return Math.max(plane(height), planePitch + plane(height / 2));
  return plane(height) + (traitsOf(format).kernel === 'planar8' ? 2 * planePitch : 0);
}

/** What some formats ask for beside a size. */
function checkShape(format: PixelFormat, width: number, height: number, pitch: number): void {
  if (format === 'NV12' && (width % 2 !== 0 || height % 2 !== 0)) {
    throw outOfRange('even sides', 'width and height of NV12', `${width}x${height}`);
  }
  if (traitsOf(format).red !== undefined && Math.min(width, height) < 3) {
    throw outOfRange('at least 3x3 pixels', `width and height of ${format}`, `${width}x${height}`);
  }
  if (traitsOf(format).max > 255 && pitch % 2 !== 0) throw outOfRange(`even number for ${format}`, 'pitch', pitch);
}

/**
 * Takes host memory for a picture, without a copy: the memory stays the caller's and must not change while a call reads
 * it. Alpha is dropped, not blended. 16-bit samples at an odd address are copied by each call that reads them.
 * @throws TypeError, RangeError for a wrong argument, an NV12 picture with odd sides, a mosaic with fewer than 3 rows or
 * columns, or memory too short for the size and pitch
 */
export function imageFrom(memory: Uint8Array | Uint8ClampedArray | ArrayBufferLike, options: ImageOptions): Image {
  const width = checkPositiveInteger('width', options.width);
  const height = checkPositiveInteger('height', options.height);
  const format = checkOneOf('format', options.format, FORMATS);
  const rowBytes = width * BYTES_PER_PIXEL[format];
  const pitch = checkPositiveInteger('pitch', options.pitch ?? rowBytes);
  if (pitch < rowBytes) throw outOfRange(`at least ${rowBytes} (${width} pixels of ${format})`, 'pitch', pitch);
  checkShape(format, width, height, pitch);
  const shape = {
    width,
    height,
    format,
    pitch,
    planePitch: checkPositiveInteger('planePitch', options.planePitch ?? pitch * height),
    crop: checkCrop(options.crop ?? { x: 0, y: 0, width, height }, { width, height }),
    matrix: checkOneOf('matrix', options.matrix ?? (height >= 720 ? 'bt709' : 'bt601'), ['bt601', 'bt709', 'bt2020']),
    range: checkOneOf('range', options.range ?? 'limited', ['limited', 'full']),
  };
  const data = asBytes(memory);
  const needed = extent(shape);
  if (data.byteLength < needed) {
    throw outOfRange(`at least ${needed} bytes (${width}x${height} ${format})`, 'memory.byteLength', data.byteLength);
  }
  return new Image({ ...shape, data });
}

function asBytes(memory: unknown): Uint8Array {
  if (memory instanceof Uint8Array || memory instanceof Uint8ClampedArray) {
    // A plain Uint8Array even for a Buffer: the loops that read pixels then see one kind of array only.
    return new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength);
  }
  if (memory instanceof ArrayBuffer || memory instanceof SharedArrayBuffer) return new Uint8Array(memory);
  throw wrongType('Uint8Array, Uint8ClampedArray, ArrayBuffer or SharedArrayBuffer', 'memory', memory);
}
