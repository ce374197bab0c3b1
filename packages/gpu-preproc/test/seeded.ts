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

/** Noise bytes from a seed; `opencv_oracle.py` makes the same ones. */
export function noise(seed: number, count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    let x = Math.imul((i + seed) >>> 0, 0x9e3779b1);
    x ^= x >>> 15;
    x = Math.imul(x, 0x85ebca77);
    x ^= x >>> 13;
    bytes[i] = x >>> 24;
  }
  return bytes;
}
