/**
 * Inputs for a trial of a model: fixed, harmless for every datatype, and without a period, so that bytes from a wrong
 * place show. Floats are 0, 0.25, 0.5 or 0.75, integers and booleans 0 or 1, which are indices that every table has.
 */
import type { Datatype } from '@zerohop/cuda-native/tensor';
import { newTypedArray } from './datatypes.js';

type NumericDatatype = Exclude<Datatype, 'BYTES'>;

/** Zero, a quarter, a half, three quarters; the 16-bit floats by their bits. */
const QUARTERS: Readonly<Partial<Record<Datatype, readonly number[]>>> = {
  FP16: [0x0000, 0x3400, 0x3800, 0x3a00],
  BF16: [0x0000, 0x3e80, 0x3f00, 0x3f40],
  FP32: [0, 0.25, 0.5, 0.75],
  FP64: [0, 0.25, 0.5, 0.75],
};
const BITS: readonly number[] = [0, 1, 0, 1];
const BIG_BITS: readonly bigint[] = [0n, 1n, 0n, 1n];

/** Two bits for each element, by a hash of its place (MurmurHash3's finaliser). */
function twoBits(place: number): number {
  let hash = Math.imul(place ^ (place >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) & 3;
}

/** The bytes of an input. `seed` keeps the inputs of one request apart. */
export function patternBytes(datatype: NumericDatatype, byteLength: number, seed: number): Uint8Array {
  const elements = newTypedArray(datatype, byteLength);
  const start = Math.imul(seed + 1, 0x9e3779b1);
  if (elements instanceof BigInt64Array || elements instanceof BigUint64Array) {
    for (let index = 0; index < elements.length; index += 1) elements[index] = BIG_BITS[twoBits(start + index)] ?? 0n;
  } else {
    const values = QUARTERS[datatype] ?? BITS;
    for (let index = 0; index < elements.length; index += 1) elements[index] = values[twoBits(start + index)] ?? 0;
  }
  return new Uint8Array(elements.buffer);
}
