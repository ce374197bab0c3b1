import type { RowBand } from '../reference/tensor.js';

/** What a band is in. */
export const BAND = { free: 0, taken: 1, done: 2 } as const;

/**
 * The rows `from` to before `to` of a tensor, cut into bands of `rows` each, with a state for each band in memory that
 * threads share: whoever turns a state from free to taken writes that band, and says so by turning it to done. So a fast
 * thread writes more bands than a slow one, and a band that a thread left behind when it ended is known.
 */
export interface Bands {
  readonly from: number;
  readonly to: number;
  readonly rows: number;
  readonly states: Int32Array;
}

/** About how long one band takes, in ms: short beside a turn of the event loop, long beside what a band costs to begin. */
const BAND_MS = 2;

/** Cuts rows of which all `total` of the tensor take about `ms`. */
export function cutBands(from: number, total: number, ms: number): Bands {
  const rows = Math.max(1, Math.floor((total * BAND_MS) / Math.max(ms, BAND_MS)));
  const count = Math.ceil((total - from) / rows);
  return { from, to: total, rows, states: new Int32Array(new SharedArrayBuffer(4 * count)) };
}

/** Takes a free band, if there is one. */
export function takeBand({ states }: Bands): number | undefined {
  for (let i = 0; i < states.length; i++) {
    if (Atomics.compareExchange(states, i, BAND.free, BAND.taken) === BAND.free) return i;
  }
  return undefined;
}

export function finishBand({ states }: Bands, band: number): void {
  Atomics.store(states, band, BAND.done);
}

/** The bands that are not done. */
export function missingBands({ states }: Bands): number[] {
  return Array.from(states.keys()).filter((i) => Atomics.load(states, i) !== BAND.done);
}

export function rowsOf({ from, to, rows }: Bands, band: number): RowBand {
  const first = from + band * rows;
  return { from: first, to: Math.min(to, first + rows) };
}
