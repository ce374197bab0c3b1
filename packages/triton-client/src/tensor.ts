import { encodeBytes } from './bytes-elements.js';
import { fieldsOf, integer, object, onlyFields, rangeError, typeError } from './check.js';
import { checkDatatype, elementByteLength, typedArrayOf } from './datatype.js';
import { arrayOf } from './element-arrays.js';
import { toBfloat16, toFloat16 } from './float16.js';
import type { Datatype, RegionTensor, Tensor } from './types/request.js';
import { checkByteLength, checkByteOffset, checkRegionName } from './unsafe.js';

/** What `tensor()` takes for each datatype. Ordinary arrays are checked element by element and converted. */
export interface TensorData {
  BOOL: Uint8Array | readonly boolean[];
  UINT8: Uint8Array | readonly number[];
  UINT16: Uint16Array | readonly number[];
  UINT32: Uint32Array | readonly number[];
  UINT64: BigUint64Array | readonly (bigint | number)[];
  INT8: Int8Array | readonly number[];
  INT16: Int16Array | readonly number[];
  INT32: Int32Array | readonly number[];
  INT64: BigInt64Array | readonly (bigint | number)[];
  /** A Uint16Array holds bit patterns, the others numbers. */
  FP16: Uint16Array | Float32Array | readonly number[];
  /** A Uint16Array holds bit patterns, the others numbers. */
  BF16: Uint16Array | Float32Array | readonly number[];
  FP32: Float32Array | readonly number[];
  FP64: Float64Array | readonly number[];
  /** One entry for each element; strings as UTF-8, in which a lone surrogate becomes U+FFFD. */
  BYTES: readonly (string | Uint8Array)[];
}

/** The product of a shape's dimensions; each is a whole number of at least 0. */
export function elementCount(shape: readonly number[]): number {
  if (!Array.isArray(shape)) throw typeError('array of integers', 'shape', shape);
  let count = 1;
  for (const [index, dimension] of shape.entries()) count *= integer(dimension, `shape[${index}]`, 0);
  return integer(count, 'the number of elements', 0);
}

/**
 * A tensor whose bytes travel in the message.
 *
 * A typed array is borrowed, not copied: leave it unchanged until `infer` or `prepare` has returned. Ordinary arrays,
 * and a Float32Array for FP16 or BF16, are converted at once.
 *
 * @param shape - in elements, the batch dimension included, outermost first
 * @param data - row-major; its length must be the product of `shape`
 * @throws TypeError when the array's kind, or an element's, is not the datatype's
 * @throws RangeError when its length is not the shape's, or the datatype does not hold an element
 */
export function tensor<D extends Datatype>(datatype: D, shape: readonly number[], data: TensorData[D]): Tensor<D> {
  checkDatatype(datatype);
  const bytes = bytesOf(datatype, data);
  const count = elementCount(shape);
  if (data.length !== count) throw rangeError(`${count} elements (shape [${shape.join(', ')}])`, 'data', data.length);
  return { datatype, shape: [...shape], data: bytes };
}

function bytesOf(datatype: Datatype, data: TensorData[Datatype]): Uint8Array {
  const array = typedArrayOf(datatype);
  if (datatype === 'BYTES' || array === undefined) {
    if (Array.isArray(data)) return encodeBytes(data);
  } else {
    if (data instanceof array) return bytesIn(data);
    if (Array.isArray(data)) return bytesIn(arrayOf(datatype, data));
    if (data instanceof Float32Array && datatype === 'FP16') return bytesIn(toFloat16(data));
    if (data instanceof Float32Array && datatype === 'BF16') return bytesIn(toBfloat16(data));
  }
  const kind: unknown = ArrayBuffer.isView(data) ? data.constructor.name : data;
  throw typeError(array?.name ?? 'array of strings or Uint8Array', `data of ${datatype}`, kind);
}

const bytesIn = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

export interface RegionTensorOptions<D extends Datatype = Datatype> {
  readonly datatype: D;
  readonly shape: readonly number[];
  /** From the start of the region, in bytes. @defaultValue 0 */
  readonly byteOffset?: number;
  /** The tensor's exact size in bytes. @defaultValue shape times element size; required for BYTES */
  readonly byteLength?: number;
}

const REGION_FIELDS = fieldsOf<RegionTensorOptions>({
  datatype: true,
  shape: true,
  byteOffset: true,
  byteLength: true,
});

/**
 * A tensor that lies in a registered region: `name` and numbers travel, the bytes do not.
 *
 * @throws RangeError when `byteLength` is not the size of `shape`, or the tensor is empty, which Triton refuses
 */
export function region<D extends Datatype>(name: string, options: RegionTensorOptions<D>): RegionTensor<D> {
  checkRegionName(name, 'region');
  const { datatype } = object(options, 'options');
  onlyFields(options, 'options', REGION_FIELDS);
  checkDatatype(datatype);
  const count = elementCount(options.shape);
  const size = elementByteLength(datatype);
  const byteOffset = checkByteOffset(options.byteOffset ?? 0, 'byteOffset');
  const exact = size === undefined ? undefined : integer(count * size, 'the size of the shape in bytes', 1);
  const byteLength = checkByteLength(options.byteLength ?? exact, 'byteLength');
  if (exact !== undefined && byteLength !== exact) {
    throw rangeError(`${exact} bytes (${datatype} [${options.shape.join(', ')}])`, 'byteLength', byteLength);
  }
  return { region: name, datatype, shape: [...options.shape], byteOffset, byteLength };
}
