import { checkOneOf, checkPositiveInteger, outOfRange, wrongType } from './arguments.js';
import { PreprocError } from './errors.js';
import { BYTES_PER_PIXEL, type PixelFormat, type Pixels } from './reference/pixels.js';

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
  /** Which decoder made it; undefined for borrowed memory. */
  readonly decoder: 'sharp' | undefined;
  #data: Uint8Array | undefined;

  /** @internal Checked arguments only. */
  constructor(pixels: Pixels, decoder?: 'sharp') {
    this.width = pixels.width;
    this.height = pixels.height;
    this.format = pixels.format;
    this.pitch = pixels.pitch;
    this.decoder = decoder;
    this.#data = pixels.data;
  }

  /** The bytes: `pitch · (height − 1) + width · bytes per pixel` of them or more. @throws PreprocError ERR_DISPOSED */
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
  /** Bytes from row to row. @defaultValue `width` times the bytes of a pixel */
  readonly pitch?: number;
}

/**
 * Takes host memory for a picture, without a copy: the memory stays the caller's and must not change while a call reads
 * it. `RGBA8`'s alpha is dropped, not blended.
 * @throws TypeError, RangeError for a wrong argument, or memory too short for the size and pitch
 */
export function imageFrom(memory: Uint8Array | Uint8ClampedArray | ArrayBufferLike, options: ImageOptions): Image {
  const width = checkPositiveInteger('width', options.width);
  const height = checkPositiveInteger('height', options.height);
  const format = checkOneOf('format', options.format, FORMATS);
  const rowBytes = width * BYTES_PER_PIXEL[format];
  const pitch = checkPositiveInteger('pitch', options.pitch ?? rowBytes);
  if (pitch < rowBytes) throw outOfRange(`at least ${rowBytes} (${width} pixels of ${format})`, 'pitch', pitch);
  const data = asBytes(memory);
  const needed = pitch * (height - 1) + rowBytes;
  if (data.byteLength < needed) {
    throw outOfRange(`at least ${needed} bytes (${width}x${height} ${format})`, 'memory.byteLength', data.byteLength);
  }
  return new Image({ width, height, format, pitch, data });
}

function asBytes(memory: unknown): Uint8Array {
  if (memory instanceof Uint8Array || memory instanceof Uint8ClampedArray) {
    // A plain Uint8Array even for a Buffer: the loops that read pixels then see one kind of array only.
    return new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength);
  }
  if (memory instanceof ArrayBuffer || memory instanceof SharedArrayBuffer) return new Uint8Array(memory);
  throw wrongType('Uint8Array, Uint8ClampedArray, ArrayBuffer or SharedArrayBuffer', 'memory', memory);
}
