import { warnOfCleanup } from './cleanup-warning.js';
import { watchLeak } from './leaks.js';

/** Something that runs work in order and can say when all of it so far is over. */
export interface Queue {
  /** Resolves when everything enqueued so far has ended, also when it failed. Rejects when that can't be found out. */
  settled(): Promise<void>;
}

/**
 * Something that work in flight may be using: memory, a module, a graph. Streams enter themselves when they enqueue work
 * with it and leave when that work is over; closing waits for those still there. A queue holds its resources strongly,
 * so that nothing is collected under running work either.
 */
export class Resource {
  readonly queues = new Set<Queue>();
  readonly kind: string;
  readonly #free: () => Promise<void>;
  readonly #unwatch: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  /**
   * @param what for the warning when it is never closed, such as "A Module on device 0"; undefined when closing it gives
   * nothing back
   * @param free gives it back; called once, when nothing uses it any more. Must not refer to the resource.
   */
  constructor(kind: string, what: string | undefined, free: () => Promise<void>) {
    this.kind = kind;
    this.#free = free;
    this.#unwatch = what === undefined ? undefined : watchLeak(this, kind, what);
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /** An operation off the JS thread uses it: closing waits until that has ended. */
  async during<T>(operation: Promise<T>): Promise<T> {
    const ended = operation.then(
      () => undefined,
      () => {
        // Reported by the promise that the caller has.
      },
    );
    const queue: Queue = { settled: () => ended };
    this.queues.add(queue);
    try {
      return await operation;
    } finally {
      this.queues.delete(queue);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  async #drain(): Promise<void> {
    this.#unwatch?.();
    await Promise.all(Array.from(this.queues, (queue) => queue.settled()));
    await this.#free();
  }
}

/** Closes without a caller to tell: a failure becomes a process warning. */
export function closeInBackground(close: Promise<void>): void {
  close.catch(warnOfCleanup);
}
