import { checkBoolean, checkPositiveInteger } from '../arguments.js';

/** Most pixels of a picture that is decoded unless told otherwise: 8192 × 8192. */
export const DEFAULT_LIMIT_INPUT_PIXELS = 8192 * 8192;

/** How encoded pictures are decoded, without gaps. */
export interface DecodeSettings {
  readonly exif: boolean;
  readonly limitInputPixels: number;
}

/** @throws TypeError, RangeError */
export function readDecodeSettings(options: {
  readonly exif?: boolean;
  readonly limitInputPixels?: number;
}): DecodeSettings {
  const limit = options.limitInputPixels ?? DEFAULT_LIMIT_INPUT_PIXELS;
  return {
    exif: checkBoolean('exif', options.exif ?? true),
    limitInputPixels: checkPositiveInteger('limitInputPixels', limit),
  };
}
