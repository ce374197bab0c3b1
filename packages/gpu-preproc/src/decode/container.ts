import { PreprocError } from '../errors.js';

export type Container = 'JPEG' | 'PNG' | 'WebP' | 'TIFF';

const startsWith = (bytes: Uint8Array, signature: readonly number[], at = 0): boolean =>
  bytes.length >= at + signature.length && signature.every((byte, i) => bytes[at + i] === byte);

function find(bytes: Uint8Array): Container | undefined {
  if (startsWith(bytes, [0xff, 0xd8, 0xff])) return 'JPEG';
  if (startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return 'PNG';
  if (startsWith(bytes, [0x52, 0x49, 0x46, 0x46]) && startsWith(bytes, [0x57, 0x45, 0x42, 0x50], 8)) return 'WebP';
  if (startsWith(bytes, [0x49, 0x49, 0x2a, 0x00]) || startsWith(bytes, [0x4d, 0x4d, 0x00, 0x2a])) return 'TIFF';
  return undefined;
}

/**
 * The container by its first bytes. Decided here and not by the decoder, which would also render SVG, PDF or GIF when a
 * server lets strangers upload.
 * @throws PreprocError ERR_IMAGE_UNSUPPORTED
 */
export function containerOf(bytes: Uint8Array): Container {
  const container = find(bytes);
  if (container !== undefined) return container;
  const what = bytes.length === 0 ? 'there are no bytes' : 'its first bytes are of none of these formats';
  throw new PreprocError('ERR_IMAGE_UNSUPPORTED', `Expected a JPEG, PNG, WebP or TIFF image, but ${what}`);
}

/** The error of a picture with more pixels than the limit. */
export function tooLarge(container: Container, limitInputPixels: number, options?: ErrorOptions): PreprocError {
  return new PreprocError(
    'ERR_IMAGE_TOO_LARGE',
    `The ${container} image has more than ${limitInputPixels} pixels, the limit set by limitInputPixels`,
    options,
  );
}
