/** The protocol's datatypes. */
export type Datatype =
  | 'BOOL'
  | 'UINT8'
  | 'UINT16'
  | 'UINT32'
  | 'UINT64'
  | 'INT8'
  | 'INT16'
  | 'INT32'
  | 'INT64'
  | 'FP16'
  | 'BF16'
  | 'FP32'
  | 'FP64'
  | 'BYTES';

/** What holds a tensor's elements in JavaScript. FP16 and BF16 are bit patterns; each BYTES element is its bytes. */
export type Elements =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Float32Array
  | Float64Array;

interface ElementsConstructor {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): Elements;
}

const ARRAYS: Readonly<Record<Exclude<Datatype, 'BYTES'>, ElementsConstructor>> = {
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

export function isDatatype(name: string): name is Datatype {
  return name === 'BYTES' || Object.hasOwn(ARRAYS, name);
}

/** The size of one element in bytes; undefined for BYTES. */
export function elementByteLength(datatype: Datatype): number | undefined {
  return datatype === 'BYTES' ? undefined : ARRAYS[datatype].BYTES_PER_ELEMENT;
}

/** `bytes` as the datatype's array: a view where the alignment allows one, else a copy. */
export function viewOf(datatype: Exclude<Datatype, 'BYTES'>, bytes: Uint8Array): Elements {
  const array = ARRAYS[datatype];
  const aligned = bytes.byteOffset % array.BYTES_PER_ELEMENT === 0 ? bytes : new Uint8Array(bytes);
  return new array(aligned.buffer, aligned.byteOffset, aligned.byteLength / array.BYTES_PER_ELEMENT);
}

/** The protocol's name for a type of a model's configuration, such as `BYTES` for `TYPE_STRING`. */
export function datatypeOfConfig(type: string): Datatype {
  return type === 'TYPE_STRING' ? 'BYTES' : (type.slice('TYPE_'.length) as Datatype);
}

/** The number of elements of a shape without -1. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, dimension) => product * dimension, 1);
}
