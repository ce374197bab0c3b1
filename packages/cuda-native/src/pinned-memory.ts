import { binding, type PinnedHandle } from './binding.js';
import { DisposedError } from './errors.js';
import { closeInBackground, Resource } from './resource.js';

/** A PinnedMemory as the streams need it. */
export interface PinnedMemoryParts {
  readonly handle: PinnedHandle;
  readonly resource: Resource;
}

const owners = new WeakMap<ArrayBuffer, PinnedMemory>();
let construct: (handle: PinnedHandle, buffer: ArrayBuffer) => PinnedMemory;
let open: (memory: PinnedMemory) => PinnedMemoryParts;

export function ownPinnedMemory(handle: PinnedHandle, buffer: ArrayBuffer): PinnedMemory {
  return construct(handle, buffer);
}

/** The pinned memory behind a buffer. The map also keeps the memory alive for as long as its buffer is. */
export function pinnedMemoryOf(buffer: ArrayBufferLike): PinnedMemoryParts | undefined {
  const memory = buffer instanceof ArrayBuffer ? owners.get(buffer) : undefined;
  return memory === undefined ? undefined : open(memory);
}

/** Page-locked host memory: the device copies to and from it without a detour, asynchronously. */
export class PinnedMemory {
  /** Size in bytes. */
  readonly byteLength: number;
  readonly #buffer: ArrayBuffer;
  readonly #parts: PinnedMemoryParts;

  static {
    construct = (handle, buffer) => new PinnedMemory(handle, buffer);
    open = (memory) => {
      if (memory.closed) throw new DisposedError('PinnedMemory');
      return memory.#parts;
    };
  }

  private constructor(handle: PinnedHandle, buffer: ArrayBuffer) {
    this.byteLength = buffer.byteLength;
    this.#buffer = buffer;
    this.#parts = { handle, resource: new Resource(() => binding().pinnedFree(handle, buffer)) };
    owners.set(buffer, this);
  }

  /**
   * The memory: always the same ArrayBuffer, detached when the memory has been freed.
   *
   * @throws DisposedError
   */
  get buffer(): ArrayBuffer {
    if (this.closed) throw new DisposedError('PinnedMemory');
    return this.#buffer;
  }

  get closed(): boolean {
    return this.#parts.resource.closed;
  }

  /**
   * Waits for the enqueued copies that use the memory, then detaches the buffer and frees the memory. Closing twice is
   * fine.
   *
   * @throws CudaError when the driver refuses.
   */
  close(): Promise<void> {
    return this.#parts.resource.close();
  }

  /** Marks the memory closed and frees it once its copies are over; a failure becomes a process warning. */
  [Symbol.dispose](): void {
    closeInBackground(this.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
