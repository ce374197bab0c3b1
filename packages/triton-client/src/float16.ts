import { numberAt, typeError } from './check.js';

/**
 * FP16 (IEEE 754 binary16) and BF16 (bfloat16) as bit patterns, since Node 20 has no array of either kind. Rounding is
 * to the nearest, ties to even; a NaN stays a NaN with its sign and the upper bits of its payload, quiet.
 */

const INFINITY_BITS = 0x7f80_0000;

/**
 * Numbers as FP16 bit patterns, the data of a `tensor('FP16', …)`. From 65520 on a value becomes Infinity.
 *
 * @throws TypeError when `values` is neither a Float32Array nor an array of numbers
 */
export function toFloat16(values: Float32Array | readonly number[]): Uint16Array {
  const words = wordsOf(values);
  const bits = new Uint16Array(words.length);
  for (let index = 0; index < words.length; index += 1) bits[index] = float16Of(words[index] as number);
  return bits;
}

/** FP16 bit patterns as numbers; exact. */
export function fromFloat16(bits: Uint16Array): Float32Array {
  const floats = new Float32Array(bits.length);
  // A signalling NaN need not survive as a number.
  const words = new Int32Array(floats.buffer);
  for (let index = 0; index < bits.length; index += 1) {
    const half = bits[index] as number;
    const exponent = half & 0x7c00;
    const sign = (half & 0x8000) << 16;
    if (exponent === 0) {
      floats[index] = (half & 0x3ff) * 2 ** -24;
      words[index] = (words[index] as number) | sign;
    } else if (exponent === 0x7c00) words[index] = sign | INFINITY_BITS | ((half & 0x3ff) << 13);
    else words[index] = sign | (((half & 0x7fff) << 13) + 0x3800_0000);
  }
  return floats;
}

/**
 * Numbers as BF16 bit patterns, the data of a `tensor('BF16', …)`. Triton's Python client of before 26.06 cut the lower
 * bits off instead of rounding.
 *
 * @throws TypeError when `values` is neither a Float32Array nor an array of numbers
 */
export function toBfloat16(values: Float32Array | readonly number[]): Uint16Array {
  const words = wordsOf(values);
  const bits = new Uint16Array(words.length);
  for (let index = 0; index < words.length; index += 1) bits[index] = bfloat16Of(words[index] as number);
  return bits;
}

/** BF16 bit patterns as numbers; exact. */
export function fromBfloat16(bits: Uint16Array): Float32Array {
  const floats = new Float32Array(bits.length);
  const words = new Int32Array(floats.buffer);
  for (let index = 0; index < bits.length; index += 1) words[index] = (bits[index] as number) << 16;
  return floats;
}

/** @param word - the bits of a float32 */
function float16Of(word: number): number {
  const sign = (word >>> 16) & 0x8000;
  const magnitude = word & 0x7fff_ffff;
  if (magnitude > INFINITY_BITS) return sign | 0x7e00 | ((magnitude >>> 13) & 0x3ff);
  if (magnitude >= 0x4780_0000) return sign | 0x7c00;
  if (magnitude >= 0x3880_0000) {
    // The rounding carries into the exponent, up to Infinity.
    return sign | ((magnitude - 0x3800_0000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
  }
  const exponent = magnitude >>> 23;
  // Below half of the smallest subnormal.
  if (exponent < 102) return sign;
  const shift = 126 - exponent;
  const significand = (magnitude & 0x7f_ffff) | 0x80_0000;
  return sign | ((significand + (1 << (shift - 1)) - 1 + ((significand >>> shift) & 1)) >>> shift);
}

/** @param word - the bits of a float32 */
function bfloat16Of(word: number): number {
  if ((word & 0x7fff_ffff) > INFINITY_BITS) return ((word >> 16) & 0xffff) | 0x40;
  return ((word + 0x7fff + ((word >>> 16) & 1)) >> 16) & 0xffff;
}

/** Signed, since these stay small integers to V8 where unsigned ones become doubles. */
function wordsOf(values: Float32Array | readonly number[]): Int32Array {
  if (values instanceof Float32Array) return new Int32Array(values.buffer, values.byteOffset, values.length);
  if (!Array.isArray(values)) throw typeError('Float32Array or array of numbers', 'values', values);
  return wordsOfNumbers(values);
}

/**
 * Doubles as float32 bits, rounded to odd: what is cut off leaves a trace in the last bit, so that the second rounding
 * gives what one rounding would have given.
 */
function wordsOfNumbers(values: readonly number[]): Int32Array {
  const floats = Float32Array.from(values, (value, index) => numberAt(value, index));
  const words = wordsOf(floats);
  for (const [index, value] of values.entries()) {
    const float = floats[index] as number;
    if (float === value || Number.isNaN(value)) continue;
    const word = words[index] as number;
    words[index] = (Math.abs(float) > Math.abs(value) ? word - 1 : word) | 1;
  }
  return words;
}
