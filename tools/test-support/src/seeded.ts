/** A small seeded generator (mulberry32), so that a failing case can be made again from the number in its name. */
export function seeded(seed: number): { next(): number; integer(low: number, high: number): number } {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, integer: (low, high) => low + Math.floor(next() * (high - low + 1)) };
}
