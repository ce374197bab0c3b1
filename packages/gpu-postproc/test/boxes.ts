import type { Box } from '../src/index.js';

/** Intersection over union of two boxes with some area. */
export function iou(a: Box, b: Box): number {
  const width = Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0]));
  const height = Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  const area = (box: Box): number => (box[2] - box[0]) * (box[3] - box[1]);
  return (width * height) / (area(a) + area(b) - width * height);
}

interface Found {
  readonly label: string;
  readonly score: number;
  readonly box: Box;
}

/**
 * What of `ours` has no partner of its own in `theirs`: the same label, an IoU of at least 0.95 and a score within 0.02.
 * Each is paired with the one left that overlaps it most.
 */
export function withoutPartner<T extends Found>(ours: readonly T[], theirs: readonly T[]): T[] {
  const left = new Set(theirs);
  return ours.filter((one) => {
    const overlap = (other: T): number => (other.label === one.label ? iou(one.box, other.box) : 0);
    const [best] = [...left].sort((a, b) => overlap(b) - overlap(a));
    if (best === undefined || overlap(best) < 0.95 || Math.abs(best.score - one.score) > 0.02) return true;
    left.delete(best);
    return false;
  });
}
