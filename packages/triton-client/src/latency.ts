import { rangeError } from './check.js';

/** How long requests took, from `infer()` to the answer; of those that succeeded. All times in milliseconds. */
export interface LatencyHistogram {
  readonly count: number;
  readonly sumMs: number;
  /** 0 when there was none. */
  readonly maxMs: number;
  /**
   * The time within which `p` percent of the requests were answered, at most 3.2 % too high; 0 when there was none.
   *
   * @param p - 0 to 100
   * @throws RangeError for another number
   */
  percentile(p: number): number;
}

/** Steps to a power of two: the relative width of a bucket is at most 1/32. */
const STEPS = 32;
const STEP_BITS = 5;
const OCTAVES = 27;
const BUCKETS = OCTAVES * STEPS;
/** In microseconds, the unit of the buckets: about 35 minutes; what takes longer counts as that long. */
const LARGEST = 2 ** 31 - 1;

/** A log-linear histogram of fixed size. */
export class LatencyRecorder {
  readonly #buckets = new Float64Array(BUCKETS);
  #count = 0;
  #sum = 0;
  #max = 0;

  /** @param ms - at least 0 */
  record(ms: number): void {
    this.#count += 1;
    this.#sum += ms;
    if (ms > this.#max) this.#max = ms;
    const us = Math.min(ms * 1000, LARGEST) | 0;
    const bucket = bucketOf(us);
    this.#buckets[bucket] = (this.#buckets[bucket] as number) + 1;
  }

  snapshot(): LatencyHistogram {
    return new Snapshot(this.#buckets.slice(), this.#count, this.#sum, this.#max);
  }
}

/** Whole microseconds have a bucket each up to 63; above, each octave has as many as the first. */
function bucketOf(us: number): number {
  if (us < 2 * STEPS) return us;
  const shift = 31 - Math.clz32(us) - STEP_BITS;
  return shift * STEPS + (us >>> shift);
}

/** The end of a bucket, in microseconds. */
function endOf(bucket: number): number {
  if (bucket < 2 * STEPS) return bucket + 1;
  const shift = Math.floor(bucket / STEPS) - 1;
  return (bucket - shift * STEPS + 1) * 2 ** shift;
}

class Snapshot implements LatencyHistogram {
  readonly count: number;
  readonly sumMs: number;
  readonly maxMs: number;
  readonly #buckets: Float64Array;

  constructor(buckets: Float64Array, count: number, sumMs: number, maxMs: number) {
    this.#buckets = buckets;
    this.count = count;
    this.sumMs = sumMs;
    this.maxMs = maxMs;
  }

  percentile(p: number): number {
    if (typeof p !== 'number' || !(p >= 0 && p <= 100)) throw rangeError('a number from 0 to 100', 'p', p);
    const rank = Math.max(1, Math.ceil((p / 100) * this.count));
    let seen = 0;
    const bucket = this.#buckets.findIndex((count) => {
      seen += count;
      return seen >= rank;
    });
    return bucket < 0 ? 0 : Math.min(endOf(bucket) / 1000, this.maxMs);
  }
}
