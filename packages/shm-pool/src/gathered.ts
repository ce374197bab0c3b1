/** Tells of what comes in bursts once a burst, instead of once each. Pure. */

/** How long a burst is gathered, in milliseconds. */
const BURST_MS = 250;

export class Gathered<T> {
  readonly #tell: (items: readonly [T, ...T[]]) => void;
  #items: T[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** `tell` is called with all that came within a quarter of a second of the first, in order. */
  constructor(tell: (items: readonly [T, ...T[]]) => void) {
    this.#tell = tell;
  }

  add(item: T): void {
    this.#items.push(item);
    // A process that has nothing else to do ends without it.
    this.#timer ??= setTimeout(() => this.flush(), BURST_MS).unref();
  }

  /** Tells now what has been gathered, if anything. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const [first, ...others] = this.#items.splice(0);
    if (first !== undefined) this.#tell([first, ...others]);
  }
}
