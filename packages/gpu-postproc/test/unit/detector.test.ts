import type { TensorBlock } from '@zerohop/cuda-native/tensor';
import { seeded } from '@zerohop/test-support';
import { describe, expect, test } from 'vitest';
import { Detector, type DetectorOptions, PostprocError } from '../../src/index.js';
import { decodeYolov8, greedyNms } from '../../src/reference.js';
import { blockOf, spec } from '../host-block.js';

const SHAPE = [1, 7, 3000];
const source = spec(SHAPE);

/** Random boxes, some of them overlapping, three classes. */
function random(seed: number, shape: readonly number[] = SHAPE): Float32Array {
  const { next } = seeded(seed);
  const anchors = shape[2] as number;
  return Float32Array.from({ length: 7 * anchors }, (_, i) =>
    i < 2 * anchors ? next() * 300 : i < 4 * anchors ? 10 + next() * 40 : next() * 0.6,
  );
}

/** One anchor per row of cx, cy, w, h and three scores; the other anchors score 0. */
function few(rows: number[][]): Float32Array {
  const data = new Float32Array(7 * 3000);
  rows.forEach((row, a) => {
    row.forEach((value, r) => {
      data[r * 3000 + a] = value;
    });
  });
  return data;
}

describe('run', () => {
  test('is the reference: decode, then greedy NMS', async () => {
    const post = await Detector.create({ source, head: 'yolov8', maxDetections: 100, maxCandidates: 1000 });
    const data = random(1);
    const found = await post.run(blockOf(data, source));
    const candidates = decodeYolov8(data, SHAPE, { scoreThreshold: 0.25 });
    const { indices, truncated } = greedyNms(candidates.boxes, candidates.scores, {
      iouThreshold: 0.45,
      classIds: candidates.classIds,
      maxCandidates: 1000,
      maxDetections: 100,
    });
    expect(found.length).toBe(100);
    expect(found.truncated).toBe(truncated);
    expect([...found.scores]).toEqual([...indices].map((k) => candidates.scores[k]));
    expect([...found.classIds]).toEqual([...indices].map((k) => candidates.classIds[k]));
    expect([...found.boxes]).toEqual([...indices].flatMap((k) => [...candidates.boxes.subarray(4 * k, 4 * k + 4)]));
  });

  test('gives objects on demand, best first, with labels', async () => {
    const rows = [
      [50, 60, 20, 20, 0, 0.5, 0],
      [90, 60, 20, 20, 0.75, 0.5, 0],
    ];
    const labelled = await Detector.create({ source, head: 'yolov8', labels: ['scratch', 'pit', 'dent'] });
    const found = await labelled.run(blockOf(few(rows), source));
    expect([...found]).toEqual([
      { box: [80, 50, 100, 70], score: 0.75, classId: 0, label: 'scratch' },
      { box: [40, 50, 60, 70], score: 0.5, classId: 1, label: 'pit' },
    ]);
    expect(found.at(-1)).toEqual(found.at(1));
    expect(found.at(2)).toBeUndefined();
    expect(found.truncated).toBe(false);
    const plain = await Detector.create({ source, head: 'yolov8' });
    expect([...(await plain.run(blockOf(few(rows), source)))].map(({ label }) => label)).toEqual(['0', '1']);
  });

  test('brings boxes back through the geometry', async () => {
    const post = await Detector.create({ source, head: 'yolov8' });
    const geometry = {
      toImage: ([x1, y1, x2, y2]: readonly number[]) =>
        [2 * (x1 as number), y1, x2, y2] as [number, number, number, number],
    };
    const found = await post.run(blockOf(few([[50, 60, 20, 20, 0.5, 0, 0]]), source), { geometry });
    expect(found.at(0)?.box).toEqual([80, 50, 60, 70]);
  });

  test('leaves out what lies in the padding round the picture, and nothing else', async () => {
    const post = await Detector.create({ source, head: 'yolov8', labels: ['scratch', 'pit', 'dent'] });
    const clamped = (value = 0) => Math.min(Math.max(value - 100, 0), 50);
    const geometry = {
      toImage: (box: readonly number[]) => box.map(clamped) as [number, number, number, number],
    };
    const rows = [
      [40, 120, 60, 20, 0.9, 0, 0],
      [120, 120, 20, 20, 0, 0.8, 0],
      [120, 180, 20, 20, 0.7, 0, 0],
      [145, 145, 30, 30, 0, 0, 0.6],
      [120, 130, 0, 10, 0, 0, 0.5],
    ];
    const found = await post.run(blockOf(few(rows), source), { geometry });
    expect([...found]).toEqual([
      { box: [10, 10, 30, 30], score: Math.fround(0.8), classId: 1, label: 'pit' },
      { box: [30, 30, 50, 50], score: Math.fround(0.6), classId: 2, label: 'dent' },
    ]);
    expect(found.boxes.length).toBe(8);
    expect((await post.run(blockOf(few(rows), source))).length).toBe(5);
  });

  test('the result does not change when the block does', async () => {
    const post = await Detector.create({ source, head: 'yolov8' });
    const data = random(2);
    const found = await post.run(blockOf(data, source));
    const before = [...found.boxes, ...found.scores];
    data.fill(0);
    expect([...found.boxes, ...found.scores]).toEqual(before);
  });

  test('thresholds, classes and classAgnostic', async () => {
    const rows = [
      [50, 50, 20, 20, 0.9, 0, 0],
      [50, 50, 20, 20, 0, 0.8, 0],
      [50, 55, 20, 20, 0.7, 0, 0],
      [90, 90, 20, 20, 0.2, 0, 0],
    ];
    const scores = async (options: Partial<DetectorOptions>): Promise<number[]> => {
      const post = await Detector.create({ source, head: 'yolov8', ...options });
      return [...(await post.run(blockOf(few(rows), source))).scores].map((score) => Math.round(score * 10) / 10);
    };
    expect(await scores({})).toEqual([0.9, 0.8]);
    expect(await scores({ iouThreshold: 0.7 })).toEqual([0.9, 0.8, 0.7]);
    expect(await scores({ scoreThreshold: 0.1 })).toEqual([0.9, 0.8, 0.2]);
    expect(await scores({ classAgnostic: true })).toEqual([0.9]);
    expect(await scores({ classes: [1] })).toEqual([0.8]);
    expect(await scores({ maxDetections: 1 })).toEqual([0.9]);
    expect(await scores({ maxCandidates: 1 })).toEqual([0.9]);
  });

  test('a cuda block is read once into a buffer that is used again, also with fewer anchors', async () => {
    const post = await Detector.create({ source, head: 'yolov8' });
    const host = await post.run(blockOf(random(3), source));
    const cuda = { ...source, kind: 'cuda' as const };
    const block = blockOf(random(3), cuda);
    const [first, second] = await Promise.all([post.run(block), post.run(block)]);
    expect([...first]).toEqual([...host]);
    expect([...second]).toEqual([...host]);
    expect(block.reads[0]?.buffer).not.toBe(block.reads[1]?.buffer);
    const small = { ...cuda, shape: [1, 7, 1000] };
    const smaller = blockOf(random(4, small.shape), small);
    await post.run(smaller);
    expect([block.reads[0]?.buffer, block.reads[1]?.buffer]).toContain(smaller.reads[0]?.buffer);
  });

  test('reads bytes that are not aligned, as those of a message are', async () => {
    const post = await Detector.create({ source, head: 'yolov8' });
    const data = random(5);
    const message = new Uint8Array(data.byteLength + 3);
    message.set(new Uint8Array(data.buffer), 3);
    const block = Object.defineProperty({ ...blockOf(data, source) }, 'memory', { value: message.subarray(3) });
    expect([...(await post.run(block))]).toEqual([...(await post.run(blockOf(data, source)))]);
  });
});

describe('hostile contents', () => {
  test('boxes that are not finite are returned and counted, or dropped when asked', async () => {
    const rows = [
      [NaN, 50, 20, 20, 0.9, 0, 0],
      [50, 50, Infinity, 20, 0.8, 0, 0],
      [50, 50, 20, 20, 0.7, 0, 0],
      [50, 50, 20, 20, NaN, 0.9, 0],
    ];
    const keep = await (await Detector.create({ source, head: 'yolov8' })).run(blockOf(few(rows), source));
    expect([keep.length, keep.nonFinite]).toEqual([3, 2]);
    const post = await Detector.create({ source, head: 'yolov8', dropNonFinite: true });
    const drop = await post.run(blockOf(few(rows), source));
    expect([drop.length, drop.nonFinite, drop.at(0)?.box.join()]).toEqual([1, 0, '40,40,60,60']);
  });

  test('300 tensors of random bits: some answer, never a class out of range, scores descending', async () => {
    const small = spec([1, 7, 64]);
    const post = await Detector.create({ source: small, head: 'yolov8', labels: ['a', 'b', 'c'] });
    for (let seed = 0; seed < 300; seed++) {
      const { integer } = seeded(seed);
      const bits = Uint32Array.from({ length: 7 * 64 }, () => integer(0, 0xffffffff));
      const found = await post.run(blockOf(new Float32Array(bits.buffer), small));
      expect([...found.classIds].every((id) => id >= 0 && id < 3)).toBe(true);
      expect([...found.scores].every((score, i) => score > 0.25 && score <= (found.scores[i - 1] ?? Infinity))).toBe(
        true,
      );
    }
  });

  test('every anchor above the threshold with the same score: capped, and says so', async () => {
    const post = await Detector.create({ source, head: 'yolov8', maxCandidates: 2999 });
    const data = new Float32Array(7 * 3000).fill(0.5);
    const found = await post.run(blockOf(data, source));
    expect([found.length, found.truncated]).toEqual([1, true]);
  });
});

describe('run holds the block', () => {
  test('before it returns, until the work has ended', async () => {
    const post = await Detector.create({ source, head: 'yolov8' });
    const block = blockOf(random(6), { ...source, kind: 'cuda' });
    const run = post.run(block);
    expect(block.held).toHaveLength(1);
    expect(await block.held[0]).toBe(await run);
  });

  test.each([
    ['another number of classes', spec([1, 8, 3000])],
    ['more anchors', spec([1, 7, 3001])],
    ['another type', spec(SHAPE, 'FP64')],
    ['fewer bytes than its shape says', { ...spec(SHAPE), byteLength: 4 }],
  ])('not when it has %s', async (_, wrong) => {
    const post = await Detector.create({ source, head: 'yolov8' });
    const elements = wrong.shape.reduce((a, b) => a * b, 1);
    const block = { ...blockOf(new Float32Array(elements), wrong), ...wrong };
    const error = await post.run(block).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(PostprocError);
    expect(error).toMatchObject({ code: 'ERR_TENSOR_MISMATCH' });
    expect((error as Error).message).toMatch(
      /^Expected a block of FP32 \[1,7,3000\] \(or fewer anchors\) but received 'output0', FP(32|64) \[1,\d,300\d\], \d+ bytes$/,
    );
    expect(block.held).toHaveLength(0);
  });

  test('not when the arguments are wrong', async () => {
    const post = await Detector.create({ source, head: 'yolov8' });
    const block = blockOf(random(7), source);
    await expect(post.run(undefined as unknown as TensorBlock)).rejects.toThrow(TypeError);
    await expect(post.run(block, { geometry: {} as never })).rejects.toThrow(
      new TypeError('Expected object with toImage() for geometry but received Object of type object'),
    );
    expect(block.held).toHaveLength(0);
  });
});

test.each(['host', 'cuda'] as const)(
  'a %s block whose lease is over: its own error, and no work is started',
  async (kind) => {
    const post = await Detector.create({ source, head: 'yolov8' });
    const block = blockOf(random(9), { ...source, kind });
    const over = new Error('The lease was released');
    Object.defineProperty(block, 'memory', {
      get: () => {
        throw over;
      },
    });
    await expect(post.run(block)).rejects.toBe(over);
    await new Promise((resolve) => setImmediate(resolve));
    expect([block.held, block.reads]).toEqual([[], []]);
  },
);

describe('create', () => {
  test.each([
    ['an input image', spec([1, 3, 2160, 3840])],
    ['no class rows', spec([1, 4, 8400])],
    ['a batch', spec([4, 84, 8400])],
    ['FP16', spec([1, 84, 8400], 'FP16')],
  ])('refuses %s', async (_, wrong) => {
    await expect(Detector.create({ source: wrong, head: 'yolov8' })).rejects.toThrow(
      new PostprocError(
        'ERR_TENSOR_MISMATCH',
        `Expected an FP32 tensor of shape [1,4+classes,anchors] for head 'yolov8' but received 'output0', ${wrong.datatype} [${wrong.shape}]`,
      ),
    );
  });

  test.each<[string, object, ErrorConstructor | TypeErrorConstructor]>([
    ['head', { head: 'yolov5' }, TypeError],
    ['scoreThreshold', { scoreThreshold: -0.1 }, RangeError],
    ['iouThreshold', { iouThreshold: '0.5' }, TypeError],
    ['maxDetections', { maxDetections: 0 }, RangeError],
    ['maxCandidates', { maxCandidates: 2.5 }, RangeError],
    ['classAgnostic', { classAgnostic: 1 }, TypeError],
    ['dropNonFinite', { dropNonFinite: 1 }, TypeError],
    ['classes', { classes: [3] }, RangeError],
    ['classes', { classes: 3 }, TypeError],
    ['labels.length', { labels: ['a'] }, RangeError],
    ['labels', { labels: [1, 2, 3] }, TypeError],
    ['source', { source: undefined }, TypeError],
  ])('names a wrong %s', async (name, wrong, type) => {
    const options = { source, head: 'yolov8', ...wrong } as DetectorOptions;
    const error = await Detector.create(options).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(type);
    expect((error as Error).message).toContain(`for ${name} but received`);
  });
});

test('close waits for runs in flight; later calls throw ERR_DISPOSED; twice is fine', async () => {
  const post = await Detector.create({ source, head: 'yolov8' });
  const block = blockOf(random(8), { ...source, kind: 'cuda' });
  const run = post.run(block);
  await post.close();
  expect(block.reads).toHaveLength(1);
  await run;
  await post[Symbol.asyncDispose]();
  expect(post.closed).toBe(true);
  await expect(post.run(block)).rejects.toMatchObject({ code: 'ERR_DISPOSED' });
});
