import { greedyNms, type NmsOptions } from './reference/nms.js';

/**
 * Exact greedy non-maximum suppression over boxes in host memory: the indices of the kept boxes, by score descending.
 * The rule, ties and NaN included, is {@link greedyNms}'s. Runs on the JS thread today.
 *
 * @param boxes x1, y1, x2, y2 of each box, flat
 * @param scores one for each box
 * @throws TypeError, RangeError for wrong arguments, or more than 2,097,152 boxes
 */
export async function nms(
  boxes: ArrayLike<number>,
  scores: ArrayLike<number>,
  options: NmsOptions,
): Promise<Int32Array> {
  return greedyNms(boxes, scores, options).indices;
}
