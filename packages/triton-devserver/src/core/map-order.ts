/*
 * The order in which the real server looks at the inputs of a request: that of a std::unordered_map of GNU's library, from
 * which the texts list them, and which decides which of two faults is told.
 */

const MASK = 2n ** 64n - 1n;
const MULTIPLIER = 0xc6a4a7935bd1e995n;
const SEED = 0xc70f6907n;
/** The numbers of buckets that a map grows through. */
const SIZES = [13, 29, 59, 127, 257, 541, 1109, 2357];

/** The names in the order of a map into which they were put one after the other. */
export function inMapOrder<Item extends { readonly name: string }>(items: readonly Item[]): Item[] {
  if (items.length < 2) return [...items];
  const hashed = items.map((item) => ({ item, hash: hashOf(Buffer.from(item.name, 'utf8')) }));
  let order: typeof hashed = [];
  let buckets = SIZES[0] as number;
  for (const entry of hashed) {
    if (order.length === buckets) {
      buckets = SIZES.find((size) => size > buckets) ?? 2 * buckets + 1;
      const before = order;
      order = [];
      for (const moved of before) put(order, moved, buckets);
    }
    put(order, entry, buckets);
  }
  return order.map(({ item }) => item);
}

/** In front of its bucket's, or of all when there are none. */
function put<Entry extends { readonly hash: bigint }>(order: Entry[], entry: Entry, buckets: number): void {
  const bucket = ({ hash }: Entry) => hash % BigInt(buckets);
  const first = order.findIndex((other) => bucket(other) === bucket(entry));
  order.splice(Math.max(0, first), 0, entry);
}

/** std::hash of a string in GNU's library for 64 bits: MurmurHash64A. */
function hashOf(bytes: Buffer): bigint {
  const mixed = (value: bigint) => value ^ (value >> 47n);
  const whole = bytes.byteLength - (bytes.byteLength % 8);
  let hash = SEED ^ ((BigInt(bytes.byteLength) * MULTIPLIER) & MASK);
  for (let at = 0; at < whole; at += 8) {
    const word = (bytes.readBigUInt64LE(at) * MULTIPLIER) & MASK;
    hash = ((hash ^ ((mixed(word) * MULTIPLIER) & MASK)) * MULTIPLIER) & MASK;
  }
  if (whole < bytes.byteLength) {
    const rest = Buffer.alloc(8);
    bytes.copy(rest, 0, whole);
    hash = ((hash ^ rest.readBigUInt64LE()) * MULTIPLIER) & MASK;
  }
  return mixed((mixed(hash) * MULTIPLIER) & MASK);
}
