import { integer, nonEmpty, rangeError, typeError } from './check.js';
import { checkDatatype, elementByteLength, typedArrayOf } from './datatype.js';
import type { Datatype, RegionTensor, Tensor } from './types.js';

/** What `tensor()` takes for each datatype. */
export interface TensorData {
  BOOL: Uint8Array | readonly boolean[];
  UINT8: Uint8Array;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  /** Bit patterns. */
  FP16: Uint16Array;
  /** Bit patterns. */
  BF16: Uint16Array;
  FP32: Float32Array;
  FP64: Float64Array;
  /** One entry for each element; strings as UTF-8. */
  BYTES: readonly (string | Uint8Array)[];
}

const LENGTH_PREFIX = 4;

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
 * Numeric data is borrowed, not copied: leave it unchanged until `infer` or `prepare` has returned, which copies it
 * into the message. BYTES and boolean arrays are converted at once.
 *
 * @param shape - in elements, the batch dimension included, outermost first
 * @param data - row-major; its length must be the product of `shape`
 * @throws TypeError when the array's kind is not the datatype's
 * @throws RangeError when its length is not the shape's
 */
export function tensor<D extends Datatype>(datatype: D, shape: readonly number[], data: TensorData[D]): Tensor {
  checkDatatype(datatype);
  const bytes = bytesOf(datatype, data);
  const count = elementCount(shape);
  if (data.length !== count) throw rangeError(`${count} elements (shape [${shape.join(', ')}])`, 'data', data.length);
  return { datatype, shape: [...shape], data: bytes };
}

function bytesOf(datatype: Datatype, data: TensorData[Datatype]): Uint8Array {
  const array = typedArrayOf(datatype);
  if (array !== undefined && data instanceof array) {
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  }
  if (Array.isArray(data)) {
    if (array === undefined) return encodeBytes(data);
    if (datatype === 'BOOL') return Uint8Array.from(data, Number);
  }
  const kind: unknown = ArrayBuffer.isView(data) ? data.constructor.name : data;
  throw typeError(array?.name ?? 'array of strings or Uint8Array', `data of ${datatype}`, kind);
}

/** BYTES on the wire: each element is a 4-byte little-endian length and its bytes. */
function encodeBytes(elements: readonly (string | Uint8Array)[]): Uint8Array {
  const chunks = elements.map((element, index) => {
    if (typeof element === 'string') return Buffer.from(element, 'utf8');
    if (element instanceof Uint8Array) return element;
    throw typeError('string or Uint8Array', `data[${index}]`, element);
  });
  const bytes = Buffer.allocUnsafe(chunks.reduce((sum, chunk) => sum + LENGTH_PREFIX + chunk.byteLength, 0));
  let offset = 0;
  for (const chunk of chunks) {
    offset = bytes.writeUInt32LE(chunk.byteLength, offset);
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

/** The elements of a BYTES tensor as views, or undefined when a length runs past the end. */
export function splitBytes(bytes: Uint8Array): Uint8Array[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const elements: Uint8Array[] = [];
  let offset = 0;
  while (offset < bytes.byteLength) {
    if (bytes.byteLength - offset < LENGTH_PREFIX) return undefined;
    const length = view.getUint32(offset, true);
    offset += LENGTH_PREFIX;
    if (bytes.byteLength - offset < length) return undefined;
    elements.push(bytes.subarray(offset, offset + length));
    offset += length;
  }
  return elements;
}

export interface RegionTensorOptions {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** From the start of the region, in bytes. @defaultValue 0 */
  readonly byteOffset?: number;
  /** The tensor's exact size in bytes. @defaultValue shape times element size; required for BYTES */
  readonly byteLength?: number;
}

/**
 * A tensor that lies in a registered region: `name` and numbers travel, the bytes do not.
 *
 * @throws RangeError when `byteLength` is not the size of `shape`, or the tensor is empty, which Triton refuses
 */
export function region(name: string, options: RegionTensorOptions): RegionTensor {
  nonEmpty(name, 'region');
  const datatype = checkDatatype(options.datatype);
  const count = elementCount(options.shape);
  const size = elementByteLength(datatype);
  const byteOffset = integer(options.byteOffset ?? 0, 'byteOffset', 0);
  const exact = size === undefined ? undefined : integer(count * size, 'the size of the shape in bytes', 1);
  const byteLength = integer(options.byteLength ?? exact, 'byteLength', 1);
  if (exact !== undefined && byteLength !== exact) {
    throw rangeError(`${exact} bytes (${datatype} [${options.shape.join(', ')}])`, 'byteLength', byteLength);
  }
  return { region: name, datatype, shape: [...options.shape], byteOffset, byteLength };
}
