import { isKind } from './abi.js';
import { bytesOf } from './bytes-of.js';
import { pinnedMemoryParts } from './pinned-memory.js';

/** The bytes of a host buffer or of pinned memory. */
export function hostBytes(name: string, value: unknown): Uint8Array {
  if (isKind(value, 'PinnedMemory')) return new Uint8Array(pinnedMemoryParts(name, value).buffer);
  return bytesOf(name, value, 'ArrayBufferView or PinnedMemory');
}

export function checkSameLength(dst: { byteLength: number }, src: { byteLength: number }): void {
  if (dst.byteLength !== src.byteLength) {
    throw new RangeError(
      `Expected src and dst of equal byteLength but received ${src.byteLength} and ${dst.byteLength} bytes`,
    );
  }
}

/** Ordinals are of the process, so they also tell devices of two copies of this package apart. */
export function checkSameDevice(
  name: string,
  mine: { readonly ordinal: number },
  other: { readonly ordinal: number },
): void {
  if (mine.ordinal !== other.ordinal) {
    throw new RangeError(`Expected ${name} on device ${mine.ordinal} but received one on device ${other.ordinal}`);
  }
}
