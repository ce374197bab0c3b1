import { existsSync } from 'node:fs';
import { driverLibrary, loadDriver } from './availability.js';
import { binding, type DeviceHandle } from './binding.js';
import { checkNonNegativeInteger, checkOptions, checkPositiveInteger, invalid } from './check.js';
import { CudaUnavailableError, NativeUnavailableError, unavailableMessage } from './errors.js';
import { type DeviceMemory, type IpcMemHandle, ownDeviceMemory } from './memory.js';
import { ownPinnedMemory, type PinnedMemory } from './pinned-memory.js';
import { openStream, type Stream } from './stream.js';

/** How to allocate. */
export interface AllocOptions {
  /**
   * Whether the memory may be exported to other processes. It is then an allocation of its own, rounded up to
   * 2 MiB and zeroed, because an IPC handle shows its peer the whole block.
   *
   * @defaultValue `false`
   */
  readonly exportable?: boolean;
}

/** Device memory in bytes, as the driver counts it for all processes together. */
export interface MemoryInfo {
  readonly free: number;
  readonly total: number;
}

/** The granularity at which the driver makes allocations of their own; smaller ones share a block. */
const EXPORT_GRANULARITY = 2 * 1024 * 1024;

const RAW_HANDLE_BYTES = 64;

type Opened = Awaited<ReturnType<ReturnType<typeof binding>['openDevice']>>;

const devices = new Map<number, Device>();

/**
 * A GPU, through its primary context, which stays retained until the process ends. There is one object per device and
 * thread; it needs no closing.
 */
export class Device {
  /** The driver's ordinal, after `CUDA_VISIBLE_DEVICES`. */
  readonly ordinal: number;
  /** `GPU-` and 32 hexadecimal digits in groups, as nvidia-smi prints it. */
  readonly uuid: string;
  readonly name: string;
  readonly computeCapability: { readonly major: number; readonly minor: number };
  /** In bytes. */
  readonly totalMemory: number;
  /** `domain:bus:device.function`, in hexadecimal. */
  readonly pciBusId: string;
  /** Whether the GPU shares the memory of the CPU (Jetson and the like). */
  readonly integrated: boolean;
  /** Whether memory can be handed to other processes; not on integrated GPUs and under WSL2. */
  readonly supportsIpc: boolean;
  readonly #handle: DeviceHandle;

  private constructor(opened: Opened) {
    this.ordinal = opened.ordinal;
    this.uuid = opened.uuid;
    this.name = opened.name;
    this.computeCapability = { major: opened.computeCapabilityMajor, minor: opened.computeCapabilityMinor };
    this.totalMemory = opened.totalMemory;
    this.pciBusId = opened.pciBusId;
    this.integrated = opened.integrated;
    // /dev/dxg is WSL2's GPU device.
    this.supportsIpc = opened.unifiedAddressing && !opened.integrated && !existsSync('/dev/dxg');
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
      if (typeof which.uuid !== 'string' || which.uuid === '') throw invalid('uuid', 'non-empty string', which.uuid);
      uuid = which.uuid;
    } else {
      checkNonNegativeInteger('ordinal', which);
    }
    let opened: Opened;
    try {
      opened = await binding().openDevice(driverLibrary(), typeof which === 'number' ? which : -1, uuid);
    } catch (error) {
      if (!(error instanceof NativeUnavailableError)) throw error;
      throw new CudaUnavailableError(unavailableMessage('no-prebuild', error.message), 'no-prebuild', [], {
        cause: error,
      });
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
    const { handle, buffer } = await binding().pinnedAlloc(this.#handle, byteLength);
    return ownPinnedMemory(handle, buffer);
  }

  /**
   * Opens memory that **another** process exported from this device: everything from `byteOffset` to the end of its
   * allocation. The exporter must keep it open meanwhile; closing it here only unmaps.
   *
   * @throws TypeError | RangeError for a malformed handle, or one of another device.
   * @throws CudaError for a handle that the driver refuses, such as one of this process's own.
   */
  async openIpc(handle: IpcMemHandle): Promise<DeviceMemory> {
    if (typeof handle !== 'object' || handle === null) throw invalid('handle', 'IpcMemHandle', handle);
    const { rawHandle, byteOffset, allocationByteLength, deviceUuid } = handle;
    if (!(rawHandle instanceof Uint8Array)) throw invalid('rawHandle', 'Uint8Array of 64 bytes', rawHandle);
    if (rawHandle.byteLength !== RAW_HANDLE_BYTES) {
      throw new RangeError(`Expected Uint8Array of 64 bytes for rawHandle but received ${rawHandle.byteLength} bytes`);
    }
    checkPositiveInteger('allocationByteLength', allocationByteLength);
    checkNonNegativeInteger('byteOffset', byteOffset);
    if (byteOffset >= allocationByteLength) {
      throw invalid('byteOffset', `integer below ${allocationByteLength}`, byteOffset, RangeError);
    }
    if (deviceUuid !== this.uuid) throw invalid('deviceUuid', `this device's ${this.uuid}`, deviceUuid, RangeError);
    const opened = await binding().memOpenIpc(this.#handle, rawHandle, allocationByteLength);
    const allocation = { device: this, byteLength: allocationByteLength, rawHandle: undefined, ...opened };
    return ownDeviceMemory(allocation, byteOffset, allocationByteLength - byteOffset);
  }

  /**
   * A new stream. It does not wait for the legacy default stream, nor that for it. Does not block.
   *
   * @throws CudaError
   */
  createStream(): Stream {
    return openStream(this, binding().streamCreate(this.#handle));
  }
}
