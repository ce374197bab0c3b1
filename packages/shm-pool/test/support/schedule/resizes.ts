/** The number of slots that a pool has to have while it is resized under its callers. */
import type { TensorPool } from '../../../src/index.js';

export interface ResizeContext {
  settled(): void;
  /** Every wish that was under way ended so. */
  failed(error: unknown, pool: TensorPool): void;
}

export class Resizes {
  readonly #context: ResizeContext;
  #pool: TensorPool | undefined;
  #pending = new Set<Promise<void>>();
  #least = 0;
  #most = 0;
  #wanted = 0;

  constructor(context: ResizeContext) {
    this.#context = context;
  }

  /** For the next pool. */
  begin(pool: TensorPool, slots: number): void {
    this.#pool = pool;
    // Those of the pool before have nothing to say any more.
    this.#pending = new Set();
    this.#least = this.#most = this.#wanted = slots;
  }

  /** The pool has at least so many slots, unless some were given up. */
  get least(): number {
    return this.#least;
  }

  get most(): number {
    return this.#most;
  }

  get wanted(): number {
    return this.#wanted;
  }

  get pending(): boolean {
    return this.#pending.size > 0;
  }

  ask(slots: number): void {
    const pool = this.#pool;
    if (pool === undefined || pool.closed) return;
    this.#wanted = slots;
    this.#least = Math.min(this.#least, slots);
    this.#most = Math.max(this.#most, slots);
    const pending = this.#pending;
    const wish: Promise<void> = pool.resize(slots).then(
      () => {
        pending.delete(wish);
        if (pending !== this.#pending || pool.closed) return;
        this.#context.settled();
        this.#settled(this.#wanted);
      },
      (error: unknown) => {
        pending.delete(wish);
        this.#context.failed(error, pool);
        if (pending !== this.#pending || pool.closed) return;
        // It goes on with what it has.
        this.#wanted = pool.stats.size;
        this.#settled(this.#wanted);
      },
    );
    pending.add(wish);
  }

  /** All wishes settle together; the last of them to be told says what there is now. */
  #settled(size: number): void {
    if (this.#pending.size > 0) return;
    this.#least = this.#most = size;
  }
}
