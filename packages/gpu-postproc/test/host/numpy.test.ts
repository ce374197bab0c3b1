import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeTier, peersPython, seeded } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { Detector } from '../../src/index.js';
import { greedyNms } from '../../src/reference.js';
import { boxSet, KINDS } from '../box-sets.js';
import { blockOf, spec } from '../host-block.js';

const base64 = (array: ArrayBufferView): string =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('base64');

function oracle<Answer>(cases: readonly object[]): Answer[] {
  const script = fileURLToPath(new URL('numpy_oracle.py', import.meta.url));
  const input = JSON.stringify(cases);
  const run = spawnSync(peersPython(), [script], { input, maxBuffer: 2 ** 26, encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`numpy_oracle.py failed: ${run.stderr}`);
  return JSON.parse(run.stdout) as Answer[];
}

describeTier(
  'host',
  'numpy and OpenCV',
  () => {
    test('NMS has the indices and the order of numpy, over kinds, sizes, thresholds and class counts', () => {
      const cases = KINDS.flatMap((kind) =>
        [0, 1, 2, 63, 64, 65, 300, 511, 512, 513, 1000].flatMap((count) =>
          [0, 0.3, 0.45, 0.5, 0.7, 1].map((iouThreshold, i) => {
            const classes = [1, 80, 1203][i % 3] as number;
            return { kind, count, iouThreshold, classes, set: boxSet(kind, count, classes, 100 * count + i) };
          }),
        ),
      );
      cases.push({
        kind: 'clustered',
        count: 8400,
        iouThreshold: 0.45,
        classes: 80,
        set: boxSet('clustered', 8400, 80, 1),
      });
      cases.push({ kind: 'spread', count: 8400, iouThreshold: 0.7, classes: 1, set: boxSet('spread', 8400, 1, 2) });
      const answers = oracle<number[]>(
        cases.map(({ iouThreshold, set }) => ({
          kind: 'nms',
          iouThreshold,
          boxes: base64(set.boxes),
          scores: base64(set.scores),
          classIds: base64(set.classIds),
        })),
      );
      const wrong = cases.filter(({ iouThreshold, set }, i) => {
        const { indices } = greedyNms(set.boxes, set.scores, { iouThreshold, classIds: set.classIds });
        return indices.join() !== answers[i]?.join();
      });
      expect(answers).toHaveLength(cases.length);
      expect(wrong.map(({ kind, count, iouThreshold, classes }) => ({ kind, count, iouThreshold, classes }))).toEqual(
        [],
      );
    });

    test('NMS has the indices of OpenCV on integer boxes, equal scores and exact ties with the threshold among them', () => {
      const cases = Array.from({ length: 100 }, (_, seed) => boxSet('integer', 200, 1, seed));
      const answers = oracle<number[]>(
        cases.map(({ boxes, scores }) => ({
          kind: 'opencv',
          iouThreshold: 0.5,
          boxes: base64(boxes),
          scores: base64(scores),
        })),
      );
      // OpenCV drops scores that are not above 0; here that is the caller's business.
      const ours = cases.map(({ boxes, scores }) =>
        [...greedyNms(boxes, scores, { iouThreshold: 0.5 }).indices].filter((i) => (scores[i] as number) > 0),
      );
      expect(ours).toEqual(answers);
    });

    test('a detector gives the boxes, scores and classes of numpy, bit for bit', async () => {
      const shapes = [
        [1, 5, 1],
        [1, 8, 700],
        [1, 84, 8400],
        [1, 8, 162_000],
      ];
      const cases = shapes.map((shape, i) => {
        const [, rows, anchors] = shape as [number, number, number];
        const { next } = seeded(i);
        // A few objects, many anchors around each; one anchor in a thousand has a NaN score.
        const data = new Float32Array(rows * anchors);
        for (let a = 0; a < anchors; a++) {
          const object = Math.floor(next() * 40);
          data[a] = 60 + (object % 8) * 80 + next() * 20;
          data[anchors + a] = 60 + (object >> 3) * 80 + next() * 20;
          data[2 * anchors + a] = 30 + next() * 30;
          data[3 * anchors + a] = 30 + next() * 30;
          const likely = next() < 300 / anchors;
          for (let c = 4; c < rows; c++) data[c * anchors + a] = likely ? next() : next() * 0.2;
          if (next() < 0.001) data[4 * anchors + a] = NaN;
        }
        return { kind: 'detect', shape, data, scoreThreshold: 0.25, iouThreshold: 0.45, maxDetections: 300 };
      });
      const answers = oracle<object>(cases.map((one) => ({ ...one, data: base64(one.data) })));
      const ours = await Promise.all(
        cases.map(async ({ data, shape }) => {
          const source = spec(shape);
          const post = await Detector.create({ source, head: 'yolov8' });
          const { boxes, scores, classIds } = await post.run(blockOf(data, source));
          return { boxes: base64(boxes), scores: base64(scores), classIds: [...classIds] };
        }),
      );
      expect(ours).toEqual(answers);
      expect(ours.slice(1).every(({ classIds }) => classIds.length > 10)).toBe(true);
    });
  },
  { needs: ['peers'] },
);
