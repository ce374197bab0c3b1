import { ABI } from './abi.js';
import { BusyError, losesContext } from './errors.js';
import type { Queue, Resource } from './resource.js';
import { holdSharedMemory } from './shared-memory.js';

/** Collects what the work uses that is captured on this thread at the moment, through whichever copy of this package. */
const CAPTURE = Symbol.for(`@zerohop/cuda-native/capture/${ABI}`);
const thread = globalThis as { [CAPTURE]?: Set<Resource> | undefined };

/** Runs `work`, which enqueues without waiting, and gives what it used. */
export function collectUses(work: () => void): Set<Resource> {
  const uses = new Set<Resource>();
  thread[CAPTURE] = uses;
  try {
    work();
  } finally {
    thread[CAPTURE] = undefined;
  }
  return uses;
}

/** Whether work is being captured on this thread. */
export function isCapturing(): boolean {
  return thread[CAPTURE] !== undefined;
}

/** What cannot be captured, and what would spoil the capture: @throws BusyError while work is captured on this thread. */
export function checkNoCapture(): void {
  if (isCapturing()) throw new BusyError('Work is being captured on this thread');
}

/** A stream's work in flight: what it uses stays until it is over. */
export class WorkQueue implements Queue {
  /** Numbers the enqueued work; a resource is in use until the number of its last work is over. */
  #enqueued = 0;
  /** The number up to which work is known to be over without an error. */
  #finished = 0;
  /** Work that is enqueued off the JS thread and is not over: its last parts may not be enqueued yet. */
  #staging = 0;
  readonly #inUse = new Map<Resource, number>();
  /** The tail of the work that is enqueued off the JS thread, one after the other. */
  #staged: Promise<void> = Promise.resolve();
  readonly #wait: () => Promise<void>;
  readonly #synchronize: () => Promise<void>;
  #end: Promise<void> | undefined;

  /**
   * @param wait resolves when the driver is done with all that it has been given.
   * @param synchronize the same by another way, for when the driver could not be asked.
   */
  constructor(wait: () => Promise<void>, synchronize: () => Promise<void>) {
    this.#wait = wait;
    this.#synchronize = synchronize;
  }

  /** Whether nothing has been enqueued that is not known to be over. */
  get idle(): boolean {
    return this.#staging === 0 && this.#finished === this.#enqueued;
  }

  /** Whether work is on its way that is not all enqueued yet. */
  get staging(): boolean {
    return this.#staging > 0;
  }

  /** Before a piece of work is enqueued: it uses these. */
  use(...resources: Resource[]): void {
    this.#enqueued += 1;
    for (const resource of resources) {
      thread[CAPTURE]?.add(resource);
      this.#inUse.set(resource, this.#enqueued);
      resource.queues.add(this);
    }
  }

  /** Everything enqueued so far is over. */
  finishAll(): void {
    this.#finish(this.#enqueued);
  }

  /** Resolves when all work so far is over; rejects when it failed. */
  async wait(): Promise<void> {
    const last = this.#enqueued;
    await this.#staged;
    await this.#wait();
    this.#finish(last);
  }

  async settled(): Promise<void> {
    await (this.#end ?? this.#ended());
  }

  /** As `settled`, and for the last time: from now on the driver is not asked about the stream any more. */
  end(): Promise<void> {
    this.#end ??= this.#ended();
    return this.#end;
  }

  async #ended(): Promise<void> {
    const last = this.#enqueued;
    try {
      await this.wait();
    } catch (error) {
      // A lost context has ended the work; done() is where that is reported. Another error is the question's: the work may
      // still be running.
      if (!losesContext(error)) await this.#ask();
      this.#retire(last);
    }
  }

  /** Waits by the other way. */
  async #ask(): Promise<void> {
    try {
      await this.#synchronize();
    } catch (error) {
      if (!losesContext(error)) throw error;
    }
  }

  /** Resolves when no work is on its way that is not all enqueued yet. */
  async allEnqueued(): Promise<void> {
    while (this.#staging > 0) await this.#staged;
  }

  /**
   * Runs work that is enqueued off the JS thread behind such work before it, and keeps what it uses alive meanwhile.
   *
   * @param buffer ordinary memory that it reads or writes
   */
  stage<T>(resources: Resource[], buffer: ArrayBufferLike | undefined, work: () => Promise<T>): Promise<T> {
    this.use(...resources);
    const release = buffer === undefined ? undefined : holdSharedMemory(buffer);
    this.#staging += 1;
    const worked = this.#staged.then(work).finally(() => {
      this.#staging -= 1;
      // Before the caller hears of it, who may close the memory at once.
      release?.();
    });
    this.#staged = worked.then(
      () => undefined,
      () => {
        // Reported by the promise that the caller has.
      },
    );
    return worked;
  }

  /**
   * As `stage`, for work whose beginning would keep a thread until all that the stream has been given before is over: the
   * driver is asked for that first, which takes no thread.
   */
  stageBehind<T>(resources: Resource[], buffer: ArrayBufferLike, work: () => Promise<T>): Promise<T> {
    return this.stage(resources, buffer, async () => {
      try {
        await this.#wait();
      } catch {
        // What the earlier work came to is done()'s business; whether there can be more, the driver tells the work itself.
      }
      return work();
    });
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
      resource.queues.delete(this);
    }
  }
}
