/*
 * std::sort of GNU's library, which decides the order of equal values where there are more than 16. Its heap sort for values
 * that divide badly again and again is left out: no such values come by chance.
 */

const SHORT = 16;

/** Sorts in place; `before` says that one has to come before another. */
export function stdSort<Item>(items: Item[], before: (a: Item, b: Item) => boolean): Item[] {
  divide(items, 0, items.length, before);
  // What is left to do is within SHORT places of where it belongs.
  for (let at = 1; at < items.length; at += 1) insert(items, at, before);
  return items;
}

type Before<Item> = (a: Item, b: Item) => boolean;

function divide<Item>(items: Item[], first: number, end: number, before: Before<Item>): void {
  let last = end;
  while (last - first > SHORT) {
    medianToFirst(items, first, first + 1, first + Math.floor((last - first) / 2), last - 1, before);
    const cut = partition(items, first, last, before);
    divide(items, cut, last, before);
    last = cut;
  }
}

function medianToFirst<Item>(items: Item[], to: number, a: number, b: number, c: number, before: Before<Item>): void {
  const is = (one: number, other: number) => before(items[one] as Item, items[other] as Item);
  if (is(a, b)) swap(items, to, is(b, c) ? b : is(a, c) ? c : a);
  else swap(items, to, is(a, c) ? a : is(b, c) ? c : b);
}

/** The pivot is the first. */
function partition<Item>(items: Item[], first: number, end: number, before: Before<Item>): number {
  const pivot = items[first] as Item;
  let low = first + 1;
  for (let high = end; ; low += 1) {
    while (before(items[low] as Item, pivot)) low += 1;
    high -= 1;
    while (before(pivot, items[high] as Item)) high -= 1;
    if (low >= high) return low;
    swap(items, low, high);
  }
}

function insert<Item>(items: Item[], from: number, before: Before<Item>): void {
  const item = items[from] as Item;
  let at = from;
  // One that comes before all is moved to the front without a look at those between.
  if (before(item, items[0] as Item)) at = 0;
  else while (before(item, items[at - 1] as Item)) at -= 1;
  items.copyWithin(at + 1, at, from);
  items[at] = item;
}

function swap<Item>(items: Item[], a: number, b: number): void {
  [items[a], items[b]] = [items[b] as Item, items[a] as Item];
}
