/** Whether two answers to one request are the same. Pure. */
import type { Datatype } from '@zerohop/cuda-native/tensor';

/**
 * How far floats may lie apart, as a part of the largest magnitude in the output: the server may run a request whose
 * tensors lie elsewhere by another kernel, which sums in another order, or with TF32.
 */
const TOLERANCE: Readonly<Partial<Record<Datatype, number>>> = {
  FP64: 1e-3,
  FP32: 1e-3,
  FP16: 1e-2,
  BF16: 1e-2,
};

export type Comparison =
  | { readonly same: true; readonly how: 'equal bytes' | 'within the tolerance of floats' }
  | { readonly same: false; readonly how: string };

/** Both hold elements of the datatype. */
export function compareBytes(datatype: Datatype, expected: Uint8Array, actual: Uint8Array): Comparison {
  if (expected.byteLength !== actual.byteLength) {
    return { same: false, how: `${actual.byteLength} bytes instead of ${expected.byteLength}` };
  }
  if (Buffer.compare(expected, actual) === 0) return { same: true, how: 'equal bytes' };
  const tolerance = TOLERANCE[datatype];
  if (tolerance === undefined) {
    const at = expected.findIndex((byte, index) => byte !== actual[index]);
    return { same: false, how: `byte ${at} is ${actual[at]} instead of ${expected[at]}` };
  }
  const [wanted, found] = [floatsOf(datatype, expected), floatsOf(datatype, actual)];
  let scale = 0;
  for (const value of wanted) if (Number.isFinite(value)) scale = Math.max(scale, Math.abs(value));
  const at = wanted.findIndex((value, index) => !isNear(value, found[index] as number, tolerance * scale));
  if (at < 0) return { same: true, how: 'within the tolerance of floats' };
  return { same: false, how: `element ${at} is ${found[at]} instead of ${wanted[at]}` };
}

const isNear = (expected: number, actual: number, distance: number) =>
  Object.is(expected, actual) || Math.abs(expected - actual) <= distance;

function floatsOf(datatype: Datatype, bytes: Uint8Array): Float32Array | Float64Array {
  // A copy: the bytes may begin anywhere.
  const { buffer } = new Uint8Array(bytes);
  if (datatype === 'FP64') return new Float64Array(buffer);
  if (datatype === 'FP32') return new Float32Array(buffer);
  return Float32Array.from(new Uint16Array(buffer), datatype === 'BF16' ? fromBfloat16 : fromFloat16);
}

const word = new DataView(new ArrayBuffer(4));

function fromBfloat16(bits: number): number {
  word.setUint16(0, bits);
  word.setUint16(2, 0);
  return word.getFloat32(0);
}

/** IEEE 754 binary16. */
function fromFloat16(bits: number): number {
  const sign = bits >> 15 === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
