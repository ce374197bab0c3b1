/** Comparing what two runs found. */
export interface Found {
  readonly label: string;
  readonly classId: number;
  readonly score: number;
  readonly box: readonly [number, number, number, number];
}

type Box = Found['box'];

/** Intersection over union. */
export function iou(a: Box, b: Box): number {
  const width = Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0]));
  const height = Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  const area = (box: Box) => (box[2] - box[0]) * (box[3] - box[1]);
  return (width * height) / (area(a) + area(b) - width * height);
}

/**
 * What keeps two runs from being the same detections: another count, class, a box with IoU below 0.99 or a score that
 * is more than 1e-3 off. Near-equal scores may change places, so each object takes its best partner.
 */
export function differences(a: readonly Found[], b: readonly Found[]): string[] {
  const found: string[] = [];
  if (a.length !== b.length) found.push(`${a.length} and ${b.length} objects`);
  const free = new Set(b);
  for (const object of a) {
    const partner = [...free].sort((x, y) => iou(y.box, object.box) - iou(x.box, object.box))[0];
    if (partner === undefined) break;
    free.delete(partner);
    const overlap = iou(partner.box, object.box);
    const off = Math.abs(partner.score - object.score);
    if (partner.classId !== object.classId || overlap < 0.99 || off > 1e-3) {
      found.push(
        `${object.label} [${object.box.join(', ')}]: class ${partner.classId}, IoU ${overlap}, score ${off} off`,
      );
    }
  }
  return found;
}
