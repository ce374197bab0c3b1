import sharp from 'sharp';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { decodeImage } from '../../src/index.js';
import { noise } from '../noise.js';

/** Left half red, right half blue: 32 x 16. */
const halves = sharp({ create: { width: 32, height: 16, channels: 3, background: '#f00' } }).composite([
  { input: { create: { width: 16, height: 16, channels: 3, background: '#00f' } }, left: 16, top: 0 },
]);
const flat = (channels: 3 | 4, background: object | string) =>
  sharp({ create: { width: 8, height: 4, channels, background } });

const pixel = (image: { data: Uint8Array; pitch: number }, x: number, y: number): number[] => [
  ...image.data.subarray(y * image.pitch + 3 * x, y * image.pitch + 3 * x + 3),
];

const near = (value: number[], expected: number[], levels: number): boolean =>
  value.every((channel, i) => Math.abs(channel - (expected[i] as number)) <= levels);

describe('decodeImage gives upright RGB8', () => {
  test('of a lossless picture, byte for byte', async () => {
    const data = noise(1, 3 * 31 * 17);
    const png = await sharp(data, { raw: { width: 31, height: 17, channels: 3 } })
      .png()
      .toBuffer();
    const image = await decodeImage(png);
    expect(image).toMatchObject({ width: 31, height: 17, format: 'RGB8', pitch: 93, decoder: 'sharp' });
    expect(image.data).toEqual(data);
  });

  test.each([
    ['JPEG', () => halves.clone().jpeg({ quality: 100, chromaSubsampling: '4:4:4' })],
    ['palette PNG', () => halves.clone().png({ palette: true })],
    ['WebP', () => halves.clone().webp({ lossless: true })],
    ['TIFF', () => halves.clone().tiff({ compression: 'lzw' })],
    ['CMYK JPEG', () => halves.clone().toColourspace('cmyk').jpeg({ quality: 100 })],
    ['16-bit PNG', () => halves.clone().toColourspace('rgb16').png()],
  ])('of a %s', async (name, make) => {
    const image = await decodeImage(await make().toBuffer());
    expect(image).toMatchObject({ width: 32, height: 16, format: 'RGB8', pitch: 96 });
    // sharp makes inks by a profile, and none of them shows these colours.
    const levels = name === 'CMYK JPEG' ? 120 : 3;
    expect(near(pixel(image, 4, 8), [255, 0, 0], levels)).toBe(true);
    expect(near(pixel(image, 28, 8), [0, 0, 255], levels)).toBe(true);
  });

  test('of grey, 8 and 16 bits', async () => {
    const grey = sharp(new Uint8Array(32).fill(77), { raw: { width: 8, height: 4, channels: 1 } });
    const deep = sharp(new Uint16Array(32).fill(77 * 257), { raw: { width: 8, height: 4, channels: 1 } });
    for (const picture of [grey.png(), grey.clone().jpeg(), deep.toColourspace('grey16').png()]) {
      const image = await decodeImage(await picture.toBuffer());
      expect(near(pixel(image, 3, 2), [77, 77, 77], 1)).toBe(true);
      expect(image.data).toHaveLength(3 * 32);
    }
  });

  test('of transparency, blended over black', async () => {
    const image = await decodeImage(await flat(4, { r: 200, g: 100, b: 0, alpha: 0.5 }).png().toBuffer());
    expect(near(pixel(image, 0, 0), [100, 50, 0], 1)).toBe(true);
  });

  test.each([
    // Where red (the left half as stored) is after turning; the upright size.
    [1, [4, 8], 32, 16],
    [2, [28, 8], 32, 16],
    [3, [28, 8], 32, 16],
    [4, [4, 8], 32, 16],
    [5, [8, 4], 16, 32],
    [6, [8, 4], 16, 32],
    [7, [8, 28], 16, 32],
    [8, [8, 28], 16, 32],
  ])('of EXIF orientation %i', async (orientation, [x, y], width, height) => {
    const jpeg = await halves
      .clone()
      .jpeg({ quality: 100, chromaSubsampling: '4:4:4' })
      .withMetadata({ orientation })
      .toBuffer();
    const upright = await decodeImage(jpeg);
    expect(upright).toMatchObject({ width, height });
    expect(near(pixel(upright, x as number, y as number), [255, 0, 0], 3)).toBe(true);
    const stored = await decodeImage(jpeg, { exif: false });
    expect(stored).toMatchObject({ width: 32, height: 16 });
    expect(near(pixel(stored, 4, 8), [255, 0, 0], 3)).toBe(true);
  });
});

describe('decodeImage refuses', () => {
  const jpeg = (progressive: boolean) =>
    sharp(noise(2, 3 * 64 * 64), { raw: { width: 64, height: 64, channels: 3 } })
      .jpeg({ progressive })
      .toBuffer();
  const png = () =>
    sharp(noise(2, 3 * 64 * 64), { raw: { width: 64, height: 64, channels: 3 } })
      .png()
      .toBuffer();

  test.each([
    ['JPEG', () => jpeg(false)],
    ['JPEG', () => jpeg(true)],
    ['PNG', () => png()],
  ])('a %s cut anywhere, in one sentence', async (name, make) => {
    const whole = await make();
    // A PNG's last 12 bytes are its end chunk, which holds no pixels.
    const last = whole.length - (name === 'PNG' ? 16 : 1);
    const cuts = [8, 9, 40, 300, last >> 2, last >> 1, last - 700, last - 1, last];
    for (const cut of cuts) {
      const error = await decodeImage(whole.subarray(0, cut)).catch((caught: unknown) => caught);
      expect({ cut, error }).toMatchObject({ cut, error: { code: 'ERR_IMAGE_CORRUPT', cause: expect.any(Error) } });
      expect((error as Error).message).toMatch(/^The (JPEG|PNG) image is truncated or damaged: \S[^\n]+$/);
    }
  });

  test.each([
    ['PNG', () => png()],
    [
      'TIFF',
      () =>
        sharp(noise(2, 3 * 64 * 64), { raw: { width: 64, height: 64, channels: 3 } })
          .tiff({ compression: 'deflate' })
          .toBuffer(),
    ],
  ])('a %s with a wrong byte among its compressed pixels', async (_, make) => {
    const bytes = await make();
    const at = bytes.length >> 1;
    bytes[at] = (bytes[at] as number) ^ 0x55;
    await expect(decodeImage(bytes)).rejects.toMatchObject({ code: 'ERR_IMAGE_CORRUPT' });
  });

  test.each([
    ['no bytes', ''],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'],
    ['GIF', 'GIF89a\x01\x00\x01\x00\x80\x00\x00'],
    ['PDF', '%PDF-1.7'],
    ['text', 'hello, world'],
  ])('%s as unsupported', async (_, text) => {
    await expect(decodeImage(Buffer.from(text, 'latin1'))).rejects.toMatchObject({
      code: 'ERR_IMAGE_UNSUPPORTED',
      message: expect.stringMatching(/^Expected a JPEG, PNG, WebP or TIFF image, but /),
    });
  });

  test('more pixels than allowed, and takes exactly as many', async () => {
    const bytes = await png();
    await expect(decodeImage(bytes, { limitInputPixels: 4095 })).rejects.toMatchObject({
      code: 'ERR_IMAGE_TOO_LARGE',
      message: 'The PNG image has more than 4095 pixels, the limit set by limitInputPixels',
    });
    expect((await decodeImage(bytes, { limitInputPixels: 4096 })).width).toBe(64);
  });

  test('what is no bytes and no option', async () => {
    await expect(decodeImage('x.jpg' as unknown as Uint8Array)).rejects.toThrow(
      new TypeError('Expected Uint8Array for bytes but received "x.jpg" of type string'),
    );
    await expect(decodeImage(new Uint8Array(9), { limitInputPixels: 0 })).rejects.toThrow(RangeError);
    await expect(decodeImage(new Uint8Array(9), { exif: 1 as unknown as boolean })).rejects.toThrow(TypeError);
    await expect(decodeImage(new Uint8Array(9), null as never)).rejects.toThrow(/^Expected object for options/);
    await expect(decodeImage(new Uint8Array(9), { device: null as never })).rejects.toThrow(
      /^Expected Device for device/,
    );
  });
});

describe('without sharp', () => {
  afterEach(() => {
    vi.doUnmock('sharp');
    vi.resetModules();
  });

  test('says what to install, and finds it once it is there', async () => {
    const bytes = await flat(3, '#fff').png().toBuffer();
    vi.resetModules();
    vi.doMock('sharp', () => {
      throw new Error("Cannot find package 'sharp'");
    });
    const { decodeImage: decode } = await import('../../src/decode/decode-image.js');
    await expect(decode(bytes)).rejects.toMatchObject({
      code: 'ERR_DECODER_UNAVAILABLE',
      message: expect.stringContaining('npm i sharp'),
      cause: expect.any(Error),
    });
    vi.doUnmock('sharp');
    expect((await decode(bytes)).width).toBe(8);
  });
});
