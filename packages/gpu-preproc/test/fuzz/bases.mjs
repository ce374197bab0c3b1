// Good pictures of many kinds, which the fuzzer damages.

import { seeded } from '@zerohop/test-support/seeded';
import sharp from 'sharp';

const noisy = (seed, width, height, channels) => {
  const { integer } = seeded(seed);
  const pixels = Uint8Array.from({ length: width * height * channels }, (_, i) => ((i * 7) % 200) + integer(0, 55));
  return sharp(pixels, { raw: { width, height, channels } });
};

/** @returns {Promise<{ container: string, name: string, bytes: Buffer }[]>} */
export async function makeBases() {
  const rgb = () => noisy(1, 90, 61, 3);
  const rgba = () => noisy(2, 70, 50, 4);
  const grey = () => noisy(3, 64, 64, 1);
  const pages = () => noisy(4, 40, 90, 3);
  const kinds = {
    'JPEG baseline': rgb().jpeg(),
    'JPEG 444': rgb().jpeg({ chromaSubsampling: '4:4:4' }),
    'JPEG progressive': rgb().jpeg({ progressive: true }),
    'JPEG grey': grey().jpeg(),
    'JPEG cmyk': rgb().toColourspace('cmyk').jpeg(),
    'JPEG exif': rgb().jpeg().withMetadata({ orientation: 6 }),
    'PNG rgb': rgb().png(),
    'PNG alpha': rgba().png(),
    'PNG palette': rgb().png({ palette: true }),
    'PNG 16': rgb().toColourspace('rgb16').png(),
    'PNG interlaced': rgb().png({ progressive: true }),
    'WebP lossy': rgb().webp(),
    'WebP lossless': rgb().webp({ lossless: true }),
    'WebP alpha': rgba().webp(),
    'WebP animated': sharp(await Promise.all([5, 6, 7].map((seed) => noisy(seed, 40, 30, 4).png().toBuffer())), {
      join: { animated: true },
    }).webp({ loop: 0, delay: [40, 40, 40] }),
    'TIFF raw': pages().tiff({ compression: 'none' }),
    'TIFF lzw': rgb().tiff({ compression: 'lzw', predictor: 'horizontal' }),
    'TIFF deflate': rgba().tiff({ compression: 'deflate' }),
    'TIFF jpeg': rgb().tiff({ compression: 'jpeg' }),
    'TIFF tiled': pages().tiff({ tile: true, tileWidth: 32, tileHeight: 32, pyramid: true }),
    'TIFF bilevel': grey().toColourspace('b-w').tiff({ bitdepth: 1, compression: 'ccittfax4' }),
  };
  return Promise.all(
    Object.entries(kinds).map(async ([name, picture]) => ({
      container: name.split(' ')[0],
      name,
      bytes: await picture.toBuffer(),
    })),
  );
}
