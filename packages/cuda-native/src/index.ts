export type { AbandonedName } from './abandoned-name.js';
export { type Availability, availability, type DeviceSummary } from './availability.js';
export type { Copy2d } from './copy2d.js';
export { Device } from './device.js';
export type { AllocOptions, MemoryInfo, StreamOptions, WrapOptions } from './device-options.js';
export type { CudaUnavailableReason } from './diagnosis/diagnosis.js';
export {
  BusyError,
  CudaError,
  CudaUnavailableError,
  DisposedError,
  NativeUnavailableError,
  SharedMemoryError,
  type SharedMemoryErrorCode,
} from './errors.js';
export { Event, type EventOptions } from './event.js';
export { Graph } from './graph.js';
export type { IpcMemHandle } from './ipc-handle.js';
export {
  type IpcSelfTestOptions,
  type IpcSelfTestReport,
  type IpcSelfTestStage,
  ipcSelfTest,
} from './ipc-self-test.js';
export { Kernel } from './kernel.js';
export type { Argument, Arguments, ParameterType, ScalarType, Signature, StructType } from './kernel-signature.js';
export type { Dim3, LaunchConfig } from './launch.js';
export { DeviceMemory } from './memory.js';
export { type KernelOptions, Module } from './module.js';
export { PinnedMemory } from './pinned-memory.js';
export { SharedMemory } from './shared-memory.js';
export type { SharedMemoryCreateOptions, SharedMemoryOpenOptions } from './shared-memory-options.js';
export { Stream } from './stream.js';
