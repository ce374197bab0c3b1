import { ABI, identify, partsOf } from './abi.js';
import { DisposedError } from './errors.js';
import type { PinnedHandle } from './native/handles.js';
import { binding } from './native/load.js';
import { closeInBackground, Resource } from './resource.js';

/** A PinnedMemory as the streams need it. */
export interface PinnedMemoryParts {
  readonly handle: PinnedHandle;
  readonly resource: Resource;
  readonly buffer: ArrayBuffer;
  readonly deviceAddress: bigint;
}

/** What the addon gives for page-locked memory. */
interface Pinned {
  readonly handle: PinnedHandle;
  readonly deviceAddress: bigint;
  readonly buffer: ArrayBuffer;
}

/** The pinned memory behind each buffer, for all copies of this package with the same ABI. */
const OWNERS = Symbol.for(`@zerohop/cuda-native/pinned/${ABI}`);
const shared = globalThis as { [OWNERS]?: WeakMap<ArrayBufferLike, PinnedMemory> };
shared[OWNERS] ??= new WeakMap();
const owners = shared[OWNERS];

let construct: (pinned: Pinned, what: string, after?: () => void) => PinnedMemory;
let move: (memory: PinnedMemory, buffer: ArrayBuffer) => void;

export function ownPinnedMemory(pinned: Pinned, ordinal: number): PinnedMemory {
  return construct(pinned, `A PinnedMemory of ${pinned.buffer.byteLength} bytes on device ${ordinal}`);
}

/** Wraps memory that was page-locked where it lies; `release` lets go of it. */
export function ownRegisteredMemory(pinned: Pinned, ordinal: number, release: () => void): PinnedMemory {
  const what = `A registration of ${pinned.buffer.byteLength} bytes with device ${ordinal}`;
  return construct(pinned, what, release);
}

/** Registered memory is shown by another buffer from now on. */
export function moveRegisteredMemory(memory: PinnedMemory, buffer: ArrayBuffer): void {
  move(memory, buffer);
}

/** The pinned memory behind a buffer. The map also keeps the memory alive for as long as its buffer is. */
export function pinnedMemoryOf(name: string, buffer: ArrayBufferLike): PinnedMemoryParts | undefined {
  const memory = owners.get(buffer);
  return memory === undefined ? undefined : pinnedMemoryParts(name, memory);
}

/**
 * What is inside a PinnedMemory.
 *
 * @throws TypeError when it is something else.
 * @throws DisposedError
 */
export function pinnedMemoryParts(name: string, memory: unknown): PinnedMemoryParts {
  return partsOf(name, 'PinnedMemory', memory);
}

/**
 * Page-locked host memory: the device copies to and from it without a detour, asynchronously, and kernels can reach it.
 * Made by `Device.allocPinned`, or by `Device.registerHost` from shared memory.
 */
export class PinnedMemory {
  /** Size in bytes. */
  readonly byteLength: number;
  readonly #parts: Omit<PinnedMemoryParts, 'buffer'>;
  /** Apart, since what frees the memory must not refer to this object. */
  readonly #shown: { buffer: ArrayBuffer };

  static {
    construct = (pinned, what, after) => new PinnedMemory(pinned, what, after);
    move = (memory, buffer) => {
      if (memory.closed) return;
      owners.delete(memory.#shown.buffer);
      owners.set(buffer, memory);
      memory.#shown.buffer = buffer;
    };
    identify(PinnedMemory, 'PinnedMemory', (memory: PinnedMemory) => {
      memory.#checkOpen();
      return { ...memory.#parts, buffer: memory.#shown.buffer };
    });
  }

  private constructor({ handle, deviceAddress, buffer }: Pinned, what: string, release?: () => void) {
    this.byteLength = buffer.byteLength;
    const shown = { buffer };
    const resource = new Resource('PinnedMemory', what, async () => {
      owners.delete(shown.buffer);
      try {
        await binding().pinnedFree(handle, shown.buffer);
      } finally {
        release?.();
      }
    });
    this.#parts = { handle, deviceAddress, resource };
    this.#shown = shown;
    owners.set(buffer, this);
  }

  /**
   * The memory: always the same ArrayBuffer (until the shared memory that is registered is renewed). Memory of
   * `allocPinned` is detached when it has been freed.
   *
   * @throws DisposedError
   */
  get buffer(): ArrayBuffer {
    this.#checkOpen();
    return this.#shown.buffer;
  }

  /**
   * Where kernels find the memory.
   *
   * @throws DisposedError
   */
  get deviceAddress(): bigint {
    this.#checkOpen();
    return this.#parts.deviceAddress;
  }

  get closed(): boolean {
    return this.#parts.resource.closed;
  }

  /**
   * Waits for the enqueued work that uses the memory, then detaches the buffer and frees the memory, or ends the
   * registration. Closing twice is fine.
   *
   * @throws CudaError when the driver refuses.
   */
  close(): Promise<void> {
    return this.#parts.resource.close();
  }

  /** Marks the memory closed and frees it once its work is over; a failure becomes a process warning. */
  [Symbol.dispose](): void {
    closeInBackground(this.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw new DisposedError('PinnedMemory');
  }
}
