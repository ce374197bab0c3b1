import { Device } from '@zerohop/cuda-native';
import { nvjpegAvailability } from '@zerohop/cuda-native/nvjpeg';
import { describeTier } from '@zerohop/test-support';
import sharp from 'sharp';
import { expect, onTestFinished, test } from 'vitest';
import { decodeImage } from '../../src/index.js';
import { noise } from '../noise.js';
import { useFakeDriver } from '../support/fake-driver.js';

useFakeDriver();
process.env.ZEROHOP_LIBNVJPEG = '/nowhere/libnvjpeg.so.13';

describeTier('driver', 'JPEGs on a GPU without nvJPEG', () => {
  test('are decoded by sharp, also many at once', async () => {
    expect(nvjpegAvailability().available).toBe(false);
    const device = await Device.open(0);
    const jpegs = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        sharp(noise(i, 3 * 60 * 40), { raw: { width: 60, height: 40, channels: 3 } })
          .jpeg()
          .withMetadata({ orientation: 6 })
          .toBuffer(),
      ),
    );
    const equal = await Promise.all(
      jpegs.map(async (jpeg) => {
        const image = await decodeImage(jpeg, { device });
        onTestFinished(() => image.close());
        expect(image).toMatchObject({ width: 40, height: 60, kind: 'cuda', decoder: 'sharp' });
        const { data } = await decodeImage(jpeg);
        return Buffer.from((await image.toHost()).data.subarray(0, data.length)).equals(data);
      }),
    );
    expect(equal).toEqual(jpegs.map(() => true));
  });
});
