import { typeError } from './check.js';
import type { Datatype } from './types/request.js';
import type { InferOutput } from './types/result.js';

type TypedArray = InferOutput['data'];
type TypedArrayConstructor = {
  readonly BYTES_PER_ELEMENT: number;
  readonly name: string;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedArray;
};

/** The typed array of each datatype of fixed size. FP16 and BF16 are handled as bit patterns. */
const ARRAYS: Readonly<Record<Exclude<Datatype, 'BYTES'>, TypedArrayConstructor>> = {
  BOOL: Uint8Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  FP16: Uint16Array,
  BF16: Uint16Array,
  FP32: Float32Array,
  FP64: Float64Array,
};

export function isDatatype(value: unknown): value is Datatype {
  return typeof value === 'string' && (value === 'BYTES' || Object.hasOwn(ARRAYS, value));
}

/** `value` as a datatype, or a TypeError that lists them. */
export function checkDatatype(value: unknown): Datatype {
  if (!isDatatype(value)) throw typeError(`one of ${Object.keys(ARRAYS).join(', ')}, BYTES`, 'datatype', value);
  return value;
}

/** The constructor of the typed array that holds a datatype's elements; undefined for BYTES. */
export function typedArrayOf(datatype: Datatype): TypedArrayConstructor | undefined {
  return datatype === 'BYTES' ? undefined : ARRAYS[datatype];
}

/**
 * The size of one element in bytes, or undefined for BYTES, whose elements have no fixed size.
 *
 * @throws TypeError for a datatype that the protocol does not have
 */
export function elementByteLength(datatype: Datatype): number | undefined {
  return typedArrayOf(checkDatatype(datatype))?.BYTES_PER_ELEMENT;
}

/** `bytes` as the datatype's typed array: a view where the alignment allows one, else a copy. */
export function viewOf(datatype: Exclude<Datatype, 'BYTES'>, bytes: Uint8Array): TypedArray {
  const array = ARRAYS[datatype];
  const size = array.BYTES_PER_ELEMENT;
  const aligned = bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes);
  return new array(aligned.buffer, aligned.byteOffset, aligned.byteLength / size);
}
