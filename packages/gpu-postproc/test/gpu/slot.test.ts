import { TensorPool } from '@zerohop/shm-pool';
import { describeTier, seeded, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { expect, test } from 'vitest';
import { Detector } from '../../src/index.js';
import { blockOf, spec } from '../host-block.js';

const SHAPE = [1, 8, 162_000] as const;

function random(seed: number): Float32Array {
  const { next } = seeded(seed);
  const anchors = SHAPE[2];
  return Float32Array.from({ length: 8 * anchors }, (_, i) => {
    if (i < 2 * anchors) return next() * 2000;
    return i < 4 * anchors ? 10 + next() * 60 : next() * 0.2505;
  });
}

describeTier('gpu', 'an output block in GPU memory', () => {
  test('gives the same detections as the same bytes in host memory, two at once too', async () => {
    const { grpcUrl, metricsUrl } = sharedTriton();
    await using client = new TritonClient(grpcUrl, { metricsUrl });
    await using pool = await TensorPool.open(client, { model: 'defects', slots: 2, transport: 'cuda' });
    await using post = await Detector.create({ source: pool.output('output0'), head: 'yolov8' });
    using first = await pool.acquire();
    using second = await pool.acquire();
    const found = await Promise.all(
      [first, second].map(async (lease, seed) => {
        const block = lease.output<'FP32'>('output0');
        expect(block.kind).toBe('cuda');
        await block.write(random(seed));
        return [...(await post.run(block))];
      }),
    );
    const host = spec(SHAPE);
    const expected = await Promise.all([0, 1].map(async (seed) => [...(await post.run(blockOf(random(seed), host)))]));
    expect(found.map(({ length }) => length > 10)).toEqual([true, true]);
    expect(found).toEqual(expected);
  });
});
