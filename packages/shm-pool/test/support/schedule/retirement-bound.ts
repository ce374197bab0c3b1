/** How many regions may have been given up: those of requests that were in flight when a connection was lost. */
export class RetirementBound {
  readonly #retired: () => number;
  readonly #inFlight: () => number;
  #limit = 0;
  #windows = 0;

  /** @param retired - how many regions were given up so far. @param inFlight - how many requests have no answer, nor were given up */
  constructor(retired: () => number, inFlight: () => number) {
    this.#retired = retired;
    this.#inFlight = inFlight;
  }

  get limit(): number {
    return this.#limit;
  }

  /**
   * Connections may be lost from now until what is returned is called. Of what was in flight at earlier losses, only what
   * has not come to an end may be given up still.
   */
  open(): () => void {
    if (this.#windows === 0) this.#limit = this.#now;
    this.#windows += 1;
    return () => {
      this.#windows -= 1;
    };
  }

  /** Another request is in flight. */
  sent(): void {
    if (this.#windows > 0) this.#limit = Math.max(this.#limit, this.#now);
  }

  /** So many more may be given up for another reason. */
  allow(count: number): void {
    this.#limit += count;
  }

  get #now(): number {
    return this.#retired() + this.#inFlight();
  }
}
