/** Brings the number of a pool's slots to what was last asked for, while they are in use. */
import { messageOf, PoolError } from './errors.js';

/** The pool's slots, as they are changed. */
export interface Slots {
  readonly size: number;
  /** How many slots that left are not released yet. */
  readonly leaving: number;
  /** Makes one more slot and lends it to the first who waits. */
  grow(signal: AbortSignal): Promise<void>;
  /** Takes `count` idle slots out of service, or as many as there are. */
  shed(count: number): void;
  /** No further slot comes, although some were to: those who wait may wait in vain. */
  checkExhausted(): void;
}

interface Wish {
  resolve(): void;
  reject(error: Error): void;
}

export class Resizer {
  readonly #slots: Slots;
  readonly #label: string;
  readonly #wishes = new Set<Wish>();
  readonly #end = new AbortController();
  #wanted: number;
  #growth: Promise<void> | undefined;

  constructor(slots: Slots, wanted: number, label: string) {
    this.#slots = slots;
    this.#wanted = wanted;
    this.#label = label;
  }

  /** A slot is being made. */
  get growing(): boolean {
    return this.#growth !== undefined;
  }

  /** How many slots there are too many, for those that come back to leave instead. */
  get surplus(): number {
    return Math.max(0, this.#slots.size - this.#wanted);
  }

  /**
   * Resolves when there are as many slots as the last wish asked for, and every region of one that left is released. A
   * wish that is overtaken by another settles with it.
   */
  to(wanted: number): Promise<void> {
    this.#wanted = wanted;
    const settled = new Promise<void>((resolve, reject) => this.#wishes.add({ resolve, reject }));
    this.check();
    return settled;
  }

  /** Goes on from where the slots are now: to be called whenever one has come, left, or been released. */
  check(): void {
    if (this.#wishes.size === 0) return;
    this.#slots.shed(this.surplus);
    if (this.#growth !== undefined || this.surplus > 0) return;
    if (this.#slots.size < this.#wanted) this.#growth = this.#grow();
    else if (this.#slots.leaving === 0) for (const wish of this.#take()) wish.resolve();
  }

  async #grow(): Promise<void> {
    let failure: unknown;
    try {
      while (this.#slots.size < this.#wanted) await this.#slots.grow(this.#end.signal);
    } catch (error) {
      failure = error;
    }
    this.#growth = undefined;
    // Another wish may ask for no more than there are.
    if (failure === undefined || this.#slots.size >= this.#wanted) this.check();
    else this.#giveUp(failure);
  }

  #giveUp(failure: unknown): void {
    const { size } = this.#slots;
    const code = failure instanceof PoolError ? failure.code : 'ERR_POOL_RESIZE';
    const error = new PoolError(
      code,
      `${this.#label} has ${size} of the ${this.#wanted} slots that it was to be resized to: ${messageOf(failure)}`,
      { cause: failure },
    );
    this.#wanted = Math.max(1, size);
    for (const wish of this.#take()) wish.reject(error);
    this.#slots.checkExhausted();
  }

  #take(): Wish[] {
    const wishes = [...this.#wishes];
    this.#wishes.clear();
    return wishes;
  }

  /** Ends it: wishes are rejected with `reason`. Resolves when no slot is being made any more. */
  async close(reason: Error): Promise<void> {
    for (const wish of this.#take()) wish.reject(reason);
    this.#end.abort(reason);
    await this.#growth;
  }
}
