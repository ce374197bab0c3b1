import { binding, type MemoryHandle } from './binding.js';
import { checkRange } from './check.js';
import type { Device } from './device.js';
import { DisposedError } from './errors.js';
import { closeInBackground, Resource } from './resource.js';

/**
 * What another process needs to open device memory. `rawHandle` of a peer is untrusted input: the driver rejects most
 * forgeries, no more.
 */
export interface IpcMemHandle {
  /** The driver's CUipcMemHandle: 64 bytes. */
  readonly rawHandle: Uint8Array;
  /** Where the shared part starts, in bytes from the base of the allocation. */
  readonly byteOffset: number;
  /** Size of the whole allocation in bytes; the peer can reach all of it. */
  readonly allocationByteLength: number;
  /** The device that holds it, as `GPU-…`. */
  readonly deviceUuid: string;
}

/** One allocation, shared by the DeviceMemory that owns it and its slices. */
export interface Allocation {
  readonly device: Device;
  readonly handle: MemoryHandle;
  readonly address: bigint;
  /** What the driver reserved, in bytes. */
  readonly byteLength: number;
  /** Only of exportable allocations. */
  readonly rawHandle: Uint8Array | undefined;
}

/** A DeviceMemory as the streams need it. */
export interface DeviceMemoryParts {
  readonly allocation: Allocation;
  readonly resource: Resource;
  /** From the base of the allocation. */
  readonly byteOffset: number;
}

let construct: (parts: DeviceMemoryParts, byteLength: number, owner: boolean) => DeviceMemory;
let open: (memory: DeviceMemory) => DeviceMemoryParts;

/** Wraps a new allocation, of which `byteLength` bytes from `byteOffset` are the user's. */
export function ownDeviceMemory(allocation: Allocation, byteOffset: number, byteLength: number): DeviceMemory {
  const resource = new Resource(() => binding().memFree(allocation.handle));
  return construct({ allocation, resource, byteOffset }, byteLength, true);
}

/**
 * What is inside a DeviceMemory.
 *
 * @throws DisposedError
 */
export function deviceMemoryParts(memory: DeviceMemory): DeviceMemoryParts {
  return open(memory);
}

/**
 * Memory on a device: an allocation, an opened IPC handle, or a slice of either. Slices borrow: they are closed with
 * the memory they come from, and closing a slice frees nothing.
 */
export class DeviceMemory {
  /** Size in bytes. */
  readonly byteLength: number;
  readonly #parts: DeviceMemoryParts;
  readonly #owner: boolean;
  #closed = false;

  static {
    construct = (parts, byteLength, owner) => new DeviceMemory(parts, byteLength, owner);
    open = (memory) => {
      memory.#checkOpen();
      return memory.#parts;
    };
  }

  private constructor(parts: DeviceMemoryParts, byteLength: number, owner: boolean) {
    this.#parts = parts;
    this.byteLength = byteLength;
    this.#owner = owner;
  }

  /** The device that holds the memory. */
  get device(): Device {
    return this.#parts.allocation.device;
  }

  /**
   * The device address of the first byte: to be shown, or handed to other CUDA code; use `slice` for arithmetic.
   *
   * @throws DisposedError
   */
  get address(): bigint {
    this.#checkOpen();
    return this.#parts.allocation.address + BigInt(this.#parts.byteOffset);
  }

  get closed(): boolean {
    return this.#closed || this.#parts.resource.closed;
  }

  /**
   * A part of this memory, borrowed: valid until the owner is closed. Does not block.
   *
   * @throws TypeError | RangeError when the part does not lie inside.
   * @throws DisposedError
   */
  slice(byteOffset: number, byteLength: number): DeviceMemory {
    this.#checkOpen();
    checkRange(byteOffset, byteLength, this.byteLength);
    return construct({ ...this.#parts, byteOffset: this.#parts.byteOffset + byteOffset }, byteLength, false);
  }

  /**
   * What another process opens to see this memory, without a copy. Whoever gets it can reach the **whole** allocation.
   * Keep the memory open for as long as the other side uses it. Does not block.
   *
   * @throws TypeError unless the memory was allocated with `exportable: true`.
   * @throws DisposedError
   */
  exportIpc(): IpcMemHandle {
    this.#checkOpen();
    const { allocation, byteOffset } = this.#parts;
    if (allocation.rawHandle === undefined) {
      throw new TypeError(
        'Expected memory allocated with { exportable: true } for exportIpc but received other memory',
      );
    }
    return {
      rawHandle: allocation.rawHandle.slice(),
      byteOffset,
      allocationByteLength: allocation.byteLength,
      deviceUuid: allocation.device.uuid,
    };
  }

  /**
   * Waits for the enqueued work that uses the memory, then frees it (or closes the IPC handle). Closing twice is fine;
   * closing a slice frees nothing.
   *
   * @throws CudaError when the driver refuses.
   */
  close(): Promise<void> {
    this.#closed = true;
    return this.#owner ? this.#parts.resource.close() : Promise.resolve();
  }

  /** Marks the memory closed and frees it once its work is over; a failure becomes a process warning. */
  [Symbol.dispose](): void {
    closeInBackground(this.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw new DisposedError('DeviceMemory');
  }
}
