/** The definition of greedy NMS with no shortcut: every pair of boxes that has to be compared is compared. */

export interface NaiveOptions {
  readonly iouThreshold: number;
  readonly classIds?: ArrayLike<number>;
}

const f = Math.fround;

/** IoU of boxes `a` and `b`, each operation rounded to fp32. */
export function iou(boxes: Float32Array, a: number, b: number): number {
  const [ax1, ay1, ax2, ay2] = boxes.subarray(4 * a, 4 * a + 4) as unknown as [number, number, number, number];
  const [bx1, by1, bx2, by2] = boxes.subarray(4 * b, 4 * b + 4) as unknown as [number, number, number, number];
  const width = Math.max(f(Math.min(ax2, bx2) - Math.max(ax1, bx1)), 0);
  const height = Math.max(f(Math.min(ay2, by2) - Math.max(ay1, by1)), 0);
  const shared = f(width * height);
  const areaA = f(f(ax2 - ax1) * f(ay2 - ay1));
  const areaB = f(f(bx2 - bx1) * f(by2 - by1));
  return f(shared / f(f(areaA + areaB) - shared));
}

export function naiveNms(boxes: Float32Array, scores: Float32Array, options: NaiveOptions): number[] {
  const order = [...scores.keys()]
    .filter((i) => !Number.isNaN(scores[i]))
    .sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b);
  const kept: number[] = [];
  for (const i of order) {
    const same = kept.filter((k) => options.classIds === undefined || options.classIds[k] === options.classIds[i]);
    if (!same.some((k) => iou(boxes, k, i) > f(options.iouThreshold))) kept.push(i);
  }
  return kept;
}
