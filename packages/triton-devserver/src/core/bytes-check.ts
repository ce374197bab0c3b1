import type { Personality } from '../personality.js';
import { invalid } from '../status.js';

/** What the texts name. */
export interface CheckedBytes {
  /** What stands before each of them. */
  readonly prefix: string;
  readonly input: string;
  readonly model: string;
}

/**
 * Counts the elements of BYTES as the core does before it queues a request; what it lets pass the model finds when it reads
 * them.
 *
 * @throws ServerError when there are more or fewer than `expected`, or a length is cut off
 */
export function checkElements(
  bytes: Uint8Array,
  expected: number,
  names: CheckedBytes,
  personality: Personality,
): void {
  if (personality.countsAllElements) countAll(bytes, expected, names);
  else countSome(bytes, expected, names);
}

/** As 2.51: no further than one too many. */
function countSome(bytes: Uint8Array, expected: number, { prefix, input, model }: CheckedBytes): void {
  const where = `for inference input '${input}' for model '${model}'`;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let seen = 0;
  let offset = 0;
  while (bytes.byteLength - offset >= 4) {
    const length = view.getUint32(offset, true);
    offset += 4;
    seen += 1;
    if (seen > expected) {
      throw invalid(`${prefix}unexpected number of string elements ${seen} ${where}, expecting ${expected}`);
    }
    offset += length;
  }
  // An element that is cut off is found when the model reads it.
  if (offset < bytes.byteLength) {
    throw invalid(
      `${prefix}incomplete string length indicator ${where}, expecting 4 bytes but only ${bytes.byteLength - offset} bytes available. Please make sure the string length indicator is in one buffer.`,
    );
  }
  if (seen < expected) throw invalid(`${prefix}expected ${expected} string elements ${where}, got ${seen}`);
}

/** As 2.48. */
function countAll(bytes: Uint8Array, expected: number, { prefix, input }: CheckedBytes): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let seen = 0;
  for (let offset = 0; offset < bytes.byteLength; seen += 1) {
    if (bytes.byteLength - offset < 4) {
      throw invalid(`${prefix}element byte size indicator exceeds the end of the buffer.`);
    }
    offset += 4 + view.getUint32(offset, true);
  }
  if (seen !== expected) {
    throw invalid(`${prefix}expected ${expected} string elements for inference input '${input}', got ${seen}`);
  }
}
