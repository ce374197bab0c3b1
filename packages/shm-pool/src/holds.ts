/** Work in flight on a slot's blocks, as told by those who do it. */
export class Holds {
  readonly #onNone: () => void;
  #count = 0;
  #waiting: (() => void)[] = [];

  /** `onNone` is called each time the last of them has settled. */
  constructor(onNone: () => void) {
    this.#onNone = onNone;
  }

  get none(): boolean {
    return this.#count === 0;
  }

  /** Counts `work` until it settles, however it settles: once, also where it is a thenable of somebody's own. */
  add(work: Promise<unknown>): void {
    this.#count += 1;
    Promise.resolve(work).then(this.#done, this.#done);
  }

  readonly #done = (): void => {
    this.#count -= 1;
    if (this.#count > 0) return;
    for (const resume of this.#waiting.splice(0)) resume();
    this.#onNone();
  };

  /** Resolves when there are none. */
  async ended(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
