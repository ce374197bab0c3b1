import type { NativeFailure } from '../errors.js';
import type { DecodedImage, JpegInfo } from '../jpeg-info.js';
import type {
  AbandonedNameHandle,
  DeviceHandle,
  EventHandle,
  GraphHandle,
  JpegDecoderHandle,
  JpegEncoderHandle,
  KernelHandle,
  MemoryHandle,
  ModuleHandle,
  PinnedHandle,
  RegionHandle,
  StreamHandle,
} from './handles.js';

/** What the addon exports. Arguments are checked by the callers; sizes and offsets are in bytes. */
export interface Binding
  extends SharedMemoryBinding,
    DeviceBinding,
    MemoryBinding,
    StreamBinding,
    EnqueueBinding,
    EventBinding,
    ModuleBinding,
    GraphBinding,
    JpegBinding {
  readonly abi: number;
  setErrorFactory(factory: (failure: NativeFailure) => Error): void;
  /** `warner` gets the failures that no promise carries and no call throws, such as of freeing what was collected. */
  setWarner(warner: (error: Error) => void): void;
  /** From now on nothing is freed any more: the driver may be gone before the last finalizer runs. */
  markExiting(): void;
}

interface SharedMemoryBinding {
  shmCreate(
    key: string,
    byteLength: number,
    mode: number,
    mappedOffset: number,
    mappedLength: number,
  ): Promise<{ handle: RegionHandle; buffer: ArrayBuffer }>;
  shmOpen(
    key: string,
    byteOffset: number,
    byteLength: number | undefined,
  ): Promise<{ handle: RegionHandle; buffer: ArrayBuffer }>;
  shmTryLock(key: string): AbandonedNameHandle | 'locked' | 'absent';
  shmRemoveLocked(name: AbandonedNameHandle): void;
  shmUnlock(name: AbandonedNameHandle): void;
  shmKeepName(region: RegionHandle): void;
  shmUnlink(region: RegionHandle): void;
  shmRenew(region: RegionHandle, buffer: ArrayBuffer): ArrayBuffer;
  shmClose(region: RegionHandle, buffer: ArrayBuffer): void;
  shmFreeBytes(): number;
  shmUnlinkAll(): void;
}

export interface NativeDeviceSummary {
  readonly ordinal: number;
  readonly uuid: string;
  readonly name: string;
  readonly mig: boolean;
}

export interface OpenedDevice extends NativeDeviceSummary {
  readonly handle: DeviceHandle;
  readonly computeCapabilityMajor: number;
  readonly computeCapabilityMinor: number;
  readonly totalMemory: number;
  readonly pciBusId: string;
  readonly integrated: boolean;
  readonly unifiedAddressing: boolean;
  readonly maxSharedBytesPerBlock: number;
  readonly leastPriority: number;
  readonly greatestPriority: number;
}

interface DeviceBinding {
  loadDriver(library: string): { driverVersion: number; devices: NativeDeviceSummary[] };
  openDevice(library: string, ordinal: number, uuid: string): Promise<OpenedDevice>;
  contextLost(device: DeviceHandle): boolean;
  memoryInfo(device: DeviceHandle): { free: number; total: number };
  canAccessPeer(device: DeviceHandle, peer: DeviceHandle): boolean;
  enablePeerAccess(device: DeviceHandle, peer: DeviceHandle): Promise<void>;
}

interface MemoryBinding {
  memAlloc(
    device: DeviceHandle,
    byteLength: number,
    exportable: boolean,
  ): Promise<{ handle: MemoryHandle; address: bigint; rawHandle?: Uint8Array }>;
  memOpenIpc(
    device: DeviceHandle,
    rawHandle: Uint8Array,
    byteLength: number,
  ): Promise<{ handle: MemoryHandle; address: bigint }>;
  memWrap(device: DeviceHandle, address: bigint, byteLength: number): { handle: MemoryHandle; address: bigint };
  memShow(device: DeviceHandle, pinned: PinnedHandle): { handle: MemoryHandle; address: bigint };
  memFree(memory: MemoryHandle): Promise<void>;
  pinnedAlloc(
    device: DeviceHandle,
    byteLength: number,
  ): Promise<{ handle: PinnedHandle; deviceAddress: bigint; buffer: ArrayBuffer }>;
  pinnedRegister(device: DeviceHandle, region: RegionHandle): Promise<{ handle: PinnedHandle; deviceAddress: bigint }>;
  pinnedFree(memory: PinnedHandle, buffer: ArrayBuffer): Promise<void>;
}

interface StreamBinding {
  streamCreate(device: DeviceHandle, priority: number): StreamHandle;
  streamDestroy(stream: StreamHandle): Promise<void>;
  streamUpload(stream: StreamHandle, dst: MemoryHandle, dstOffset: number, src: Uint8Array): Promise<void>;
  streamDownload(stream: StreamHandle, dst: Uint8Array, src: MemoryHandle, srcOffset: number): Promise<void>;
  streamWait(stream: StreamHandle): Promise<void>;
  /** As `streamWait`, but one of the addon's threads is blocked meanwhile: for when that failed. */
  streamSynchronize(stream: StreamHandle): Promise<void>;
  streamQuery(stream: StreamHandle): boolean;
}

/** One piece of work each; none of them blocks. */
interface EnqueueBinding {
  streamCopyToDevice(
    stream: StreamHandle,
    dst: MemoryHandle,
    dstOffset: number,
    src: PinnedHandle,
    srcOffset: number,
    byteLength: number,
  ): void;
  streamCopyToHost(
    stream: StreamHandle,
    dst: PinnedHandle,
    dstOffset: number,
    src: MemoryHandle,
    srcOffset: number,
    byteLength: number,
  ): void;
  streamCopy(
    stream: StreamHandle,
    dst: MemoryHandle,
    dstOffset: number,
    src: MemoryHandle,
    srcOffset: number,
    byteLength: number,
  ): void;
  streamCopy2d(
    stream: StreamHandle,
    dst: MemoryHandle | PinnedHandle,
    dstPinned: boolean,
    dstOffset: number,
    dstPitch: number,
    src: MemoryHandle | PinnedHandle,
    srcPinned: boolean,
    srcOffset: number,
    srcPitch: number,
    width: number,
    height: number,
  ): void;
  streamFill(stream: StreamHandle, dst: MemoryHandle, dstOffset: number, byteLength: number, byte: number): void;
  streamRecord(stream: StreamHandle, event: EventHandle): void;
  streamWaitEvent(stream: StreamHandle, event: EventHandle): void;
  /** The memory that `streamLaunch` reads: ten uint32 (grid, block, cluster, shared bytes); from byte 64 the arguments. */
  launchArea(): ArrayBuffer;
  streamLaunch(stream: StreamHandle, kernel: KernelHandle, argumentsByteLength: number): void;
  streamLaunchGraph(stream: StreamHandle, graph: GraphHandle): void;
}

interface EventBinding {
  eventCreate(device: DeviceHandle, timing: boolean): EventHandle;
  eventDestroy(event: EventHandle): Promise<void>;
  eventQuery(event: EventHandle): boolean;
  eventWait(event: EventHandle): Promise<void>;
  /** In milliseconds. */
  eventElapsed(start: EventHandle, end: EventHandle): number;
}

export interface NativeKernel {
  readonly handle: KernelHandle;
  readonly maxThreadsPerBlock: number;
  readonly registers: number;
  readonly staticSharedBytes: number;
  /** Absent where the driver can't tell (before 12.4). */
  readonly parameters?: readonly { readonly byteOffset: number; readonly byteLength: number }[];
}

interface ModuleBinding {
  moduleLoad(device: DeviceHandle, image: Uint8Array): Promise<ModuleHandle>;
  moduleUnload(module: ModuleHandle): Promise<void>;
  moduleKernel(module: ModuleHandle, name: string, dynamicSharedBytes: number): Promise<NativeKernel>;
}

interface GraphBinding {
  captureBegin(stream: StreamHandle): GraphHandle;
  captureEnd(stream: StreamHandle, graph: GraphHandle): void;
  graphInstantiate(graph: GraphHandle): Promise<void>;
  graphDestroy(graph: GraphHandle): Promise<void>;
}

/** Formats and subsamplings are nvJPEG's numbers; a pitch of 0 stands for the length of a row. */
interface JpegBinding {
  nvjpegLoad(library: string): { version: string; path: string };
  jpegHeader(bytes: Uint8Array): Promise<JpegInfo>;
  jpegDecoderCreate(device: DeviceHandle, library: string, useEngines: boolean): Promise<JpegDecoderHandle>;
  /** One at a time; resolves when it is enqueued on the stream, or on the decoder's own. */
  jpegDecode(
    decoder: JpegDecoderHandle,
    bytes: Uint8Array,
    dst: MemoryHandle,
    dstOffset: number,
    dstLength: number,
    format: number,
    pitch: number,
    stream: StreamHandle | undefined,
  ): Promise<DecodedImage>;
  /** For the end of the last decode. */
  jpegDecoderWait(decoder: JpegDecoderHandle): Promise<void>;
  /** For the decoder's own stream, when that failed. One of the addon's threads is blocked meanwhile. */
  jpegDecoderSynchronize(decoder: JpegDecoderHandle): Promise<void>;
  jpegDecoderDestroy(decoder: JpegDecoderHandle): Promise<void>;
  jpegEncoderCreate(device: DeviceHandle, library: string): Promise<JpegEncoderHandle>;
  /** One at a time; the length of the file, which `jpegEncoderTake` then copies. */
  jpegEncode(
    encoder: JpegEncoderHandle,
    src: MemoryHandle,
    srcOffset: number,
    srcLength: number,
    format: number,
    pitch: number,
    width: number,
    height: number,
    quality: number,
    subsampling: number,
  ): Promise<number>;
  jpegEncoderTake(encoder: JpegEncoderHandle, bytes: Uint8Array): Promise<void>;
  jpegEncoderDestroy(encoder: JpegEncoderHandle): Promise<void>;
}
