import { type Copy2d, checkCopy2d, type Side } from './copy2d.js';
import type { Device } from './device.js';
import { type DeviceMemory, type DeviceMemoryParts, deviceMemoryParts } from './memory.js';
import { binding } from './native/load.js';
import { type PinnedMemory, pinnedMemoryOf } from './pinned-memory.js';
import { checkSameDevice, checkSameLength, hostBytes } from './stream-checks.js';
import type { StreamParts } from './stream-parts.js';
import { checkNoCapture } from './work-queue.js';

/** The copies of `Stream`, whose methods say what they do. */

/** @throws TypeError | RangeError | DisposedError unless it is memory of this device. */
export function partsOnDevice(name: string, device: Device, memory: DeviceMemory): DeviceMemoryParts {
  const parts = deviceMemoryParts(name, memory);
  checkSameDevice(name, device, parts.allocation.device);
  return parts;
}

export function copyToDevice(
  { handle: stream, device, work }: StreamParts,
  dst: DeviceMemory,
  src: ArrayBufferView | PinnedMemory,
): Promise<void> {
  const to = partsOnDevice('dst', device, dst);
  const from = hostBytes('src', src);
  checkSameLength(to, from);
  const pinned = pinnedMemoryOf('src', from.buffer);
  const { handle } = to.allocation;
  if (pinned !== undefined) {
    work.use(to.resource, pinned.resource);
    binding().streamCopyToDevice(stream, handle, to.byteOffset, pinned.handle, from.byteOffset, from.byteLength);
    return Promise.resolve();
  }
  checkNoCapture();
  const { byteLength } = from;
  return work.stageBehind([to.resource], from.buffer, () => {
    checkStillThere('src', from, byteLength);
    return binding().streamUpload(stream, handle, to.byteOffset, from);
  });
}

/** A buffer that was transferred after the call has no bytes any more. */
function checkStillThere(name: string, bytes: Uint8Array, byteLength: number): void {
  if (bytes.byteLength === byteLength) return;
  throw new TypeError(`Expected ${name} to stay until the copy is over but its buffer was detached`);
}

export function copyToHost(
  { handle: stream, device, work }: StreamParts,
  dst: ArrayBufferView | PinnedMemory,
  src: DeviceMemory,
): Promise<void> {
  const from = partsOnDevice('src', device, src);
  const to = hostBytes('dst', dst);
  checkSameLength(to, from);
  const pinned = pinnedMemoryOf('dst', to.buffer);
  const { handle } = from.allocation;
  if (pinned !== undefined) {
    work.use(from.resource, pinned.resource);
    binding().streamCopyToHost(stream, pinned.handle, to.byteOffset, handle, from.byteOffset, to.byteLength);
    return Promise.resolve();
  }
  checkNoCapture();
  const { byteLength } = to;
  return work.stageBehind([from.resource], to.buffer, () => {
    checkStillThere('dst', to, byteLength);
    return binding().streamDownload(stream, to, handle, from.byteOffset);
  });
}

export function copy({ handle, device, work }: StreamParts, dst: DeviceMemory, src: DeviceMemory): void {
  const to = deviceMemoryParts('dst', dst);
  const from = deviceMemoryParts('src', src);
  if (from.allocation.device.ordinal !== device.ordinal) checkSameDevice('dst', device, to.allocation.device);
  checkSameLength(to, from);
  const address = ({ allocation, byteOffset }: DeviceMemoryParts) => allocation.address + BigInt(byteOffset);
  const difference = address(to) - address(from);
  const distance = difference < 0n ? -difference : difference;
  if (distance < BigInt(from.byteLength)) {
    throw new RangeError(`Expected src and dst that do not overlap but received addresses ${distance} bytes apart`);
  }
  work.use(to.resource, from.resource);
  binding().streamCopy(
    handle,
    to.allocation.handle,
    to.byteOffset,
    from.allocation.handle,
    from.byteOffset,
    from.byteLength,
  );
}

export function copy2d(stream: StreamParts, rectangle: Copy2d): void {
  const { dst, src, width, height } = checkCopy2d(rectangle);
  for (const [name, { ordinal }] of [['dst', dst] as const, ['src', src] as const]) {
    if (ordinal !== undefined) checkSameDevice(name, stream.device, { ordinal });
  }
  stream.work.use(dst.resource, src.resource);
  const side = ({ handle, pinned, byteOffset, pitch }: Side) => [handle, pinned, byteOffset, pitch] as const;
  binding().streamCopy2d(stream.handle, ...side(dst), ...side(src), width, height);
}
