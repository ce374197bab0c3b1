import { seeded } from '@zerohop/test-support';

export interface BoxSet {
  readonly boxes: Float32Array;
  readonly scores: Float32Array;
  readonly classIds: Int32Array;
}

type Kind = 'spread' | 'clustered' | 'integer' | 'chain' | 'identical' | 'hostile';

export const KINDS: readonly Kind[] = ['spread', 'clustered', 'integer', 'chain', 'identical', 'hostile'];

/**
 * Sets of boxes that stress one thing each: `spread` (few overlaps), `clustered` (many), `integer` (areas exact in fp32,
 * so IoU equals a threshold exactly, and many equal scores), `chain` (each overlaps only its neighbours), `identical`,
 * `hostile` (NaN, infinite, inverted, empty, huge and tiny boxes; NaN and infinite scores).
 */
export function boxSet(kind: Kind, count: number, classes: number, seed: number): BoxSet {
  const { next, integer } = seeded(seed);
  const boxes = new Float32Array(4 * count);
  const scores = new Float32Array(count);
  const classIds = new Int32Array(count);
  const special = [NaN, Infinity, -Infinity, 3e38, -3e38, 1e-30, 0, -0];
  for (let i = 0; i < count; i++) {
    classIds[i] = integer(0, classes - 1);
    scores[i] = next();
    const centre = kind === 'clustered' ? integer(0, Math.max(1, count >> 5)) : 0;
    const [x, y, w, h] = {
      spread: () => [next() * 3840, next() * 2160, 8 + next() * 90, 8 + next() * 90],
      clustered: () => [(centre % 40) * 96 + next() * 12, Math.floor(centre / 40) * 90 + next() * 12, 70, 64],
      integer: () => [integer(0, 40), integer(0, 40), integer(1, 12), integer(1, 12)],
      chain: () => [i * 3, 10, 10, 10],
      identical: () => [100, 100, 50, 50],
      hostile: () => [next() * 300, next() * 300, next() * 60 - 10, next() * 60 - 10],
    }[kind]() as [number, number, number, number];
    boxes.set([x, y, x + w, y + h], 4 * i);
    if (kind === 'integer') scores[i] = integer(0, 8) / 8;
    if (kind === 'chain') scores[i] = 1 - i / (count + 1);
    if (kind === 'identical') scores[i] = 0.5;
    if (kind === 'hostile') {
      if (next() < 0.3) boxes[4 * i + integer(0, 3)] = special[integer(0, special.length - 1)] as number;
      if (next() < 0.1) scores[i] = [NaN, Infinity, -Infinity, -1, -0, 0][integer(0, 5)] as number;
    }
  }
  return { boxes, scores, classIds };
}
