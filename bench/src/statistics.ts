/** Medians and percentiles, by nearest rank. */

/** `sorted` in ascending order and not empty; `share` in (0, 1]. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const index = Math.min(sorted.length, Math.max(1, Math.ceil(share * sorted.length))) - 1;
  const value = sorted[index];
  if (value === undefined) throw new RangeError('Expected at least one value but received none');
  return value;
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The middle value (of an even number the mean of the two), least and greatest. `values` is not empty. */
export function spread(values: readonly number[]): Spread {
  const sorted = Float64Array.from(values).sort();
  const low = percentile(sorted, 0.5);
  const high = sorted[Math.floor(sorted.length / 2)] ?? low;
  return { median: (low + high) / 2, min: percentile(sorted, Number.MIN_VALUE), max: percentile(sorted, 1) };
}
