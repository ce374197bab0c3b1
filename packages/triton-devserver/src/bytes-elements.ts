/**
 * A BYTES tensor as it lies in messages and regions: before each element its length, four bytes with the low one first.
 * Strings are written as UTF-8.
 */
export function serializeElements(elements: readonly (string | Uint8Array)[]): Uint8Array {
  const chunks = elements.map((element) => (typeof element === 'string' ? Buffer.from(element, 'utf8') : element));
  const bytes = Buffer.allocUnsafe(chunks.reduce((sum, { byteLength }) => sum + 4 + byteLength, 0));
  let offset = 0;
  for (const chunk of chunks) {
    offset = bytes.writeUInt32LE(chunk.byteLength, offset);
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}
