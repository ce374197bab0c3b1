/** The definition of the benchmark models' `reduce`, and inputs whose answers are known. */

export const WINDOWS = 6000;

/** Elements [begin, end) of window k of a tensor of n elements: adaptive windows, as in pooling. */
export function windowRange(k: number, n: number): { begin: number; end: number } {
  return { begin: Math.floor((k * n) / WINDOWS), end: Math.ceil(((k + 1) * n) / WINDOWS) };
}

export interface Probe {
  /** Index into the output. */
  readonly index: number;
  readonly expected: number;
}

/**
 * Overwrites `input` with a pattern of its own for request `i`: one whole number everywhere and other ones in the first
 * and last window, so that a stale, partial or foreign input or output shows. Sums stay below 2^24: exact in FP32.
 *
 * @returns what the first, a middle and the last output value of `reduce` must be
 */
export function writePattern(input: Float32Array, i: number): Probe[] {
  const n = input.length;
  const base = (i % 251) + 1;
  input.fill(base);
  input[0] = base + 1000 + (i % 7);
  input[n - 1] = base + 2000 + (i % 11);
  const middle = WINDOWS / 2;
  return [0, middle, WINDOWS - 1].map((index) => {
    const { begin, end } = windowRange(index, n);
    let expected = 0;
    for (let at = begin; at < end; at++) expected += input[at] ?? Number.NaN;
    return { index, expected };
  });
}
