/** Boxes that may become detections, in the order of their anchors: one entry of each array per candidate. */
export interface Candidates {
  /** x1, y1, x2, y2 in pixels of the model's input, flat. */
  readonly boxes: Float32Array;
  readonly scores: Float32Array;
  readonly classIds: Int32Array;
  /** Which anchor (last dimension of the tensor) each came from. */
  readonly anchors: Int32Array;
}

export interface DecodeOptions {
  /** Only an anchor whose best class scores above this (not equal) is a candidate. */
  readonly scoreThreshold: number;
  /** Only anchors whose best class is one of these. Applied after the best class is found. @defaultValue all */
  readonly classes?: readonly number[] | undefined;
}

/** Anchors handled at a time: their running best scores stay in the first-level cache. */
const TILE = 2048;

/**
 * Reads the raw output of a YOLOv8, 9, 11 or 12 detection head: `[1, 4 + classes, anchors]`, FP32, channel-first. Rows
 * 0–3 are cx, cy, w, h in input pixels; the others are scores with the sigmoid already applied.
 *
 * An anchor's class is that of its highest score, the lowest id among equals. An anchor with any NaN score is no
 * candidate. Boxes become corners in fp32 (`cx ± w/2`) and are not checked: they may be NaN or infinite. Each element is
 * read once, so memory that another process changes meanwhile gives some answer, never an access out of bounds.
 * Synchronous: a few milliseconds for `[1, 8, 162000]`.
 *
 * @throws RangeError when `shape` is not `[1, 5 or more, 1 or more]` or `data` has not as many elements
 */
export function decodeYolov8(data: Float32Array, shape: readonly number[], options: DecodeOptions): Candidates {
  const [batch, rows, anchorCount] = shape as [number, number, number];
  if (shape.length !== 3 || batch !== 1 || !(rows >= 5) || !(anchorCount >= 1) || !shape.every(Number.isSafeInteger)) {
    throw new RangeError(`Expected shape [1, 4 + classes, anchors] but received [${shape.join(', ')}]`);
  }
  if (data.length !== rows * anchorCount) {
    throw new RangeError(`Expected ${rows * anchorCount} elements for data but received ${data.length}`);
  }
  const wanted = options.classes === undefined ? undefined : new Set(options.classes);
  const threshold = Math.fround(options.scoreThreshold);
  const best = new Float32Array(TILE);
  const bestClass = new Int32Array(TILE);
  const anchors: number[] = [];
  const scores: number[] = [];
  const classIds: number[] = [];
  for (let start = 0; start < anchorCount; start += TILE) {
    const count = Math.min(TILE, anchorCount - start);
    bestScores(data, rows - 4, anchorCount, start, count, threshold, best, bestClass);
    for (let i = 0; i < count; i++) {
      const score = best[i] as number;
      if (!(score > threshold)) continue;
      const classId = bestClass[i] as number;
      if (wanted !== undefined && !wanted.has(classId)) continue;
      anchors.push(start + i);
      scores.push(score);
      classIds.push(classId);
    }
  }
  return {
    boxes: corners(data, anchorCount, anchors),
    scores: Float32Array.from(scores),
    classIds: Int32Array.from(classIds),
    anchors: Int32Array.from(anchors),
  };
}

/** Highest score above the threshold and its class for `count` anchors; NaN where a score is NaN. */
function bestScores(
  data: Float32Array,
  classes: number,
  anchorCount: number,
  start: number,
  count: number,
  threshold: number,
  best: Float32Array,
  bestClass: Int32Array,
): void {
  best.fill(threshold, 0, count);
  for (let c = 0; c < classes; c++) {
    const row = (4 + c) * anchorCount + start;
    for (let i = 0; i < count; i++) {
      const score = data[row + i] as number;
      const known = best[i] as number;
      if (score <= known) continue;
      // Higher, or one of the two is NaN: then the anchor's answer is NaN and stays so.
      best[i] = score > known ? score : NaN;
      bestClass[i] = c;
    }
  }
}

function corners(data: Float32Array, anchorCount: number, anchors: readonly number[]): Float32Array {
  const boxes = new Float32Array(4 * anchors.length);
  for (let k = 0, to = 0; k < anchors.length; k++, to += 4) {
    const anchor = anchors[k] as number;
    const cx = data[anchor] as number;
    const cy = data[anchorCount + anchor] as number;
    const halfWidth = Math.fround((data[2 * anchorCount + anchor] as number) / 2);
    const halfHeight = Math.fround((data[3 * anchorCount + anchor] as number) / 2);
    boxes[to] = cx - halfWidth;
    boxes[to + 1] = cy - halfHeight;
    boxes[to + 2] = cx + halfWidth;
    boxes[to + 3] = cy + halfHeight;
  }
  return boxes;
}
