/** What has to be closed, in the order in which it was opened; closing goes backwards and goes on after a failure. */
export class Cleanup {
  readonly #steps: (() => Promise<void> | void)[] = [];

  defer(step: () => Promise<void> | void): void {
    this.#steps.push(step);
  }

  /** Runs every step once, last first. @returns what the steps threw */
  async run(): Promise<unknown[]> {
    const errors: unknown[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    return errors;
  }
}
