import type { Personality } from '../personality.js';
import { invalid, type ServerError } from '../status.js';

/** The arithmetic of a real server, whose offsets and sizes are unsigned 64-bit numbers that wrap around. */

const MAX = 2n ** 64n - 1n;
const PAGE = 4096n;
/** A process has 47 bits of addresses on x86-64. */
const ADDRESS_SPACE = 2n ** 47n;
/** The most that a file in /dev/shm can have (s_maxbytes of Linux). */
const LARGEST_FILE = 2n ** 63n - 1n;

export const unsigned = (value: bigint) => BigInt.asUintN(64, value);
export const pages = (byteSize: bigint) => (byteSize + PAGE - 1n) / PAGE;
export const wholePages = (byteSize: bigint) => pages(byteSize) * PAGE;

/** Whether a region lies in its object as the server checks it: a sum that wraps passes. */
export function fits(offset: bigint, byteSize: bigint, objectSize: bigint): boolean {
  return unsigned(offset + byteSize) <= objectSize;
}

/** What mmap(2) says of an extent that passed the check; undefined when it maps it. */
export function mappingError(offset: bigint, byteSize: bigint): string | undefined {
  if (offset % PAGE !== 0n || byteSize === 0n) return 'Invalid argument';
  if (wholePages(byteSize) > ADDRESS_SPACE) return 'Cannot allocate memory';
  if (offset + byteSize > LARGEST_FILE) return 'Value too large for defined data type';
  return undefined;
}

/**
 * Whether a request may use a part of a region (SharedMemoryManager::GetMemoryInfo). `size` is the region's, `registered`
 * the offset it was registered with, which the server adds to the region's end although that lies in the object, not in
 * the mapping. The sum wraps, so that a size of -1 from offset 2 on is accepted (seen on 2.51); later
 * servers have a text for that.
 */
export function useError(
  name: string,
  registered: bigint,
  size: bigint,
  offset: bigint,
  byteSize: bigint,
  personality: Personality,
): ServerError | undefined {
  const end = unsigned(registered + (size > 0n ? size - 1n : 0n));
  if (offset > end) return invalid(`Invalid offset for shared memory region: '${name}'`);
  if (personality.checksKeys && byteSize > MAX - offset) {
    return invalid(
      `Integer overflow detected: byte_size (${byteSize}) + offset (${offset}) exceeds maximum value (${MAX}) for region '${name}'`,
    );
  }
  if (unsigned(offset + byteSize - 1n) > end) {
    return invalid(`Invalid offset + byte size for shared memory region: '${name}'`);
  }
  return undefined;
}
