/** What a queue keeps in its entries. */
export interface FifoEntry<T> {
  next: T | undefined;
  previous: T | undefined;
}

/** A first-in, first-out queue from whose middle an entry leaves in constant time, as an aborted request does. */
export class Fifo<T extends FifoEntry<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): T | undefined {
    return this.#first;
  }

  push(entry: T): void {
    entry.previous = this.#last;
    if (this.#last === undefined) this.#first = entry;
    else this.#last.next = entry;
    this.#last = entry;
    this.#size += 1;
  }

  shift(): T | undefined {
    const entry = this.#first;
    if (entry !== undefined) this.remove(entry);
    return entry;
  }

  /** All of them, which are then in no queue. */
  takeAll(): T[] {
    const all: T[] = [];
    for (let entry = this.shift(); entry !== undefined; entry = this.shift()) all.push(entry);
    return all;
  }

  /** `entry` must be in this queue. */
  remove(entry: T): void {
    if (entry.previous === undefined) this.#first = entry.next;
    else entry.previous.next = entry.next;
    if (entry.next === undefined) this.#last = entry.previous;
    else entry.next.previous = entry.previous;
    entry.next = undefined;
    entry.previous = undefined;
    this.#size -= 1;
  }
}
