/** Something that runs work in order and can say when all of it so far is over. */
export interface Queue {
  /** Resolves when everything enqueued so far has ended, also when it failed. */
  settled(): Promise<void>;
}

/**
 * Memory that work in flight may be using. Streams enter themselves when they enqueue work on it and leave when that
 * work is over; closing waits for those still there. A queue holds its resources strongly, so that memory is not
 * collected under running work either.
 */
export class Resource {
  readonly queues = new Set<Queue>();
  readonly #free: () => Promise<void>;
  #closing: Promise<void> | undefined;

  /** @param free gives the memory back; called once, when nothing uses it any more. */
  constructor(free: () => Promise<void>) {
    this.#free = free;
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  async #drain(): Promise<void> {
    await Promise.all(Array.from(this.queues, (queue) => queue.settled()));
    await this.#free();
  }
}

/** Closes without a caller to tell: a failure becomes a process warning. */
export function closeInBackground(close: Promise<void>): void {
  close.catch((error: unknown) => {
    process.emitWarning(error instanceof Error ? error.message : String(error), {
      type: 'CudaWarning',
      code: 'CUDA_CLEANUP',
    });
  });
}
