/** What is in a chain, of which it can be in one. */
export interface Link<T> {
  before?: T | undefined;
  after?: T | undefined;
}

/** A list in order, of which any item can be taken out at once. */
export class Chain<T extends Link<T>> implements Iterable<T> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Puts it at the end. It must be in no chain. */
  add(item: T): void {
    item.before = this.#last;
    item.after = undefined;
    if (this.#last === undefined) this.#first = item;
    else this.#last.after = item;
    this.#last = item;
    this.#size += 1;
  }

  /** It must be in this chain. */
  delete(item: T): void {
    const { before, after } = item;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    item.before = undefined;
    item.after = undefined;
    this.#size -= 1;
  }

  /** An item may be taken out as soon as it was given. */
  *[Symbol.iterator](): Generator<T, void> {
    for (let item = this.#first; item !== undefined; ) {
      const { after } = item;
      yield item;
      item = after;
    }
  }
}
