/** Most scores that can be ordered at once: an index must fit into the 21 bits that a key leaves beside 32 of score. */
export const MAX_SCORES = 2 ** 21;

/**
 * The indices of `scores` by score descending, equal scores by index ascending (+0 and −0 are equal). A total order, so
 * the result depends on nothing else. NaN scores are left out. Rounds scores to fp32.
 * @throws RangeError for more than {@link MAX_SCORES} scores
 */
export function orderByScore(scores: ArrayLike<number>): Uint32Array {
  const count = scores.length;
  if (count > MAX_SCORES) throw new RangeError(`Expected at most ${MAX_SCORES} scores but received ${count}`);
  const value = new Float32Array(1);
  const bits = new Uint32Array(value.buffer);
  const keys = new Float64Array(count);
  let used = 0;
  for (let i = 0; i < count; i++) {
    const score = scores[i] as number;
    if (Number.isNaN(score)) continue;
    value[0] = score + 0;
    const pattern = bits[0] as number;
    // An unsigned number that falls as the score rises: negative floats order the other way round than their bits.
    const descending = pattern >= 0x80000000 ? pattern : 0x7fffffff - pattern;
    keys[used++] = descending * MAX_SCORES + i;
  }
  const sorted = keys.subarray(0, used).sort();
  return Uint32Array.from(sorted, (key) => key % MAX_SCORES);
}
