import { Device } from '@zerohop/cuda-native';
import { describeTier, seeded } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { Detector } from '../../src/index.js';
import { deviceBlock } from '../device-block.js';
import { blockOf } from '../host-block.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

describeTier('driver', 'a block in device memory', () => {
  test('gives the same detections as the same bytes in host memory, several at once', async () => {
    const device = await Device.open(0);
    const source = { name: 'output0', datatype: 'FP32', shape: [1, 7, 900], kind: 'host' } as const;
    const post = await Detector.create({ source, head: 'yolov8' });
    const tensors = [0, 1, 2, 3].map((seed) => {
      const { next } = seeded(seed);
      return Float32Array.from({ length: 7 * 900 }, (_, i) => (i < 3600 ? 10 + next() * 200 : next() * 0.4));
    });
    const found = await Promise.all(
      tensors.map(async (tensor) => {
        const block = await deviceBlock(device, source);
        onTestFinished(() => block.close());
        await block.write(tensor);
        return [...(await post.run(block))];
      }),
    );
    const expected = await Promise.all(tensors.map(async (tensor) => [...(await post.run(blockOf(tensor, source)))]));
    expect(found.every(({ length }) => length > 10)).toBe(true);
    expect(found).toEqual(expected);
  });
});
