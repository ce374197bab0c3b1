import { Device } from '@zerohop/cuda-native';
import { nvjpegAvailability } from '@zerohop/cuda-native/nvjpeg';
import { describeTier } from '@zerohop/test-support';
import sharp from 'sharp';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { decodeImage, type Image, Preprocessor } from '../../src/index.js';
import { deviceBlock } from '../device-block.js';
import { makeBlock, spec } from '../host-block.js';
import { noise } from '../noise.js';

const target = spec([1, 3, 96, 128]);

/** A smooth picture, since sharp edges of colour are where decoders differ. */
const smooth = (width: number, height: number, seed = 1) =>
  sharp(noise(seed, 3 * width * height), { raw: { width, height, channels: 3 } }).blur(6);

/** How far two pictures are apart: the largest difference of two bytes, and the mean. */
async function distance(a: Image, b: Image): Promise<{ most: number; mean: number }> {
  const [x, y] = [(await a.toHost()).data, (await b.toHost()).data];
  const length = 3 * a.width * a.height;
  let most = 0;
  let sum = 0;
  for (let i = 0; i < length; i++) {
    const difference = Math.abs((x[i] as number) - (y[i] as number));
    most = Math.max(most, difference);
    sum += difference;
  }
  return { most, mean: sum / length };
}

/** Of chroma at half the size: decoders enlarge it differently. */
function expectNear({ most, mean }: { most: number; mean: number }): void {
  expect(most).toBeLessThanOrEqual(12);
  expect(mean).toBeLessThan(1);
}

describeTier('gpu', 'JPEGs, decoded on the GPU', () => {
  let device: Device;
  beforeAll(async () => {
    device = await Device.open(0);
    expect(nvjpegAvailability()).toMatchObject({ available: true });
  });

  async function decoded(jpeg: Uint8Array): Promise<Image> {
    const image = await decodeImage(jpeg, { device });
    onTestFinished(() => image.close());
    return image;
  }

  test.each([
    ['4:2:0', { chromaSubsampling: '4:2:0' }],
    ['4:4:4', { chromaSubsampling: '4:4:4' }],
    ['progressive', { progressive: true }],
  ] as const)('%s: pixels near those of sharp, and a tensor of just these pixels', async (_, options) => {
    const jpeg = await smooth(333, 222)
      .jpeg({ quality: 95, ...options })
      .toBuffer();
    const image = await decoded(jpeg);
    expect(image).toMatchObject({ width: 333, height: 222, decoder: 'nvjpeg', kind: 'cuda' });
    expectNear(await distance(image, await decodeImage(jpeg)));

    await using pre = await Preprocessor.create({ target, device });
    const block = await deviceBlock(device, target);
    onTestFinished(() => block.close());
    const geometry = await pre.run(jpeg, block);
    await using cpu = await Preprocessor.create({ target, device: 'cpu' });
    const expected = makeBlock(target);
    expect(geometry).toEqual(await cpu.run(image, expected));
    expect(Buffer.from((await block.read()).buffer).equals(expected.memory)).toBe(true);
  });

  test('a grey one', async () => {
    const jpeg = await smooth(64, 50).greyscale().jpeg().toBuffer();
    const image = await decoded(jpeg);
    expect(image.decoder).toBe('nvjpeg');
    expect((await distance(image, await decodeImage(jpeg))).most).toBeLessThanOrEqual(1);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'EXIF orientation %i: upright as by sharp; as stored with exif: false',
    async (orientation) => {
      const jpeg = await smooth(90, 61).jpeg({ quality: 95 }).withMetadata({ orientation }).toBuffer();
      const image = await decoded(jpeg);
      const upright = await decodeImage(jpeg);
      expect([image.width, image.height, image.decoder]).toEqual([upright.width, upright.height, 'nvjpeg']);
      expectNear(await distance(image, upright));
      const stored = await decodeImage(jpeg, { device, exif: false });
      onTestFinished(() => stored.close());
      expect([stored.width, stored.height]).toEqual([90, 61]);
    },
  );

  test('what nvJPEG does not take sharp decodes: CMYK', async () => {
    const jpeg = await smooth(64, 64).toColourspace('cmyk').jpeg().toBuffer();
    const image = await decoded(jpeg);
    expect(image.decoder).toBe('sharp');
    expect((await distance(image, await decodeImage(jpeg))).most).toBe(0);
  });

  test('what is damaged or too large is refused with its code, and the next one works', async () => {
    const jpeg = await smooth(400, 300).jpeg().toBuffer();
    await expect(decodeImage(jpeg.subarray(0, jpeg.length / 2), { device })).rejects.toMatchObject({
      code: 'ERR_IMAGE_CORRUPT',
    });
    await expect(decodeImage(jpeg, { device, limitInputPixels: 119_999 })).rejects.toMatchObject({
      code: 'ERR_IMAGE_TOO_LARGE',
    });
    expect((await decoded(jpeg)).width).toBe(400);
  });

  test('forty of different sizes at once', async () => {
    await using pre = await Preprocessor.create({ target, device });
    const jpegs = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        smooth(60 + 31 * i, 400 - 7 * i, i)
          .jpeg()
          .toBuffer(),
      ),
    );
    const equal = await Promise.all(
      jpegs.map(async (jpeg) => {
        const block = await deviceBlock(device, target);
        onTestFinished(() => block.close());
        await pre.run(jpeg, block);
        await using cpu = await Preprocessor.create({ target, device: 'cpu' });
        const expected = makeBlock(target);
        await cpu.run(await decoded(jpeg), expected);
        return Buffer.from((await block.read()).buffer).equals(expected.memory);
      }),
    );
    expect(equal).toEqual(jpegs.map(() => true));
  });
});
