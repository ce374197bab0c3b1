import type { ExifOrientation } from '../reference/orient.js';

const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;
const APP1 = 0xe1;
const ORIENTATION = 0x0112;
// The types of TIFF 6.0.
const BYTE = 1;
const ASCII = 2;
const SHORT = 3;
const LONG = 4;
const RATIONAL = 5;
const SBYTE = 6;
const UNDEFINED = 7;
const SSHORT = 8;
const SLONG = 9;
const SRATIONAL = 10;
const FLOAT = 11;
const DOUBLE = 12;
/** More values than these are not read as numbers. */
const MOST_VALUES = 9;

const isParameterless = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);

const u8 = (bytes: Uint8Array, at: number): number => bytes[at] as number;

function u16(bytes: Uint8Array, at: number, little: boolean): number {
  return little ? u8(bytes, at) | (u8(bytes, at + 1) << 8) : (u8(bytes, at) << 8) | u8(bytes, at + 1);
}

function u32(bytes: Uint8Array, at: number, little: boolean): number {
  return u16(bytes, little ? at + 2 : at, little) * 65536 + u16(bytes, little ? at : at + 2, little);
}

/**
 * The orientation (tag 0x0112 of IFD 0 in the first Exif segment before the scan) of a JPEG, from 1 (upright) to 8, as in
 * the Exif standard; 1 where there is none, where it is no number from 1 to 8 and where the segment is damaged. For
 * nvJPEG, which does not look at it: the same answer as what sharp's `autoOrient` turns by, so beside SHORT, as the
 * standard has it, also BYTE, LONG (its low 16 bits), their signed forms and the numerator of a RATIONAL; the first of at
 * most nine values; the first readable entry if there are several. Does not allocate, never throws and never reads past
 * the end; the time is linear in the bytes before the scan.
 */
export function exifOrientation(jpeg: Uint8Array): ExifOrientation {
  if (jpeg.length < 2 || u8(jpeg, 0) !== 0xff || u8(jpeg, 1) !== SOI) return 1;
  let at = 2;
  while (at < jpeg.length) {
    // As decoders do: what stands between segments is skipped, and any number of 0xFF may fill before a marker.
    while (at < jpeg.length && u8(jpeg, at) !== 0xff) at += 1;
    while (at < jpeg.length && u8(jpeg, at) === 0xff) at += 1;
    if (at >= jpeg.length) return 1;
    const marker = u8(jpeg, at);
    at += 1;
    if (marker === 0 || isParameterless(marker)) continue;
    if (marker === SOS || marker === EOI || marker === SOI || at + 2 > jpeg.length) return 1;
    const length = u16(jpeg, at, false);
    if (length < 2 || at + length > jpeg.length) return 1;
    if (marker === APP1 && isExif(jpeg, at + 2, length - 2)) return orientationOf(jpeg, at + 8, at + length);
    at += length;
  }
  return 1;
}

/** By "Exif" alone: a segment that goes on wrongly is still the one that decoders take, and find nothing in. */
function isExif(bytes: Uint8Array, at: number, length: number): boolean {
  return length > 4 && u16(bytes, at, false) === 0x4578 && u16(bytes, at + 2, false) === 0x6966;
}

/** Of the TIFF structure in [start, end), which "Exif", 0, 0 precedes. */
function orientationOf(bytes: Uint8Array, start: number, end: number): ExifOrientation {
  if (end - start < 8 || u16(bytes, start - 2, false) !== 0) return 1;
  const order = u16(bytes, start, false);
  if (order !== 0x4949 && order !== 0x4d4d) return 1;
  const little = order === 0x4949;
  if (u16(bytes, start + 2, little) !== 42) return 1;
  const directory = start + u32(bytes, start + 4, little);
  if (directory + 2 > end) return 1;
  const entries = Math.min(u16(bytes, directory, little), Math.floor((end - directory - 2) / 12));
  for (let i = 0; i < entries; i += 1) {
    const entry = directory + 2 + 12 * i;
    if (u16(bytes, entry, little) !== ORIENTATION) continue;
    const value = firstValue(bytes, entry, start, end, little);
    // An entry whose value lies outside does not count; a later one may.
    if (value !== undefined) return value >= 1 && value <= 8 ? (value as ExifOrientation) : 1;
  }
  return 1;
}

/** The first number of an entry, 0 if it is of another kind, undefined if the entry can't be read. */
function firstValue(bytes: Uint8Array, entry: number, start: number, end: number, little: boolean): number | undefined {
  const type = u16(bytes, entry + 2, little);
  const count = u32(bytes, entry + 4, little);
  const size = sizeOf(type) * count;
  if (size === 0) return undefined;
  const at = size > 4 ? start + u32(bytes, entry + 8, little) : entry + 8;
  if (at + size > end) return undefined;
  if (count > MOST_VALUES) return 0;
  switch (type) {
    case BYTE:
    case SBYTE:
      return u8(bytes, at);
    case SHORT:
    case SSHORT:
      return u16(bytes, at, little);
    case LONG:
    case SLONG:
      return u32(bytes, at, little) % 65536;
    case RATIONAL:
    case SRATIONAL:
      return u32(bytes, at, little);
    default:
      return 0;
  }
}

/** Bytes of one value of a TIFF type; 0 for a type that there is not. */
function sizeOf(type: number): number {
  switch (type) {
    case BYTE:
    case ASCII:
    case SBYTE:
    case UNDEFINED:
      return 1;
    case SHORT:
    case SSHORT:
      return 2;
    case LONG:
    case SLONG:
    case FLOAT:
      return 4;
    case RATIONAL:
    case SRATIONAL:
    case DOUBLE:
      return 8;
    default:
      return 0;
  }
}
