import { binding, type StreamHandle } from './binding.js';
import { checkInteger, checkOptions, invalid } from './check.js';
import type { Device } from './device.js';
import { DisposedError } from './errors.js';
import { DeviceMemory, type DeviceMemoryParts, deviceMemoryParts } from './memory.js';
import { PinnedMemory, pinnedMemoryOf } from './pinned-memory.js';
import { closeInBackground, type Queue, type Resource } from './resource.js';
import { holdSharedMemory, sharedMemoryOf } from './shared-memory.js';

let construct: (device: Device, handle: StreamHandle) => Stream;

export function openStream(device: Device, handle: StreamHandle): Stream {
  return construct(device, handle);
}

function hostBytes(name: string, value: unknown): Uint8Array {
  if (value instanceof PinnedMemory) return new Uint8Array(value.buffer);
  if (!ArrayBuffer.isView(value)) throw invalid(name, 'ArrayBufferView or PinnedMemory', value);
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

function checkSameLength(dst: { byteLength: number }, src: { byteLength: number }): void {
  if (dst.byteLength !== src.byteLength) {
    throw new RangeError(
      `Expected src and dst of equal byteLength but received ${src.byteLength} and ${dst.byteLength} bytes`,
    );
  }
}

/**
 * An ordered queue of work on a device. Methods that enqueue do not block; `done()` waits for what was enqueued.
 * Memory that enqueued work uses stays allocated until that work is over, also when it is closed meanwhile.
 */
export class Stream {
  readonly device: Device;
  readonly #handle: StreamHandle;
  /** Numbers the enqueued work; a resource is in use until the number of its last work is over. */
  #enqueued = 0;
  /** The number up to which work is known to be over without an error. */
  #finished = 0;
  /** Copies through the staging buffers that are not over: their last parts may not be enqueued yet. */
  #staging = 0;
  readonly #inUse = new Map<Resource, number>();
  /** The tail of the copies through the staging buffers, which run one after the other. */
  #staged: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  readonly #queue: Queue = { settled: () => this.#settled() };

  static {
    construct = (device, handle) => new Stream(device, handle);
  }

  private constructor(device: Device, handle: StreamHandle) {
    this.device = device;
    this.#handle = handle;
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Copies `src` to `dst`; both have the same size in bytes.
   *
   * From pinned memory (a `PinnedMemory`, or a view of its buffer) the copy is only enqueued and the promise is already
   * resolved: leave `src` alone until `done()`. Any other buffer goes through a staging buffer off the JS thread, and
   * the promise resolves when the bytes are on the device; leave `src` alone until then, and await it before enqueueing
   * work that depends on it.
   *
   * @throws TypeError | RangeError for wrong arguments.
   * @throws DisposedError
   * @throws CudaError
   */
  copyToDevice(dst: DeviceMemory, src: ArrayBufferView | PinnedMemory): Promise<void> {
    const to = this.#deviceParts('dst', dst);
    const from = hostBytes('src', src);
    checkSameLength(dst, from);
    const pinned = pinnedMemoryOf(from.buffer);
    const { handle } = to.allocation;
    if (pinned !== undefined) {
      this.#use(to.resource, pinned.resource);
      binding().streamCopyToDevice(
        this.#handle,
        handle,
        to.byteOffset,
        pinned.handle,
        from.byteOffset,
        from.byteLength,
      );
      return Promise.resolve();
    }
    return this.#stage(to.resource, from.buffer, () =>
      binding().streamUpload(this.#handle, handle, to.byteOffset, from),
    );
  }

  /**
   * Copies `src` to `dst`; both have the same size in bytes.
   *
   * Into pinned memory the copy is only enqueued and the promise is already resolved: the bytes are there after
   * `done()`. Into any other buffer the promise resolves when the bytes are there.
   *
   * @throws TypeError | RangeError for wrong arguments.
   * @throws DisposedError
   * @throws CudaError
   */
  copyToHost(dst: ArrayBufferView | PinnedMemory, src: DeviceMemory): Promise<void> {
    const from = this.#deviceParts('src', src);
    const to = hostBytes('dst', dst);
    checkSameLength(to, src);
    const pinned = pinnedMemoryOf(to.buffer);
    const { handle } = from.allocation;
    if (pinned !== undefined) {
      this.#use(from.resource, pinned.resource);
      binding().streamCopyToHost(this.#handle, pinned.handle, to.byteOffset, handle, from.byteOffset, to.byteLength);
      return Promise.resolve();
    }
    return this.#stage(from.resource, to.buffer, () =>
      binding().streamDownload(this.#handle, to, handle, from.byteOffset),
    );
  }

  /**
   * Enqueues a copy between two places of the same size on this device. Does not block.
   *
   * @throws TypeError | RangeError for wrong arguments, also when the two overlap.
   * @throws DisposedError
   * @throws CudaError
   */
  copy(dst: DeviceMemory, src: DeviceMemory): void {
    const to = this.#deviceParts('dst', dst);
    const from = this.#deviceParts('src', src);
    checkSameLength(dst, src);
    const distance = dst.address > src.address ? dst.address - src.address : src.address - dst.address;
    if (distance < BigInt(src.byteLength)) {
      throw new RangeError(`Expected src and dst that do not overlap but received addresses ${distance} bytes apart`);
    }
    this.#use(to.resource, from.resource);
    binding().streamCopy(
      this.#handle,
      to.allocation.handle,
      to.byteOffset,
      from.allocation.handle,
      from.byteOffset,
      src.byteLength,
    );
  }

  /**
   * Enqueues setting every byte of `dst`. Does not block.
   *
   * @throws TypeError | RangeError for wrong arguments.
   * @throws DisposedError
   * @throws CudaError
   */
  fill(dst: DeviceMemory, byte: number): void {
    const to = this.#deviceParts('dst', dst);
    checkInteger('byte', byte, 0, 255);
    this.#use(to.resource);
    binding().streamFill(this.#handle, to.allocation.handle, to.byteOffset, dst.byteLength, byte);
  }

  /**
   * Resolves when all work enqueued so far is over. A thread of this package's own waits, not libuv's.
   *
   * @param options.signal gives up waiting, not the work: the promise rejects with `signal.reason`.
   * @throws DisposedError
   * @throws CudaError when the work failed; `sticky` says whether the context is lost.
   */
  async done(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    this.#checkOpen();
    checkOptions(options);
    const { signal } = options;
    if (signal === undefined) return this.#wait();
    signal.throwIfAborted();
    const waiting = this.#wait();
    await new Promise<void>((resolve, reject) => {
      const abort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      waiting.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    });
  }

  /**
   * Whether all work enqueued so far is over, copies through the staging buffers too. Does not block; asks the driver
   * only when something was enqueued since the last yes.
   *
   * @throws DisposedError
   * @throws CudaError when the work failed.
   */
  query(): boolean {
    this.#checkOpen();
    if (this.#staging > 0) return false;
    if (this.#finished === this.#enqueued) return true;
    const over = binding().streamQuery(this.#handle);
    if (over) this.#finish(this.#enqueued);
    return over;
  }

  /**
   * Waits for the enqueued work, then gives the stream back. Closing twice is fine.
   *
   * @throws CudaError when the driver refuses.
   */
  close(): Promise<void> {
    this.#closing ??= this.#wait()
      // How the work ended is done()'s business; the stream is given back in any case.
      .catch(() => this.#retire(this.#enqueued))
      .then(() => binding().streamDestroy(this.#handle));
    return this.#closing;
  }

  /** Marks the stream closed and gives it back once its work is over; a failure becomes a process warning. */
  [Symbol.dispose](): void {
    closeInBackground(this.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw new DisposedError('Stream');
  }

  #deviceParts(name: string, memory: unknown): DeviceMemoryParts {
    this.#checkOpen();
    if (!(memory instanceof DeviceMemory)) throw invalid(name, 'DeviceMemory', memory);
    const parts = deviceMemoryParts(memory);
    if (parts.allocation.device !== this.device) {
      throw new RangeError(
        `Expected memory on device ${this.device.ordinal} for ${name} but received memory on device ` +
          `${parts.allocation.device.ordinal}`,
      );
    }
    return parts;
  }

  #use(...resources: Resource[]): void {
    this.#enqueued += 1;
    for (const resource of resources) {
      this.#inUse.set(resource, this.#enqueued);
      resource.queues.add(this.#queue);
    }
  }

  #finish(last: number): void {
    this.#finished = Math.max(this.#finished, last);
    this.#retire(last);
  }

  /** Lets go of the resources whose last work has a number up to `last`. */
  #retire(last: number): void {
    for (const [resource, number] of this.#inUse) {
      if (number > last) continue;
      this.#inUse.delete(resource);
      resource.queues.delete(this.#queue);
    }
  }

  async #wait(): Promise<void> {
    const last = this.#enqueued;
    await this.#staged;
    await binding().streamWait(this.#handle);
    this.#finish(last);
  }

  async #settled(): Promise<void> {
    const last = this.#enqueued;
    try {
      await (this.#closing ?? this.#wait());
    } catch {
      // The work failed, which ends it as well; done() is where it is reported.
      this.#retire(last);
    }
  }

  /** Runs a copy of ordinary memory behind the ones before it, and keeps both of its ends alive meanwhile. */
  #stage(resource: Resource, buffer: ArrayBufferLike, copy: () => Promise<void>): Promise<void> {
    this.#use(resource);
    const shared = sharedMemoryOf(buffer);
    const release = shared === undefined ? undefined : holdSharedMemory(shared);
    this.#staging += 1;
    const copied = this.#staged.then(copy).finally(() => {
      this.#staging -= 1;
    });
    this.#staged = copied
      .catch(() => {
        // Reported by the promise that the caller has.
      })
      .finally(release);
    return copied;
  }
}
