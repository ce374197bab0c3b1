import type { DeviceMemory } from '@zerohop/cuda-native';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { orientLaunch, type StoredImage } from '../../src/gpu/orienter.js';
import { decodeImage } from '../../src/index.js';
import { type ExifOrientation, orient, uprightSize } from '../../src/reference.js';
import { noise } from '../noise.js';
import { ORIENTATIONS } from '../orient-cases.js';

describe('a picture turned upright', () => {
  test.each(
    ORIENTATIONS.flatMap((orientation) => [
      { orientation, width: 7, height: 5 },
      { orientation, width: 1, height: 9 },
    ]),
  )('$width x $height of orientation $orientation is as sharp gives it', async ({ orientation, width, height }) => {
    const file = await sharp(noise(orientation, 3 * width * height), { raw: { width, height, channels: 3 } })
      .tiff()
      .withMetadata({ orientation })
      .toBuffer();
    const stored = await decodeImage(file, { exif: false });
    const upright = await decodeImage(file);
    const { data, ...shape } = orient(stored, orientation);
    expect(shape).toMatchObject({ ...uprightSize({ width, height }, orientation), format: 'RGB8' });
    expect(shape).toMatchObject({ width: upright.width, height: upright.height });
    expect(Buffer.compare(data, upright.data)).toBe(0);
  });
});

describe('the orienter refuses', () => {
  const memoryOf = (byteLength: number) => ({ byteLength, address: 0n }) as DeviceMemory;
  const image: StoredImage = { memory: memoryOf(1_000_000), width: 100, height: 50 };

  test.each<[string, Partial<StoredImage>, ExifOrientation, RegExp]>([
    ['an orientation of 0', {}, 0 as 1, /integer from 1 to 8/],
    ['an orientation of 9', {}, 9 as 1, /integer from 1 to 8/],
    ['an orientation between', {}, 1.5 as 1, /integer from 1 to 8/],
    ['a pitch shorter than a row', { pitch: 299 }, 1, /at least 300/],
    ['memory that ends early', { byteOffset: 985_001 }, 1, /at least 1000001 bytes/],
    ['more rows than a launch has', { memory: memoryOf(2 ** 40), width: 2_097_121 }, 6, /2097120/],
  ])('%s', (_, change, orientation, message) => {
    expect(() => orientLaunch({ ...image, ...change }, orientation)).toThrow(message);
  });
});
