import type { Queue, Resource } from './resource.js';
import { holdSharedMemory } from './shared-memory.js';

/** Runs operations one after the other; what they use stays from the call until their end. */
export class JpegQueue implements Queue {
  #tail: Promise<void> = Promise.resolve();
  /** How many operations that are not over use each. */
  readonly #uses = new Map<Resource, number>();

  /** @param buffer ordinary memory that the operation reads */
  run<T>(resources: readonly Resource[], buffer: ArrayBufferLike | undefined, work: () => Promise<T>): Promise<T> {
    for (const resource of resources) {
      this.#uses.set(resource, (this.#uses.get(resource) ?? 0) + 1);
      resource.queues.add(this);
    }
    const release = buffer === undefined ? undefined : holdSharedMemory(buffer);
    const result = this.#tail.then(work).finally(() => {
      release?.();
      for (const resource of resources) this.#leave(resource);
    });
    this.#tail = result.then(
      () => undefined,
      () => {
        // Reported by the promise that the caller has.
      },
    );
    return result;
  }

  settled(): Promise<void> {
    return this.#tail;
  }

  #leave(resource: Resource): void {
    const uses = (this.#uses.get(resource) ?? 0) - 1;
    if (uses > 0) {
      this.#uses.set(resource, uses);
    } else {
      this.#uses.delete(resource);
      resource.queues.delete(this);
    }
  }
}
