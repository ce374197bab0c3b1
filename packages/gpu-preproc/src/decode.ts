import type { Sharp, SharpOptions } from 'sharp';
import { checkBoolean, checkPositiveInteger, wrongType } from './arguments.js';
import { rgbOfCmyk } from './cmyk.js';
import { PreprocError } from './errors.js';
import { Image } from './image.js';

/** Most pixels of a picture that is decoded unless told otherwise: 8192 × 8192. */
export const DEFAULT_LIMIT_INPUT_PIXELS = 8192 * 8192;

export interface DecodeOptions {
  /** Turns the picture upright by its EXIF orientation. @defaultValue true */
  readonly exif?: boolean;
  /** A picture with more pixels is refused before it is decoded. @defaultValue 67108864 (8192 × 8192) */
  readonly limitInputPixels?: number;
}

type SharpFactory = (input: Uint8Array | Uint16Array, options: SharpOptions) => Sharp;

let sharp: Promise<SharpFactory> | undefined;

/** Loads the optional decoder once; a failed attempt is not kept, so that an install while running is found. */
function loadSharp(): Promise<SharpFactory> {
  sharp ??= import('sharp').then(
    (module) => module.default,
    (cause: unknown) => {
      sharp = undefined;
      throw new PreprocError(
        'ERR_DECODER_UNAVAILABLE',
        'Decoding images on the CPU needs the package sharp, which could not be loaded: run "npm i sharp"',
        { cause },
      );
    },
  );
  return sharp;
}

type Container = 'JPEG' | 'PNG' | 'WebP' | 'TIFF';

const startsWith = (bytes: Uint8Array, signature: readonly number[], at = 0): boolean =>
  bytes.length >= at + signature.length && signature.every((byte, i) => bytes[at + i] === byte);

/**
 * The container by its first bytes, or undefined. Decided here and not by the decoder, which would also render SVG,
 * PDF or GIF when a server lets strangers upload.
 */
function containerOf(bytes: Uint8Array): Container | undefined {
  if (startsWith(bytes, [0xff, 0xd8, 0xff])) return 'JPEG';
  if (startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return 'PNG';
  if (startsWith(bytes, [0x52, 0x49, 0x46, 0x46]) && startsWith(bytes, [0x57, 0x45, 0x42, 0x50], 8)) return 'WebP';
  if (startsWith(bytes, [0x49, 0x49, 0x2a, 0x00]) || startsWith(bytes, [0x4d, 0x4d, 0x00, 0x2a])) return 'TIFF';
  return undefined;
}

/**
 * Decodes a JPEG, PNG, WebP or TIFF into upright 8-bit RGB in memory of its own. Grey, palette, CMYK and 16-bit pictures
 * become RGB; transparency is blended over black; of an animation or of several pages the first is taken. Embedded
 * colour profiles are ignored and CMYK is converted by (1 − ink)·(1 − black), as OpenCV, Pillow and (for the profiles)
 * nvJPEG do: models were trained on such numbers. Tests compare with Pillow: within 2 levels.
 *
 * What the decoder notices is refused; a JPEG has no checksum, so changed bytes inside one may go unnoticed. The work
 * runs on libuv's thread pool (4 threads unless `UV_THREADPOOL_SIZE` says otherwise), not on the JS thread. The bytes must
 * not change until the promise settles.
 * @throws PreprocError ERR_DECODER_UNAVAILABLE, ERR_IMAGE_UNSUPPORTED, ERR_IMAGE_CORRUPT, ERR_IMAGE_TOO_LARGE
 */
export async function decodeImage(bytes: Uint8Array, options: DecodeOptions = {}): Promise<Image> {
  if (!(bytes instanceof Uint8Array)) throw wrongType('Uint8Array', 'bytes', bytes);
  const autoOrient = checkBoolean('exif', options.exif ?? true);
  const limitInputPixels = checkPositiveInteger(
    'limitInputPixels',
    options.limitInputPixels ?? DEFAULT_LIMIT_INPUT_PIXELS,
  );
  const container = containerOf(bytes);
  if (container === undefined) {
    const what = bytes.length === 0 ? 'there are no bytes' : 'its first bytes are of none of these formats';
    throw new PreprocError('ERR_IMAGE_UNSUPPORTED', `Expected a JPEG, PNG, WebP or TIFF image, but ${what}`);
  }
  const factory = await loadSharp();
  try {
    // 'error': below it half a file, or a TIFF whose checksums are wrong, gives a picture of full size; above it
    // 'warning' refuses what cameras and scanners really write.
    const input: SharpOptions = { autoOrient, failOn: 'error', limitInputPixels, ignoreIcc: true };
    const { space, depth } = await factory(bytes, input).metadata();
    const opened = factory(bytes, input);
    const { data, info } = await (space === 'cmyk' ? await rgbOfCmyk(factory, opened, depth) : opened)
      .toColourspace('srgb')
      .flatten({ background: '#000' })
      .raw()
      .toBuffer({ resolveWithObject: true });
    if (info.channels !== 3) throw new Error(`decoded to ${info.channels} channels`);
    const { width, height } = info;
    const pixels = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return new Image({ width, height, format: 'RGB8', pitch: 3 * width, data: pixels }, 'sharp');
  } catch (cause) {
    throw decodeError(container, limitInputPixels, cause);
  }
}

function decodeError(container: Container, limitInputPixels: number, cause: unknown): PreprocError {
  const lines = cause instanceof Error ? cause.message.split('\n') : [String(cause)];
  const reason = (lines.find((line) => line.trim() !== '') ?? 'no reason given').trim();
  if (/exceeds pixel limit/i.test(reason)) {
    return new PreprocError(
      'ERR_IMAGE_TOO_LARGE',
      `The ${container} image has more than ${limitInputPixels} pixels, the limit set by limitInputPixels`,
      { cause },
    );
  }
  return new PreprocError('ERR_IMAGE_CORRUPT', `The ${container} image is truncated or damaged: ${reason}`, { cause });
}
