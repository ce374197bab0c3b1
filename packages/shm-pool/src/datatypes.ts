/** Element sizes and typed arrays of Triton's datatypes. */
import type { Datatype, TypedArrays } from '@zerohop/cuda-native/tensor';
import { outOfRange, wrongType } from './errors.js';

type TypedArrayConstructor = {
  new (buffer: ArrayBuffer, byteOffset?: number, length?: number): ArrayBufferView & { readonly length: number };
  readonly BYTES_PER_ELEMENT: number;
};

const ARRAYS: Readonly<Record<Datatype, TypedArrayConstructor>> = {
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
  BYTES: Uint8Array,
};

/** Whether a server's word is a datatype that tensors here can have. */
export const isDatatype = (value: unknown): value is Datatype =>
  typeof value === 'string' && Object.hasOwn(ARRAYS, value);

/** Bytes of one element; undefined for BYTES, whose elements are length-prefixed. */
export function elementByteLength(datatype: Datatype): number | undefined {
  return datatype === 'BYTES' ? undefined : ARRAYS[datatype].BYTES_PER_ELEMENT;
}

/** Number of elements of a shape; NaN when it does not fit 2^53. */
export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const dimension of shape) count *= dimension;
  return Number.isSafeInteger(count) ? count : Number.NaN;
}

/** A new typed array of `byteLength` bytes. */
export function newTypedArray<D extends Datatype>(datatype: D, byteLength: number): TypedArrays[D] {
  return new ARRAYS[datatype](new ArrayBuffer(byteLength)) as unknown as TypedArrays[D];
}

/** Checks that `dst` is the datatype's typed array and has the tensor's size. */
export function checkDestination(datatype: Datatype, byteLength: number, dst: unknown): asserts dst is ArrayBufferView {
  const expected = ARRAYS[datatype];
  if (!ArrayBuffer.isView(dst) || !(dst instanceof expected)) throw wrongType('dst', expected.name, dst);
  if (dst.byteLength !== byteLength) throw outOfRange('dst.byteLength', `${byteLength}`, dst.byteLength);
}

/** The bytes of any view, without a copy. */
export function bytesOf(view: ArrayBufferView): Uint8Array {
  return view instanceof Uint8Array ? view : new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}
