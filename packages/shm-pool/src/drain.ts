/** The wait of a close for what is in use. */
export class Drain {
  readonly #isOver: () => boolean;
  #mayWait = true;
  #resume: (() => void) | undefined;

  /** `isOver`: nothing is in use any more. */
  constructor(isOver: () => boolean) {
    this.#isOver = isOver;
  }

  /** Resolves when it is over, after `ms`, or when the wait is ended: at once when that was before. */
  wait(ms: number): Promise<void> {
    if (ms === 0 || !this.#mayWait) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#resume?.(), ms);
      this.#resume = () => {
        clearTimeout(timer);
        this.#resume = undefined;
        resolve();
      };
      this.check();
    });
  }

  /** To be called whenever something has come out of use. */
  check(): void {
    if (this.#resume !== undefined && this.#isOver()) this.#resume();
  }

  /** Ends the wait, also one that has not begun. */
  end(): void {
    this.#mayWait = false;
    this.#resume?.();
  }
}
