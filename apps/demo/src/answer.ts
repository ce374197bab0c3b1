import type { DetectorModel } from './model.js';
import type { ReportedDetection } from './report.js';

/**
 * Looks for what no working detector answers: another shape than the model declares, or elements that are no finite
 * numbers. Where a server writes nothing, a block still holds the NaN that the self-check put there.
 * @returns a clause for an error message, or undefined when all is well
 */
export function findFault(
  { output }: Pick<DetectorModel, 'output'>,
  shape: readonly number[],
  data: Float32Array,
): string | undefined {
  const rows = 4 + output.classCount;
  const declared = [1, rows, output.anchors];
  if (shape.join() !== declared.join() || data.length !== rows * output.anchors) {
    return `its output came as [${shape.join(', ')}] and is declared as [${declared.join(', ')}]`;
  }
  return findNonFinite(data, output.anchors);
}

function findNonFinite(data: Float32Array, anchors: number): string | undefined {
  // One quick pass over all of it, since that is the usual end: 0 times NaN or infinity is NaN, and stays so in a sum.
  let sum = 0;
  for (const value of data) sum += value * 0;
  if (sum === 0) return undefined;
  const faulty = new Set<number>();
  for (const [i, value] of data.entries()) if (!Number.isFinite(value)) faulty.add(i % anchors);
  return `${faulty.size} of ${anchors} anchors hold no number`;
}

/** Scores of fp16 arithmetic may be off by this. */
const scoreSlack = 1e-3;

/**
 * Looks for objects that there can't be: a score beyond 1, or a box whose corners have changed places.
 * @returns a clause for an error message, or undefined when all is well
 */
export function findImplausible(detections: readonly ReportedDetection[]): string | undefined {
  for (const { score, box } of detections) {
    if (score > 1 + scoreSlack) return `a score of ${score}, and scores go from 0 to 1`;
    const [x1, y1, x2, y2] = box;
    if (x2 < x1 || y2 < y1) return `a box of negative size, [${box.join(', ')}]`;
  }
  return undefined;
}
