import type { Sharp, SharpOptions } from 'sharp';
import { PreprocError } from '../errors.js';
import { Image } from '../image.js';
import { rgbOfCmyk } from './cmyk.js';
import { type Container, tooLarge } from './container.js';
import type { DecodeSettings } from './settings.js';

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

/** Decodes into upright 8-bit RGB in host memory, on libuv's thread pool. @throws PreprocError */
export async function decodeBySharp(
  container: Container,
  bytes: Uint8Array,
  { exif, limitInputPixels }: DecodeSettings,
): Promise<Image> {
  const factory = await loadSharp();
  try {
    // 'error': below it half a file, or a TIFF whose checksums are wrong, gives a picture of full size; above it
    // 'warning' refuses what cameras and scanners really write.
    const input: SharpOptions = { autoOrient: exif, failOn: 'error', limitInputPixels, ignoreIcc: true };
    const { space, depth } = await factory(bytes, input).metadata();
    const opened = factory(bytes, input);
    const { data, info } = await (space === 'cmyk' ? await rgbOfCmyk(factory, opened, depth) : opened)
      .toColourspace('srgb')
      .flatten({ background: '#000' })
      .raw()
      .toBuffer({ resolveWithObject: true });
    if (info.channels !== 3) throw new Error(`decoded to ${info.channels} channels`);
    const { width, height } = info;
    const memory = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return new Image({ width, height, format: 'RGB8', pitch: 3 * width, memory }, 'sharp');
  } catch (cause) {
    throw decodeError(container, limitInputPixels, cause);
  }
}

function decodeError(container: Container, limitInputPixels: number, cause: unknown): PreprocError {
  const lines = cause instanceof Error ? cause.message.split('\n') : [String(cause)];
  const reason = (lines.find((line) => line.trim() !== '') ?? 'no reason given').trim();
  if (/exceeds pixel limit/i.test(reason)) {
    return tooLarge(container, limitInputPixels, { cause });
  }
  return new PreprocError('ERR_IMAGE_CORRUPT', `The ${container} image is truncated or damaged: ${reason}`, { cause });
}
