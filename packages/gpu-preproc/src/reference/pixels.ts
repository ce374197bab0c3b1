/** 8-bit interleaved pixel formats; the letters give the order of the bytes of one pixel. */
export type PixelFormat = 'RGB8' | 'BGR8' | 'RGBA8' | 'GRAY8';

/** Bytes per pixel. */
export const BYTES_PER_PIXEL: Readonly<Record<PixelFormat, number>> = { RGB8: 3, BGR8: 3, RGBA8: 4, GRAY8: 1 };

/** A picture in host memory: `height` rows of `width` pixels, the rows `pitch` bytes apart. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  /** Distance in bytes from the start of one row to the start of the next. */
  readonly pitch: number;
  readonly data: Uint8Array;
}

/** Reads rows of a picture as interleaved RGB. After `seek(y)`, the row's `3 · width` bytes lie at `offset` of `data`. */
export interface RgbRows {
  readonly data: Uint8Array;
  offset: number;
  seek(y: number): void;
}

/** RGB8 is read where it lies; every other format through a row of scratch memory. Alpha is dropped, not blended. */
export function rgbRows(image: Pixels): RgbRows {
  const { data, pitch, width, format } = image;
  if (format === 'RGB8') {
    return {
      data,
      offset: 0,
      seek(y) {
        this.offset = y * pitch;
      },
    };
  }
  const step = BYTES_PER_PIXEL[format];
  const [red, green, blue] = { BGR8: [2, 1, 0], RGBA8: [0, 1, 2], GRAY8: [0, 0, 0] }[format] as [
    number,
    number,
    number,
  ];
  const row = new Uint8Array(3 * width);
  return {
    data: row,
    offset: 0,
    seek(y) {
      for (let x = 0, from = y * pitch, to = 0; x < width; x++, from += step, to += 3) {
        row[to] = data[from + red] as number;
        row[to + 1] = data[from + green] as number;
        row[to + 2] = data[from + blue] as number;
      }
    },
  };
}
