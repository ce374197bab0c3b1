/** Waiting until nothing is under way any more, for a while. */
export class Drain {
  readonly #isEmpty: () => boolean;
  #onEmpty: (() => void) | undefined;

  constructor(isEmpty: () => boolean) {
    this.#isEmpty = isEmpty;
  }

  /** Something has ended. */
  check(): void {
    if (this.#isEmpty()) this.#onEmpty?.();
  }

  /**
   * Resolves when nothing is left. Calls `endRest` after `timeoutMs`, which ends what is left then.
   *
   * @param endRest - gets what to tell it
   */
  async wait(timeoutMs: number, endRest: (details: string) => void): Promise<void> {
    if (this.#isEmpty()) return;
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    const details = `The client was closed, and no answer came within ${timeoutMs} ms`;
    const timer = setTimeout(() => {
      endRest(details);
      this.check();
    }, timeoutMs);
    await empty;
    clearTimeout(timer);
  }
}
