import { integer, rangeError, typeError } from './check.js';

/** BYTES on the wire and in regions: each element is a 4-byte little-endian length and its bytes. */

const LENGTH_PREFIX = 4;

/**
 * The elements of a BYTES tensor as Triton reads them, for a region; `tensor('BYTES', …)` does it for a message.
 *
 * @param elements - strings as UTF-8, in which a lone surrogate becomes U+FFFD
 * @throws TypeError for an element that is neither a string nor a Uint8Array
 */
export function encodeBytes(elements: readonly (string | Uint8Array)[]): Uint8Array {
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

/**
 * The first `count` elements of a BYTES tensor as views of `bytes`. What follows them is ignored: in a region it is what
 * was there before.
 *
 * @param count - the product of the tensor's shape
 * @throws RangeError when a length runs past the end, or fewer elements are there
 */
export function decodeBytes(bytes: Uint8Array, count: number): Uint8Array[] {
  integer(count, 'count', 0);
  const { elements } = read(bytes, count);
  if (elements.length < count) throw rangeError(`${count} BYTES elements`, 'bytes', elements.length);
  return elements;
}

/** All elements of a BYTES tensor as views, or undefined when a length runs past the end. */
export function splitBytes(bytes: Uint8Array): Uint8Array[] | undefined {
  const { elements, end } = read(bytes, Number.POSITIVE_INFINITY);
  return end === bytes.byteLength ? elements : undefined;
}

function read(bytes: Uint8Array, count: number): { elements: Uint8Array[]; end: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const elements: Uint8Array[] = [];
  let offset = 0;
  while (elements.length < count && bytes.byteLength - offset >= LENGTH_PREFIX) {
    const start = offset + LENGTH_PREFIX;
    const length = view.getUint32(offset, true);
    if (bytes.byteLength - start < length) break;
    offset = start + length;
    elements.push(bytes.subarray(start, offset));
  }
  return { elements, end: offset };
}
