import { invalid } from './check.js';

/**
 * How pixels lie in memory: `RGB8` and `BGR8` with the three bytes of a pixel side by side, `RGB8P` and `BGR8P` in three
 * planes, one after the other, `GRAY8` one byte a pixel (the luminance of a colour picture).
 */
export type PixelFormat = 'RGB8' | 'BGR8' | 'RGB8P' | 'BGR8P' | 'GRAY8';

/** nvJPEG's numbers, of nvjpegOutputFormat_t and nvjpegInputFormat_t. */
const FORMATS: Record<PixelFormat, number> = { RGB8: 5, BGR8: 6, RGB8P: 3, BGR8P: 4, GRAY8: 2 };

/** How much colour a JPEG keeps: `4:2:0` a quarter of the samples, `4:2:2` half, `4:4:4` all, `gray` none. */
export type JpegSubsampling = '4:4:4' | '4:2:2' | '4:2:0' | 'gray';

/** nvJPEG's numbers, of nvjpegChromaSubsampling_t. */
const SUBSAMPLINGS: Record<JpegSubsampling, number> = { '4:4:4': 0, '4:2:2': 1, '4:2:0': 2, gray: 6 };

function pick<Name extends string>(what: string, numbers: Record<Name, number>, value: unknown): number {
  if (typeof value === 'string' && Object.hasOwn(numbers, value)) return numbers[value as Name];
  const expected = `one of ${Object.keys(numbers).join(', ')}`;
  throw invalid(what, expected, value, typeof value === 'string' ? RangeError : TypeError);
}

export function formatNumber(value: unknown): number {
  return pick('format', FORMATS, value);
}

export function subsamplingNumber(value: unknown): number {
  return pick('subsampling', SUBSAMPLINGS, value);
}
