import { identify } from './abi.js';
import { captureGraph } from './capture.js';
import { checkInteger, invalid } from './check.js';
import { warnOfCleanup } from './cleanup-warning.js';
import type { Copy2d } from './copy2d.js';
import type { Device } from './device.js';
import { BusyError, DisposedError } from './errors.js';
import { type Event, eventParts } from './event.js';
import { type Graph, graphParts } from './graph.js';
import type { Kernel } from './kernel.js';
import type { Arguments, Signature } from './kernel-signature.js';
import { type LaunchConfig, prepareLaunch } from './launch.js';
import { watchLeak } from './leaks.js';
import type { DeviceMemory } from './memory.js';
import type { StreamHandle } from './native/handles.js';
import { binding } from './native/load.js';
import type { PinnedMemory } from './pinned-memory.js';
import { closeInBackground } from './resource.js';
import { checkSameDevice } from './stream-checks.js';
import { copy, copy2d, copyToDevice, copyToHost, partsOnDevice } from './stream-copies.js';
import type { StreamParts } from './stream-parts.js';
import { untilAborted } from './until-aborted.js';
import { checkNoCapture, isCapturing, WorkQueue } from './work-queue.js';

let construct: (device: Device, handle: StreamHandle) => Stream;

export function openStream(device: Device, handle: StreamHandle): Stream {
  return construct(device, handle);
}

/**
 * An ordered queue of work on a device. Methods that enqueue do not block; `done()` waits for what was enqueued. What
 * enqueued work uses stays until that work is over, also when it is closed meanwhile.
 */
export class Stream {
  readonly device: Device;
  readonly #parts: StreamParts;
  readonly #unwatch: () => void;
  #closing: Promise<void> | undefined;

  static {
    construct = (device, handle) => new Stream(device, handle);
    identify(Stream, 'Stream', (stream: Stream): StreamParts => {
      stream.#checkIdle();
      return stream.#parts;
    });
  }

  private constructor(device: Device, handle: StreamHandle) {
    this.device = device;
    const work = new WorkQueue(
      () => binding().streamWait(handle),
      () => binding().streamSynchronize(handle),
    );
    this.#parts = { handle, device, work };
    // Memory that lives on would otherwise keep the queue, and with it all that the stream ever used.
    const letGo = () => void work.settled().catch(warnOfCleanup);
    this.#unwatch = watchLeak(this, 'Stream', `A Stream on device ${device.ordinal}`, letGo);
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
   * work that depends on it. Transferring its buffer (postMessage, structuredClone) or growing its WebAssembly memory
   * meanwhile frees it under the copy and can end the process. Wrong arguments and a closed object are thrown at once.
   *
   * @throws TypeError | RangeError for wrong arguments.
   * @throws DisposedError
   * @throws BusyError for other than pinned memory during a capture.
   * @throws CudaError
   */
  copyToDevice(dst: DeviceMemory, src: ArrayBufferView | PinnedMemory): Promise<void> {
    this.#checkOpen();
    return copyToDevice(this.#parts, dst, src);
  }

  /**
   * Copies `src` to `dst`; both have the same size in bytes.
   *
   * Into pinned memory the copy is only enqueued and the promise is already resolved: the bytes are there after
   * `done()`. Into any other buffer the promise resolves when the bytes are there; leave
   * `dst` alone until then, as `src` of `copyToDevice`. Wrong arguments and a closed object are thrown at once.
   *
   * @throws TypeError | RangeError for wrong arguments.
   * @throws DisposedError
   * @throws BusyError for other than pinned memory during a capture.
   * @throws CudaError
   */
  copyToHost(dst: ArrayBufferView | PinnedMemory, src: DeviceMemory): Promise<void> {
    this.#checkOpen();
    return copyToHost(this.#parts, dst, src);
  }

  /**
   * Enqueues a copy between two places of the same size, of which at least one is on this device; the other may be on
   * another device (directly where `device.canAccessPeer`, else by way of the host). Does not block.
   *
   * @throws TypeError | RangeError for wrong arguments, also when the two overlap.
   * @throws DisposedError
   * @throws CudaError
   */
  copy(dst: DeviceMemory, src: DeviceMemory): void {
    this.#checkOpen();
    copy(this.#parts, dst, src);
  }

  /**
   * Enqueues a copy of a rectangle between rows of two pitches, such as from a pitched image to a contiguous tensor: on
   * this device, or between it and pinned memory. Does not block.
   *
   * @throws TypeError | RangeError for wrong arguments, also when rows overlap.
   * @throws DisposedError
   * @throws CudaError
   */
  copy2d(copy: Copy2d): void {
    this.#checkOpen();
    copy2d(this.#parts, copy);
  }

  /**
   * Enqueues setting every byte of `dst`. Does not block.
   *
   * @throws TypeError | RangeError for wrong arguments.
   * @throws DisposedError
   * @throws CudaError
   */
  fill(dst: DeviceMemory, byte: number): void {
    this.#checkOpen();
    const to = partsOnDevice('dst', this.device, dst);
    checkInteger('byte', byte, 0, 255);
    this.#parts.work.use(to.resource);
    binding().streamFill(this.#parts.handle, to.allocation.handle, to.byteOffset, to.byteLength, byte);
  }

  /**
   * Enqueues a launch of a kernel. `args` are copied before the call returns. Does not block.
   *
   * @throws TypeError | RangeError for wrong arguments, such as sizes over the limits.
   * @throws DisposedError
   * @throws CudaError
   */
  launch<S extends Signature>(kernel: Kernel<S>, config: LaunchConfig, ...args: Arguments<S>): void {
    this.#checkOpen();
    const prepared = prepareLaunch(kernel, config, args);
    checkSameDevice('kernel', this.device, prepared.kernel.device);
    this.#parts.work.use(...prepared.resources);
    binding().streamLaunch(this.#parts.handle, prepared.kernel.handle, prepared.kernel.layout.byteLength);
  }

  /**
   * Enqueues all work of a graph. Does not block.
   *
   * @throws TypeError | RangeError for wrong arguments.
   * @throws DisposedError also when something that the graph uses is closed.
   * @throws CudaError
   */
  launchGraph(graph: Graph): void {
    this.#checkOpen();
    const { device, handle, resources } = graphParts('graph', graph);
    checkSameDevice('graph', this.device, device);
    this.#parts.work.use(...resources);
    binding().streamLaunchGraph(this.#parts.handle, handle);
  }

  /**
   * Puts an event behind all work enqueued so far. Does not block.
   *
   * @throws TypeError | RangeError for wrong arguments, also for an event of another device.
   * @throws DisposedError
   * @throws CudaError
   */
  record(event: Event): void {
    this.#checkOpen();
    const { handle, device, resource } = eventParts('event', event);
    checkSameDevice('event', this.device, device);
    this.#parts.work.use(resource);
    binding().streamRecord(this.#parts.handle, handle);
  }

  /**
   * Lets the work enqueued from now on wait for an event, as it was last recorded, of any stream and device. The JS
   * thread does not wait.
   *
   * @throws TypeError for wrong arguments.
   * @throws DisposedError
   * @throws CudaError
   */
  wait(event: Event): void {
    this.#checkOpen();
    const { handle, resource } = eventParts('event', event);
    this.#parts.work.use(resource);
    binding().streamWaitEvent(this.#parts.handle, handle);
  }

  /**
   * Makes a graph of what `work` enqueues on this stream, and on streams that wait for its events, instead of running it.
   * `work` is called once, when copies through the staging buffers are over, and must enqueue synchronously; host memory
   * that it copies from or to must be pinned. The graph is made ready off the JS thread.
   *
   * @throws TypeError for wrong arguments, also when `work` gives a promise.
   * @throws DisposedError
   * @throws BusyError during another capture.
   * @throws CudaError
   * @throws what `work` throws; the stream can be used again.
   */
  async capture(work: () => void): Promise<Graph> {
    this.#checkIdle();
    if (typeof work !== 'function') throw invalid('work', 'function', work);
    await this.#parts.work.allEnqueued();
    this.#checkIdle();
    return captureGraph(this.#parts, work);
  }

  /**
   * Resolves when all work enqueued so far is over. A thread of this package's own waits, not libuv's.
   *
   * @param options.signal gives up waiting, not the work: the promise rejects with `signal.reason`.
   * @throws DisposedError
   * @throws BusyError during a capture.
   * @throws CudaError when the work failed; `sticky` says whether the context is lost.
   */
  async done(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    this.#checkIdle();
    return untilAborted(options, () => this.#parts.work.wait());
  }

  /**
   * Whether all work enqueued so far is over, copies through the staging buffers too. Does not block; asks the driver
   * only when something was enqueued since the last yes.
   *
   * @throws DisposedError
   * @throws BusyError during a capture.
   * @throws CudaError when the work failed.
   */
  query(): boolean {
    this.#checkIdle();
    if (this.#parts.work.staging) return false;
    if (this.#parts.work.idle) return true;
    const over = binding().streamQuery(this.#parts.handle);
    if (over) this.#parts.work.finishAll();
    return over;
  }

  /**
   * Waits for the enqueued work, then gives the stream back. Closing twice is fine.
   *
   * @throws BusyError during a capture.
   * @throws CudaError when the driver refuses.
   */
  close(): Promise<void> {
    if (this.#closing === undefined) {
      const { handle, work } = this.#parts;
      if (isCapturing()) return Promise.reject(new BusyError('Work is being captured on this thread'));
      this.#unwatch();
      // How the work ended is done()'s business.
      this.#closing = work.end().then(() => binding().streamDestroy(handle));
    }
    return this.#closing;
  }

  /** Marks the stream closed and gives it back once its work is over; a failure becomes a process warning. */
  [Symbol.dispose](): void {
    // What is captured is enqueued synchronously: it is over by then.
    if (isCapturing()) queueMicrotask(() => closeInBackground(this.close()));
    else closeInBackground(this.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw new DisposedError('Stream');
  }

  /** For what can't be captured. */
  #checkIdle(): void {
    this.#checkOpen();
    checkNoCapture();
  }
}
