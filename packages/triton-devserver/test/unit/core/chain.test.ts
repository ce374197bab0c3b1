import { expect, test } from 'vitest';
import { Chain, type Link } from '../../../src/core/chain.js';
import { Random } from '../../support/differential/random.js';

interface Item extends Link<Item> {
  readonly key: bigint;
}

test.each([1, 2, 3])('items are in order, whatever was taken out (seed %i)', (seed) => {
  const random = new Random(seed);
  const chain = new Chain<Item>();
  const items: Item[] = [];
  for (let step = 0; step < 2000; step += 1) {
    if (items.length === 0 || random.chance(0.55)) {
      const item: Item = { key: BigInt(random.integer(0, 50)) };
      items.push(item);
      chain.add(item);
    } else {
      const [item] = items.splice(random.integer(0, items.length - 1), 1) as [Item];
      chain.delete(item);
    }
    expect(chain.size).toBe(items.length);
  }
  expect([...chain]).toEqual(items);
  for (const item of chain) chain.delete(item);
  expect([...chain, chain.size]).toEqual([0]);
});
