import { identify, isKind, partsOf } from './abi.js';
import { driverLibrary, loadDriver, unavailable } from './availability.js';
import { checkBufferLength, checkInteger, checkOptions, checkPositiveInteger, invalid } from './check.js';
import type { AllocOptions, MemoryInfo, StreamOptions, WrapOptions } from './device-options.js';
import { wslGeneration } from './diagnosis/machine-facts.js';
import { NativeUnavailableError } from './errors.js';
import { type Event, type EventOptions, openEvent } from './event.js';
import { checkIpcHandle, type IpcMemHandle } from './ipc-handle.js';
import { borrowDeviceMemory, type DeviceMemory, ownDeviceMemory, showPinnedMemory } from './memory.js';
import { type Module, openModule } from './module.js';
import { checkModuleImage } from './module-image.js';
import type { OpenedDevice } from './native/binding.js';
import type { DeviceHandle } from './native/handles.js';
import { binding } from './native/load.js';
import {
  moveRegisteredMemory,
  ownPinnedMemory,
  ownRegisteredMemory,
  type PinnedMemory,
  pinnedMemoryParts,
} from './pinned-memory.js';
import { type SharedMemory, sharedMemoryOf, sharedMemoryParts } from './shared-memory.js';
import { openStream, type Stream } from './stream.js';

/** The granularity at which the driver makes allocations of their own; smaller ones share a block. */
const EXPORT_GRANULARITY = 2 * 1024 * 1024;

const devices = new Map<number, Device>();

/**
 * A GPU, through its primary context, which stays retained until the process ends. There is one object per device and
 * thread; it needs no closing.
 */
export class Device {
  /** The driver's ordinal, after `CUDA_VISIBLE_DEVICES`. */
  readonly ordinal: number;
  /** `GPU-` (or `MIG-`) and 32 hexadecimal digits in groups, as nvidia-smi prints it. */
  readonly uuid: string;
  readonly name: string;
  /** Whether this is an instance of a GPU in MIG mode. */
  readonly mig: boolean;
  readonly computeCapability: { readonly major: number; readonly minor: number };
  /** In bytes. */
  readonly totalMemory: number;
  /** `domain:bus:device.function`, in hexadecimal. */
  readonly pciBusId: string;
  /** Whether the GPU shares the memory of the CPU (Jetson and the like). */
  readonly integrated: boolean;
  /**
   * Whether memory can be handed to other processes: not on integrated GPUs (Tegra's driver shares events only), and
   * not under WSL, where an opened handle may show zeros. A MIG device shares within its own GPU instance only. What
   * this can't tell, such as two containers whose namespaces keep them apart, `ipcSelfTest` finds in part.
   */
  readonly supportsIpc: boolean;
  /** The most shared memory that a block can have when a kernel asks for it, in bytes. */
  readonly maxSharedBytesPerBlock: number;
  /** What `createStream` takes: `least` (0) comes last, `greatest` (0 or below) first. */
  readonly streamPriorities: { readonly least: number; readonly greatest: number };
  /** The ordinals of the devices that this one may reach directly. */
  readonly #peers = new Set<number>();
  readonly #handle: DeviceHandle;

  static {
    identify(Device, 'Device', (device: Device) => device.#handle);
  }

  private constructor(opened: OpenedDevice) {
    this.ordinal = opened.ordinal;
    this.uuid = opened.uuid;
    this.name = opened.name;
    this.mig = opened.mig;
    this.computeCapability = { major: opened.computeCapabilityMajor, minor: opened.computeCapabilityMinor };
    this.totalMemory = opened.totalMemory;
    this.pciBusId = opened.pciBusId;
    this.integrated = opened.integrated;
    this.supportsIpc = opened.unifiedAddressing && !opened.integrated && wslGeneration() === undefined;
    this.maxSharedBytesPerBlock = opened.maxSharedBytesPerBlock;
    this.streamPriorities = { least: opened.leastPriority, greatest: opened.greatestPriority };
    this.#handle = opened.handle;
  }

  /**
   * The number of devices. Loads the driver on the calling thread, as `availability()` does.
   *
   * @throws CudaUnavailableError
   */
  static count(): number {
    return loadDriver().devices.length;
  }

  /**
   * Opens a device by ordinal or UUID: loads the driver and retains the primary context, off the JS thread. Opening
   * the same device again gives the same object.
   *
   * @throws TypeError | RangeError for wrong arguments.
   * @throws CudaUnavailableError also when there is no such device.
   * @throws CudaError
   */
  static async open(which: number | { readonly uuid: string }): Promise<Device> {
    let uuid = '';
    if (typeof which === 'object' && which !== null) {
      const given: unknown = which.uuid;
      if (typeof given !== 'string' || given === '') throw invalid('uuid', 'non-empty string', given);
      uuid = given;
    } else {
      // The driver's ordinals are ints.
      checkInteger('ordinal', which, 0, 2 ** 31 - 1);
    }
    let opened: OpenedDevice;
    try {
      opened = await binding().openDevice(driverLibrary(), typeof which === 'number' ? which : -1, uuid);
    } catch (error) {
      throw error instanceof NativeUnavailableError ? unavailable(error) : error;
    }
    const known = devices.get(opened.ordinal);
    if (known !== undefined) return known;
    const device = new Device(opened);
    devices.set(device.ordinal, device);
    return device;
  }

  /**
   * Free and total memory at this moment. Does not block.
   *
   * @throws CudaError
   */
  memoryInfo(): MemoryInfo {
    return binding().memoryInfo(this.#handle);
  }

  /**
   * Allocates `byteLength` bytes on the device. The caller owns them. The contents are undefined unless `exportable`.
   *
   * @throws TypeError | RangeError for wrong arguments.
   * @throws CudaError `CUDA_ERROR_OUT_OF_MEMORY` and others.
   */
  async alloc(byteLength: number, options: AllocOptions = {}): Promise<DeviceMemory> {
    checkPositiveInteger('byteLength', byteLength);
    checkOptions(options);
    const { exportable = false } = options;
    if (typeof exportable !== 'boolean') throw invalid('exportable', 'boolean', exportable);
    const reserved = exportable ? Math.ceil(byteLength / EXPORT_GRANULARITY) * EXPORT_GRANULARITY : byteLength;
    const { handle, address, rawHandle } = await binding().memAlloc(this.#handle, reserved, exportable);
    return ownDeviceMemory({ device: this, handle, address, byteLength: reserved, rawHandle }, 0, byteLength);
  }

  /**
   * Allocates page-locked host memory, usable with every device. The caller owns it.
   *
   * @throws TypeError | RangeError for wrong arguments, also beyond what an ArrayBuffer can hold (4 GiB on Node 20).
   * @throws CudaError
   */
  async allocPinned(byteLength: number): Promise<PinnedMemory> {
    checkPositiveInteger('byteLength', byteLength);
    checkBufferLength(byteLength, 'allocate several');
    return ownPinnedMemory(await binding().pinnedAlloc(this.#handle, byteLength), this.ordinal);
  }

  /**
   * Page-locks the whole mapping of shared memory, so that devices copy from and to it without a detour and kernels
   * reach it: `stream.copyToDevice(memory, new Uint8Array(shared.buffer))` is then only enqueued. The region can't be
   * closed before what this gives.
   *
   * @param memory a SharedMemory, or its buffer
   * @throws TypeError for wrong arguments, also for buffers of other memory and for an empty region.
   * @throws DisposedError
   * @throws CudaError `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` the second time, and others.
   */
  async registerHost(memory: SharedMemory | ArrayBuffer): Promise<PinnedMemory> {
    const parts = memory instanceof ArrayBuffer ? sharedMemoryOf(memory) : sharedMemoryParts('memory', memory);
    if (parts === undefined || parts.buffer.byteLength === 0) {
      throw invalid('memory', 'SharedMemory with bytes, or its buffer', memory);
    }
    let { buffer } = parts;
    let moved = (fresh: ArrayBuffer): void => {
      buffer = fresh;
    };
    const release = parts.hold((fresh) => moved(fresh));
    try {
      const registered = await binding().pinnedRegister(this.#handle, parts.handle);
      const pinned = ownRegisteredMemory({ ...registered, buffer }, this.ordinal, release);
      moved = (fresh) => moveRegisteredMemory(pinned, fresh);
      return pinned;
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * Memory that is used on this device without being a DeviceMemory's own. It is borrowed: closing it frees nothing, and
   * `exportIpc` is refused. Does not block.
   *
   * - Page-locked memory of the host, which kernels, fills and copies then reach where it lies. Open until that is closed,
   *   which waits for work with it.
   * - Memory of this device that somebody else owns (another library), by the device address of its first byte. Whoever
   *   owns it must not free it before it is closed here.
   *
   * @throws TypeError | RangeError for wrong arguments.
   * @throws DisposedError
   * @throws CudaError `CUDA_ERROR_INVALID_VALUE` when the driver knows no such memory on this device, or less of it.
   */
  wrap(memory: PinnedMemory): DeviceMemory;
  wrap(address: bigint, byteLength: number, options: WrapOptions): DeviceMemory;
  wrap(memory: PinnedMemory | bigint, byteLength?: number, options?: WrapOptions): DeviceMemory {
    return typeof memory !== 'bigint' && isKind(memory, 'PinnedMemory')
      ? this.#wrapPinned(memory)
      : this.#wrapAddress(memory as bigint, byteLength as number, options as WrapOptions);
  }

  #wrapPinned(memory: PinnedMemory): DeviceMemory {
    const { handle, resource } = pinnedMemoryParts('memory', memory);
    const shown = binding().memShow(this.#handle, handle);
    return showPinnedMemory({ device: this, ...shown, byteLength: memory.byteLength, rawHandle: undefined }, resource);
  }

  #wrapAddress(address: bigint, byteLength: number, options: WrapOptions): DeviceMemory {
    if (typeof address !== 'bigint') throw invalid('address', 'positive bigint', address);
    if (address <= 0n || address >= 2n ** 64n) throw invalid('address', 'positive bigint', address, RangeError);
    checkPositiveInteger('byteLength', byteLength);
    checkOptions(options);
    const { keepAlive } = options;
    const wrapped = binding().memWrap(this.#handle, address, byteLength);
    return borrowDeviceMemory({ device: this, ...wrapped, byteLength, rawHandle: undefined, keepAlive });
  }

  /**
   * Opens memory that **another** process exported from this device: everything from `byteOffset` to the end of its
   * allocation. The exporter must keep it open meanwhile; closing it here only unmaps.
   *
   * @throws TypeError | RangeError for a malformed handle, or one of another device.
   * @throws CudaError for a handle that the driver refuses, such as one of this process's own.
   */
  async openIpc(handle: IpcMemHandle): Promise<DeviceMemory> {
    const { rawHandle, byteOffset, allocationByteLength } = checkIpcHandle(handle, this.uuid);
    const opened = await binding().memOpenIpc(this.#handle, rawHandle, allocationByteLength);
    const allocation = { device: this, byteLength: allocationByteLength, rawHandle: undefined, ...opened };
    return ownDeviceMemory(allocation, byteOffset, allocationByteLength - byteOffset);
  }

  /**
   * A new stream. It does not wait for the legacy default stream, nor that for it. Does not block.
   *
   * @throws CudaError
   */
  createStream(options: StreamOptions = {}): Stream {
    checkOptions(options);
    const { priority = 0 } = options;
    const { least, greatest } = this.streamPriorities;
    checkInteger('priority', priority, greatest, least);
    return openStream(this, binding().streamCreate(this.#handle, priority));
  }

  /**
   * A new event. Does not block.
   *
   * @throws TypeError for wrong arguments.
   * @throws CudaError
   */
  createEvent(options: EventOptions = {}): Event {
    checkOptions(options);
    const { timing = false } = options;
    if (typeof timing !== 'boolean') throw invalid('timing', 'boolean', timing);
    return openEvent(this, binding().eventCreate(this.#handle, timing), timing);
  }

  /**
   * Loads device code: a fatbin, a cubin, or PTX (which the driver compiles, and keeps for the next time). The bytes are
   * copied. Off the JS thread; PTX may take seconds.
   *
   * @throws TypeError | RangeError for what is none of these, or is cut short.
   * @throws CudaError `CUDA_ERROR_INVALID_PTX` with the compiler's words, `CUDA_ERROR_NO_BINARY_FOR_GPU`,
   * `CUDA_ERROR_UNSUPPORTED_PTX_VERSION` when the driver is older than the PTX, and others.
   */
  async loadModule(image: Uint8Array | ArrayBuffer | string): Promise<Module> {
    return openModule(this, await binding().moduleLoad(this.#handle, checkModuleImage(image)));
  }

  /**
   * Whether this device can be given direct access to the memory of another. Does not block.
   *
   * @throws TypeError for wrong arguments.
   * @throws CudaError
   */
  canAccessPeer(other: Device): boolean {
    return binding().canAccessPeer(this.#handle, partsOf('other', 'Device', other));
  }

  /**
   * Gives kernels and copies of this device direct access to the memory of another, for the rest of the process.
   *
   * @throws TypeError for wrong arguments.
   * @throws CudaError `CUDA_ERROR_PEER_ACCESS_UNSUPPORTED` where `canAccessPeer` says no, and others.
   */
  async enablePeerAccess(other: Device): Promise<void> {
    await binding().enablePeerAccess(this.#handle, partsOf('other', 'Device', other));
    this.#peers.add(other.ordinal);
  }

  /** Whether `enablePeerAccess(other)` was called on this object. */
  hasPeerAccessTo(other: Device): boolean {
    return this.#peers.has(other.ordinal);
  }

  /**
   * Whether an error has lost the context. Every call on the device then fails at once, and only a restart of the process
   * helps: a health check wants to know.
   */
  get contextLost(): boolean {
    return binding().contextLost(this.#handle);
  }
}

/**
 * This copy of the package's own handle of a device that may be another copy's: it may be the first that this one hears
 * of the driver.
 *
 * @throws TypeError when it is something else.
 */
export async function ownHandleOf(device: Device): Promise<DeviceHandle> {
  partsOf('device', 'Device', device);
  return partsOf('device', 'Device', await Device.open(device.ordinal));
}
