import { checkNumberIn, checkPositiveInteger, outOfRange, wrongType } from '../arguments.js';
import { KeptBoxes } from './kept-boxes.js';
import { orderByScore } from './order.js';

export interface NmsOptions {
  /** A box is dropped when its IoU with a kept box of its class is above this. From 0 to 1. */
  readonly iouThreshold: number;
  /** An id for each box; only boxes of equal id suppress each other. Absent: all boxes are of one class. */
  readonly classIds?: ArrayLike<number> | undefined;
  /** Lets boxes of all classes suppress each other. @defaultValue false */
  readonly classAgnostic?: boolean | undefined;
  /** Only this many best-scored boxes are looked at. @defaultValue all */
  readonly maxCandidates?: number | undefined;
  /** Stops when this many are kept. @defaultValue no limit */
  readonly maxDetections?: number | undefined;
}

export interface NmsResult {
  /** Indices of the kept boxes into the caller's arrays, by score descending. */
  readonly indices: Int32Array;
  /** A cap was met: boxes were left out that nobody looked at. */
  readonly truncated: boolean;
}

/**
 * Exact greedy non-maximum suppression. Boxes are taken by score descending, equal scores by index ascending; each is
 * kept unless an earlier kept box of its class has `I / (Sa + Sb − I) > iouThreshold`, all in fp32 (torchvision's
 * rule). A box with a NaN score is never kept; one with NaN or infinite coordinates neither suppresses nor is
 * suppressed. Synchronous; 30,000 boxes take some 10 ms, more when most of them overlap and are kept.
 *
 * @param boxes x1, y1, x2, y2 of each box, flat
 * @param scores one for each box
 * @throws TypeError, RangeError for wrong arguments, or more than 2,097,152 boxes
 */
export function greedyNms(boxes: ArrayLike<number>, scores: ArrayLike<number>, options: NmsOptions): NmsResult {
  if (typeof options !== 'object' || options === null) throw wrongType('object', 'options', options);
  const iouThreshold = checkNumberIn('iouThreshold', options.iouThreshold, 0, 1);
  const { maxCandidates, maxDetections, classIds } = options;
  if (maxCandidates !== undefined) checkPositiveInteger('maxCandidates', maxCandidates);
  if (maxDetections !== undefined) checkPositiveInteger('maxDetections', maxDetections);
  checkLength('scores', scores);
  if (checkLength('boxes', boxes) !== 4 * scores.length) {
    throw outOfRange(`${4 * scores.length} (4 for each of ${scores.length} scores)`, 'boxes.length', boxes.length);
  }
  if (classIds !== undefined && checkLength('classIds', classIds) !== scores.length) {
    throw outOfRange(`${scores.length} (one for each score)`, 'classIds.length', classIds.length);
  }
  const ordered = orderByScore(scores);
  const candidates = ordered.subarray(0, maxCandidates);
  const flat = boxes instanceof Float32Array ? boxes : Float32Array.from(boxes);
  const kept = new KeptBoxes(flat, options.classAgnostic === true ? undefined : classIds, iouThreshold);
  const limit = Math.min(maxDetections ?? Infinity, candidates.length);
  const indices = new Int32Array(limit);
  let count = 0;
  let looked = 0;
  while (count < limit && looked < candidates.length) {
    const index = candidates[looked++] as number;
    if (kept.tryKeep(index)) indices[count++] = index;
  }
  return { indices: indices.slice(0, count), truncated: looked < ordered.length };
}

function checkLength(name: string, value: ArrayLike<number>): number {
  if (typeof value !== 'object' || value === null || typeof value.length !== 'number') {
    throw wrongType('array of numbers', name, value);
  }
  return value.length;
}
