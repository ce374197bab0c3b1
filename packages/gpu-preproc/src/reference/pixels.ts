import { bayerRow } from './bayer.js';
import { type Depth, FORMATS, type PixelFormat, traitsOf } from './formats.js';
import type { Crop } from './geometry.js';
import { nv12Row } from './nv12.js';

/** Bytes per pixel in one row of a plane. */
export const BYTES_PER_PIXEL = Object.fromEntries(
  Object.entries(FORMATS).map(([format, { bytes }]) => [format, bytes]),
) as Readonly<Record<PixelFormat, number>>;

/** A picture in host memory: `height` rows of `width` pixels, the rows `pitch` bytes apart. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  /** Distance in bytes from the start of one row to the start of the next; even for 16-bit samples. */
  readonly pitch: number;
  /** Bytes from plane to plane, of `NV12` to the chroma. @defaultValue `pitch · height` */
  readonly planePitch?: number;
  /** The part that is used. @defaultValue the whole picture */
  readonly crop?: Crop;
  /** Of `NV12`. @defaultValue 'bt709' from 720 rows on, else 'bt601' */
  readonly matrix?: 'bt601' | 'bt709' | 'bt2020';
  /** Of `NV12`. @defaultValue 'limited' */
  readonly range?: 'limited' | 'full';
  readonly data: Uint8Array;
}

export type Samples = Uint8Array | Uint16Array;

/**
 * Reads rows of a part of a picture as interleaved RGB: after `seek(y)`, the row's `3 · width` samples lie at `offset` of
 * `data`.
 */
export interface RgbRows<T extends Samples = Samples> {
  readonly width: number;
  readonly height: number;
  readonly data: T;
  offset: number;
  seek(y: number): void;
}

/** The largest value of a picture's samples. */
export const depthOf = (image: Pixels): Depth => traitsOf(image.format).max;

export const cropOf = ({ crop, width, height }: Pick<Pixels, 'crop' | 'width' | 'height'>): Crop =>
  crop ?? { x: 0, y: 0, width, height };

/** Rows that lie in memory as they are wanted. */
function inPlace<T extends Samples>(data: T, pitch: number, part: Crop): RgbRows<T> {
  return {
    width: part.width,
    height: part.height,
    data,
    offset: 0,
    seek(y) {
      this.offset = (part.y + y) * pitch + 3 * part.x;
    },
  };
}

/** Rows that are made: `fill` writes picture row `y` into the scratch row. */
function converted<T extends Samples>(row: T, part: Crop, fill: (y: number, row: T) => void): RgbRows<T> {
  return { width: part.width, height: part.height, data: row, offset: 0, seek: (y) => fill(part.y + y, row) };
}

/** The 16-bit samples of a picture, in place where the memory is aligned. */
function samples16({ data }: Pixels): Uint16Array {
  const { buffer, byteOffset } = data.byteOffset % 2 === 0 ? data : data.slice();
  return new Uint16Array(buffer, byteOffset, data.byteLength >> 1);
}

function deepRows(image: Pixels, part: Crop): RgbRows<Uint16Array> {
  const samples = samples16(image);
  const pitch = image.pitch / 2;
  if (image.format === 'RGB16') return inPlace(samples, pitch, part);
  const row = new Uint16Array(3 * part.width);
  if (image.format !== 'GRAY16') return converted(row, part, (y, to) => bayerRow(image, samples, pitch, part, y, to));
  return converted(row, part, (y, to) => {
    for (let x = 0, from = y * pitch + part.x, i = 0; x < part.width; x++, from++, i += 3) {
      const sample = samples[from] as number;
      to[i] = sample;
      to[i + 1] = sample;
      to[i + 2] = sample;
    }
  });
}

/** Formats of which the three samples of a pixel lie `red`, `green` and `blue` bytes from where its row's pixel lies. */
function gather(image: Pixels, part: Crop): RgbRows<Uint8Array> {
  const { data, pitch, height, format } = image;
  const { kernel, bytes: step, colors, firstByte = 0 } = traitsOf(format);
  const apart = kernel === 'planar8' ? (image.planePitch ?? pitch * height) : kernel === 'gray8' ? 0 : 1;
  const [red, green, blue] = [0, 1, 2].map((color) => firstByte + apart * colors.indexOf(color as 0 | 1 | 2)) as [
    number,
    number,
    number,
  ];
  return converted(new Uint8Array(3 * part.width), part, (y, row) => {
    for (let x = 0, from = y * pitch + step * part.x, to = 0; x < part.width; x++, from += step, to += 3) {
      row[to] = data[from + red] as number;
      row[to + 1] = data[from + green] as number;
      row[to + 2] = data[from + blue] as number;
    }
  });
}

/**
 * RGB8 and RGB16 are read where they lie; every other format through a row of scratch memory. Alpha is dropped, not
 * blended. A mosaic takes its neighbours from outside the part too, where the picture has them.
 */
export function rgbRows(image: Pixels, part: Crop = cropOf(image)): RgbRows<Uint8Array> | RgbRows<Uint16Array> {
  const { data, pitch, format } = image;
  if (depthOf(image) > 255) return deepRows(image, part);
  if (format === 'RGB8') return inPlace(data, pitch, part);
  const row = new Uint8Array(3 * part.width);
  if (format === 'NV12') return converted(row, part, nv12Row(image, part));
  if (traitsOf(format).red) return converted(row, part, (y, to) => bayerRow(image, data, pitch, part, y, to));
  return gather(image, part);
}
