import type { AbandonedNameHandle } from './native/handles.js';
import { binding } from './native/load.js';

/**
 * The name of a region whose creator is gone, locked for this process: until `remove()` or `close()` everybody else
 * takes it for one that is in use. Made by `SharedMemory.tryLock`. When this process ends first, the name stays as it
 * was.
 */
export class AbandonedName {
  /** The name, with its leading slash. */
  readonly key: string;
  readonly #handle: AbandonedNameHandle;
  #closed = false;

  /** @internal */
  constructor(key: string, handle: AbandonedNameHandle) {
    this.key = key;
    this.#handle = handle;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Removes the name, unless it is another file's by now, and gives up the lock, in this order. Does nothing after
   * `close()` or a second time. Does not block.
   *
   * @throws SharedMemoryError `ERR_SHM_SYSTEM`, such as EPERM for another user's region; the lock is held on.
   */
  remove(): void {
    if (this.#closed) return;
    binding().shmRemoveLocked(this.#handle);
    this.#closed = true;
  }

  /** Gives up the lock and leaves the name to the next who looks. Closing twice is fine. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    binding().shmUnlock(this.#handle);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
