import { seeded } from '@zerohop/test-support';

/** One of several things. */
export type Pick = <Item>(items: readonly Item[]) => Item;

export function picking(seed: number): Pick {
  const random = seeded(seed);
  return <Item>(items: readonly Item[]) => items[random.integer(0, items.length - 1)] as Item;
}
