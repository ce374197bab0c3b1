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

export interface Interval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The median with a confidence interval of at least 95 % from order statistics, which asks nothing of the distribution:
 * the k-th least and k-th greatest value enclose the true median unless fewer than k values lie on one side of it, a
 * binomial count. Fewer than 6 values can't give 95 %: the interval is then infinite.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = Float64Array.from(values).sort();
  const { median } = spread(values);
  const n = sorted.length;
  let below = 0;
  let probability = 0.5 ** n;
  let k = 0;
  // Two tails of P(X < k) <= 2.5 % each, X binomial (n, 1/2).
  while (below + probability <= 0.025) {
    below += probability;
    probability *= (n - k) / (k + 1);
    k += 1;
  }
  if (k === 0) return { median, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  return { median, low: sorted[k - 1] as number, high: sorted[n - k] as number };
}
