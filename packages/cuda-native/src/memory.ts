import { identify, partsOf } from './abi.js';
import { checkRange } from './check.js';
import type { Device } from './device.js';
import { DisposedError } from './errors.js';
import type { IpcMemHandle } from './ipc-handle.js';
import type { MemoryHandle } from './native/handles.js';
import { binding } from './native/load.js';
import { closeInBackground, Resource } from './resource.js';

/** One allocation, shared by the DeviceMemory that owns it and its slices. */
export interface Allocation {
  readonly device: Device;
  readonly handle: MemoryHandle;
  readonly address: bigint;
  /** What the driver reserved, in bytes. */
  readonly byteLength: number;
  /** Only of exportable allocations. */
  readonly rawHandle: Uint8Array | undefined;
  /** What owns borrowed memory; kept alive with it. */
  readonly keepAlive?: unknown;
}

/** A DeviceMemory as the streams need it. */
export interface DeviceMemoryParts {
  readonly allocation: Allocation;
  readonly resource: Resource;
  /** From the base of the allocation. */
  readonly byteOffset: number;
  readonly byteLength: number;
}

/** What memory is borrowed from: closing it closes what was borrowed. */
interface Lender {
  readonly closed: boolean;
}

let construct: (parts: DeviceMemoryParts, byteLength: number, lender?: Lender) => DeviceMemory;

/** Wraps a new allocation, of which `byteLength` bytes from `byteOffset` are the user's. */
export function ownDeviceMemory(allocation: Allocation, byteOffset: number, byteLength: number): DeviceMemory {
  return own(
    allocation,
    byteOffset,
    byteLength,
    `A DeviceMemory of ${byteLength} bytes on device ${allocation.device.ordinal}`,
  );
}

/** Wraps somebody else's memory. Nothing leaks when it is never closed. */
export function borrowDeviceMemory(allocation: Allocation): DeviceMemory {
  return own(allocation, 0, allocation.byteLength, undefined);
}

/** Shows page-locked memory of the host as device memory: open for as long as that is, and in use when that is. */
export function showPinnedMemory(allocation: Allocation, resource: Resource): DeviceMemory {
  const { byteLength } = allocation;
  return construct({ allocation, resource, byteOffset: 0, byteLength }, byteLength, resource);
}

function own(allocation: Allocation, byteOffset: number, byteLength: number, what: string | undefined): DeviceMemory {
  const resource = new Resource('DeviceMemory', what, () => binding().memFree(allocation.handle));
  return construct({ allocation, resource, byteOffset, byteLength }, byteLength);
}

/**
 * What is inside a DeviceMemory.
 *
 * @throws TypeError when it is something else.
 * @throws DisposedError
 */
export function deviceMemoryParts(name: string, memory: unknown): DeviceMemoryParts {
  return partsOf(name, 'DeviceMemory', memory);
}

/**
 * Memory on a device: an allocation, an opened IPC handle, somebody else's memory or page-locked memory (`Device.wrap`),
 * or a slice of one of them. Slices borrow: they are closed with what they were taken from, and closing a slice frees nothing.
 */
export class DeviceMemory {
  /** Size in bytes. */
  readonly byteLength: number;
  readonly #parts: DeviceMemoryParts;
  /** What a slice was taken from, or page-locked memory; absent where closing this frees the memory. */
  readonly #lender: Lender | undefined;
  #closed = false;

  static {
    construct = (parts, byteLength, lender) => new DeviceMemory(parts, byteLength, lender);
    identify(DeviceMemory, 'DeviceMemory', (memory: DeviceMemory) => {
      memory.#checkOpen();
      return memory.#parts;
    });
  }

  private constructor(parts: DeviceMemoryParts, byteLength: number, lender: Lender | undefined) {
    this.#parts = parts;
    this.byteLength = byteLength;
    this.#lender = lender;
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
    return this.#closed || (this.#lender === undefined ? this.#parts.resource.closed : this.#lender.closed);
  }

  /**
   * A part of this memory, borrowed: valid until this is closed. Does not block.
   *
   * @throws TypeError | RangeError when the part does not lie inside.
   * @throws DisposedError
   */
  slice(byteOffset: number, byteLength: number): DeviceMemory {
    this.#checkOpen();
    checkRange(byteOffset, byteLength, this.#parts.byteLength);
    const inner = { ...this.#parts, byteOffset: this.#parts.byteOffset + byteOffset, byteLength };
    return construct(inner, byteLength, this);
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
    return this.#lender === undefined ? this.#parts.resource.close() : Promise.resolve();
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
