import { Device } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import sharp from 'sharp';
import { expect, onTestFinished, test } from 'vitest';
import { buildFakeLibnvjpeg } from '../../../cuda-native/test/fake-libnvjpeg/build.mjs';
import { decodeImage } from '../../src/index.js';
import { noise } from '../noise.js';
import { useFakeDriver } from '../support/fake-driver.js';

useFakeDriver();
process.env.ZEROHOP_LIBNVJPEG = buildFakeLibnvjpeg();

const picture = () => sharp(noise(3, 3 * 60 * 40), { raw: { width: 60, height: 40, channels: 3 } });

describeTier('driver', 'JPEGs that nvJPEG takes on no version', () => {
  test('CMYK is left to sharp, also between pictures that nvJPEG takes', async () => {
    const device = await Device.open(0);
    const usual = await picture().jpeg().toBuffer();
    const cmyk = await picture().toColourspace('cmyk').jpeg().toBuffer();
    const decoders: (string | undefined)[] = [];
    for (const jpeg of [usual, cmyk, usual]) {
      const image = await decodeImage(jpeg, { device });
      onTestFinished(() => image.close());
      expect(image).toMatchObject({ width: 60, height: 40 });
      decoders.push(image.decoder);
    }
    expect(decoders).toEqual(['nvjpeg', 'sharp', 'nvjpeg']);
  });
});
