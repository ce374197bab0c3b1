/** What can be wrong with every connection of a server at once. */
export class Wire {
  readonly #watchers = new Set<() => void>();
  #thawed: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  #bytesPerSecond: number | undefined;

  get frozen(): boolean {
    return this.#thawed !== undefined;
  }

  /** Resolves when it is thawed; undefined when it is not frozen. */
  get thawed(): Promise<void> | undefined {
    return this.#thawed?.promise;
  }

  /** As SIGSTOP: nothing is read, written or answered, pings included. The kernel goes on to take connections. */
  freeze(): void {
    if (this.#thawed !== undefined) return;
    let resolve = () => {};
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    this.#thawed = { promise, resolve };
    this.#changed();
  }

  /** As SIGCONT. */
  thaw(): void {
    const thawed = this.#thawed;
    this.#thawed = undefined;
    thawed?.resolve();
    this.#changed();
  }

  /** What each connection reads at most; undefined for as fast as it goes. */
  get bytesPerSecond(): number | undefined {
    return this.#bytesPerSecond;
  }

  set bytesPerSecond(rate: number | undefined) {
    this.#bytesPerSecond = rate;
    this.#changed();
  }

  /** Calls at each change until the function given back is called. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  #changed(): void {
    for (const changed of [...this.#watchers]) changed();
  }
}
