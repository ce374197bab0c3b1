import { Device } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import sharp from 'sharp';
import { afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { buildFakeLibnvjpeg } from '../../../cuda-native/test/fake-libnvjpeg/build.mjs';
import { decodeImage, Preprocessor } from '../../src/index.js';
import { deviceBlock } from '../device-block.js';
import { makeBlock, spec } from '../host-block.js';
import { noise } from '../noise.js';
import { useFakeDriver } from '../support/fake-driver.js';

useFakeDriver();
process.env.ZEROHOP_LIBNVJPEG = buildFakeLibnvjpeg();
// For each test one of which nothing was used before.
process.env.ZEROHOP_FAKE_DEVICES = '8';

const target = spec([1, 3, 48, 80], 'UINT8');

/** As a camera on its side takes it. */
const sideways = (seed: number) =>
  sharp(noise(seed, 3 * 60 * 40), { raw: { width: 60, height: 40, channels: 3 } })
    .jpeg()
    .withMetadata({ orientation: 6 })
    .toBuffer();

describeTier('driver', 'JPEGs on a GPU that fails', () => {
  let device: Device;
  let jpegs: Buffer[];
  let ordinal = 0;
  beforeEach(async () => {
    device = await Device.open(ordinal++);
  });
  beforeAll(async () => {
    jpegs = await Promise.all(Array.from({ length: 20 }, (_, i) => sideways(i)));
  });
  afterEach(() => {
    process.env.ZEROHOP_FAKE_FAIL = '';
  });

  type Block = Awaited<ReturnType<typeof deviceBlock>>;

  async function blocksOfAll(): Promise<Block[]> {
    const blocks = await Promise.all(jpegs.map(() => deviceBlock(device, target)));
    onTestFinished(async () => void (await Promise.all(blocks.map((block) => block.close()))));
    return blocks;
  }

  /** All pictures at once: how each run ended. */
  async function run(pre: Preprocessor, blocks: Block[]): Promise<string[]> {
    const settled = await Promise.allSettled(jpegs.map((jpeg, i) => pre.run(jpeg, blocks[i] as Block)));
    return settled.map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : 'written'));
  }

  const all = (code: string) => jpegs.map(() => code);

  test.each([
    ['nvjpegCreateEx=5', 'ERR_NVJPEG'],
    ['nvjpegJpegStateCreate=5', 'ERR_NVJPEG'],
    ['nvjpegDecode=8', 'ERR_NVJPEG'],
    ['cuMemAlloc=2', 'CUDA_ERROR_OUT_OF_MEMORY'],
    ['cuModuleGetFunction=500', 'CUDA_ERROR_NOT_FOUND'],
    ['cuLaunchKernel=1', 'CUDA_ERROR_INVALID_VALUE'],
  ])('%s: each of many runs says so, and the next ones work', async (fault, code) => {
    const blocks = await blocksOfAll();
    await using pre = await Preprocessor.create({ target, device });
    process.env.ZEROHOP_FAKE_FAIL = fault;
    expect(await run(pre, blocks)).toEqual(all(code));
    process.env.ZEROHOP_FAKE_FAIL = '';
    expect(await run(pre, blocks)).toEqual(all('written'));
    await using cpu = await Preprocessor.create({ target, device: 'cpu' });
    for (const [i, jpeg] of jpegs.entries()) {
      const image = await decodeImage(jpeg, { device });
      onTestFinished(() => image.close());
      expect(image).toMatchObject({ width: 40, height: 60, decoder: 'nvjpeg' });
      const expected = makeBlock(target);
      await cpu.run(image, expected);
      expect(Buffer.from((await (blocks[i] as Block).read()).buffer).equals(expected.memory)).toBe(true);
    }
  });

  test.each([
    ['refuses as unsupported', 'nvjpegDecode=4'],
    ['calls damaged', 'nvjpegDecode=3'],
  ])('what nvJPEG %s and sharp decodes is decoded by sharp', async (_, fault) => {
    const [jpeg] = jpegs as [Buffer];
    process.env.ZEROHOP_FAKE_FAIL = fault;
    const image = await decodeImage(jpeg, { device });
    onTestFinished(() => image.close());
    expect(image.decoder).toBe('sharp');
    const host = await decodeImage(jpeg);
    expect((await image.toHost()).data.subarray(0, host.data.length)).toEqual(host.data);
  });
});
