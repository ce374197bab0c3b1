/** Work that is done one after the other, in the order in which it was asked for. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  /** Whether nothing is done and nothing waits. */
  get idle(): boolean {
    return this.#count === 0;
  }

  /** Does `work` after all that was asked for before, however that ended. Settles as `work` does. */
  async run<T>(work: () => T | Promise<T>): Promise<T> {
    this.#count += 1;
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      this.#count -= 1;
    }
  }
}
