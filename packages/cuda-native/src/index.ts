export type { AbandonedName } from './abandoned-name.js';
export { type Availability, availability, type DeviceSummary } from './availability.js';
export { type AllocOptions, Device, type MemoryInfo } from './device.js';
export {
  BusyError,
  CudaError,
  CudaUnavailableError,
  type CudaUnavailableReason,
  DisposedError,
  NativeUnavailableError,
  SharedMemoryError,
  type SharedMemoryErrorCode,
} from './errors.js';
export { DeviceMemory, type IpcMemHandle } from './memory.js';
export { PinnedMemory } from './pinned-memory.js';
export { SharedMemory, type SharedMemoryCreateOptions, type SharedMemoryOpenOptions } from './shared-memory.js';
export { Stream } from './stream.js';
