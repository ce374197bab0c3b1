import { isKind } from './abi.js';
import { bytesOf } from './bytes-of.js';
import { checkInteger, checkOptions, checkPositiveInteger, invalid } from './check.js';
import { type DeviceMemory, deviceMemoryParts } from './memory.js';
import type { MemoryHandle, PinnedHandle } from './native/handles.js';
import { type PinnedMemory, pinnedMemoryOf, pinnedMemoryParts } from './pinned-memory.js';
import type { Resource } from './resource.js';

/** A rectangle of rows that lie `pitch` bytes apart, to be copied to rows of another pitch. */
export interface Copy2d {
  /** On the stream's device, or pinned memory (or a view of its buffer). */
  readonly dst: DeviceMemory | PinnedMemory | ArrayBufferView;
  /** From the start of one row to the start of the next, in bytes; at least `width`. */
  readonly dstPitch: number;
  /** As `dst`. */
  readonly src: DeviceMemory | PinnedMemory | ArrayBufferView;
  /** As `dstPitch`. */
  readonly srcPitch: number;
  /** Bytes of each row. */
  readonly width: number;
  /** Rows. */
  readonly height: number;
}

/** One end of a 2D copy, as the addon needs it. */
export interface Side {
  readonly handle: MemoryHandle | PinnedHandle;
  readonly pinned: boolean;
  readonly byteOffset: number;
  readonly pitch: number;
  readonly resource: Resource;
  /** The address of its first byte, in the one address space of host and devices. */
  readonly address: bigint;
  /** The device's ordinal; undefined for pinned memory. */
  readonly ordinal: number | undefined;
}

/** A 2D copy as it was when it was checked: the caller's object may say something else the next time. */
export interface CheckedCopy2d {
  readonly dst: Side;
  readonly src: Side;
  readonly width: number;
  readonly height: number;
}

/** What the driver takes (CU_DEVICE_ATTRIBUTE_MAX_PITCH). */
const MAX_PITCH = 2 ** 31 - 1;

/** @throws TypeError | RangeError | DisposedError */
export function checkCopy2d(copy: Copy2d): CheckedCopy2d {
  checkOptions(copy);
  const { dst, dstPitch, src, srcPitch, width, height } = copy;
  checkPositiveInteger('width', width);
  checkPositiveInteger('height', height);
  const to = checkSide('dst', dst, dstPitch, width, height);
  const from = checkSide('src', src, srcPitch, width, height);
  if (overlap(to.address, dstPitch, from.address, srcPitch, width, height)) {
    throw new RangeError('Expected dst and src whose rows do not overlap but received overlapping ones');
  }
  return { dst: to, src: from, width, height };
}

function checkSide(name: string, memory: unknown, pitch: unknown, width: number, height: number): Side {
  checkInteger(`${name}Pitch`, pitch, 1, MAX_PITCH);
  if (pitch < width) throw invalid(`${name}Pitch`, `integer of at least width (${width})`, pitch, RangeError);
  const { byteLength, ...side } = open(name, memory);
  const needed = pitch * (height - 1) + width;
  if (!(needed <= byteLength)) {
    throw new RangeError(`Expected at least ${needed} bytes for ${name} but received ${byteLength} bytes`);
  }
  return { ...side, pitch };
}

function open(name: string, memory: unknown): Omit<Side, 'pitch'> & { byteLength: number } {
  if (isKind(memory, 'DeviceMemory')) {
    const { allocation, resource, byteOffset, byteLength } = deviceMemoryParts(name, memory);
    const address = allocation.address + BigInt(byteOffset);
    const { ordinal } = allocation.device;
    return { handle: allocation.handle, pinned: false, byteOffset, resource, address, ordinal, byteLength };
  }
  const expected = 'DeviceMemory, PinnedMemory or a view of pinned memory';
  const view = isKind(memory, 'PinnedMemory') ? undefined : bytesOf(name, memory, expected);
  const parts = view === undefined ? pinnedMemoryParts(name, memory) : pinnedMemoryOf(name, view.buffer);
  if (parts === undefined) throw invalid(name, expected, memory);
  const { byteOffset, byteLength } = view ?? { byteOffset: 0, byteLength: parts.buffer.byteLength };
  const { handle, resource } = parts;
  const address = parts.deviceAddress + BigInt(byteOffset);
  return { handle, pinned: true, byteOffset, resource, address, ordinal: undefined, byteLength };
}

/** Whether rows of the two rectangles share bytes. Columns of one pitched image do not, though their ranges do. */
function overlap(dst: bigint, dstPitch: number, src: bigint, srcPitch: number, width: number, height: number): boolean {
  const end = (address: bigint, pitch: number) => address + BigInt(pitch * (height - 1) + width);
  if (end(dst, dstPitch) <= src || end(src, srcPitch) <= dst) return false;
  if (dstPitch !== srcPitch) return true;
  const distance = Number(dst > src ? dst - src : src - dst) % dstPitch;
  return distance < width || dstPitch - distance < width;
}
