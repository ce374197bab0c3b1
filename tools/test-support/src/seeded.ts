export interface Random {
  /** From 0 to below 1. */
  next(): number;
  /** From `low` to `high`, both included. */
  integer(low: number, high: number): number;
  pick<T>(values: readonly T[]): T;
}

/** A small seeded generator (mulberry32), so that a failing case can be made again from the number in its name. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return { next, integer, pick: <T>(values: readonly T[]): T => values[integer(0, values.length - 1)] as T };
}
