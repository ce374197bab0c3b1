import { Device } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { imageFrom, Preprocessor } from '../../src/index.js';
import { deviceBlock } from '../device-block.js';
import { floats, makeBlock } from '../host-block.js';
import { noise } from '../noise.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

describeTier('driver', 'a block in device memory', () => {
  test('gets the same bytes as a block in host memory: several at once, on the block’s stream or another', async () => {
    const device = await Device.open(0);
    const target = { name: 'images', datatype: 'FP32', shape: [1, 3, 64, 96], kind: 'host' } as const;
    const pre = await Preprocessor.create({ target });
    const other = device.createStream();
    onTestFinished(() => other.close());
    const pictures = [0, 1, 2, 3].map((seed) =>
      imageFrom(noise(seed, 3 * 120 * (50 + seed)), { width: 120, height: 50 + seed, format: 'RGB8' }),
    );
    const written = await Promise.all(
      pictures.map(async (picture, i) => {
        const block = await deviceBlock(device, target);
        onTestFinished(() => block.close());
        await pre.run(picture, block, i % 2 === 0 ? {} : { stream: other });
        return block.read();
      }),
    );
    const expected = await Promise.all(
      pictures.map(async (picture) => {
        const block = makeBlock(target);
        await pre.run(picture, block);
        return floats(block);
      }),
    );
    expect(written).toEqual(expected);
  });
});
