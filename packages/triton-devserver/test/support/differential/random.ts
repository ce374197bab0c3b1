import { seeded } from '@zerohop/test-support';

/** Choices that follow from a number alone. */
export class Random {
  readonly #random: ReturnType<typeof seeded>;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  /** Between `low` and `high`, both included. */
  integer(low: number, high: number): number {
    return this.#random.integer(low, high);
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.integer(0, items.length - 1)] as Item;
  }

  times<Item>(count: number, make: (index: number) => Item): Item[] {
    return Array.from({ length: count }, (_, index) => make(index));
  }

  shuffled<Item>(items: readonly Item[]): Item[] {
    const rest = [...items];
    return items.map(() => rest.splice(this.integer(0, rest.length - 1), 1)[0] as Item);
  }
}
