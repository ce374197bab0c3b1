import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeTier, peersPython, seeded } from '@zerohop/test-support';
import sharp, { type Sharp } from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeImage } from '../../src/index.js';
import { cmykTiff16 } from '../cmyk-tiff.js';
import { noise } from '../noise.js';

interface Answer {
  readonly file: string;
  readonly width: number;
  readonly height: number;
  /** A file of RGB bytes. */
  readonly pixels: string;
}

const SEED = 20261202;
/** Largest difference of any byte that passes. */
const LEVELS = 2;

/** What Pillow can't write. */
function picturesOfSharp(): Record<string, Sharp> {
  const smooth = (width: number, height: number) =>
    sharp(noise(4, 3 * width * height), { raw: { width, height, channels: 3 } }).blur(3);
  return {
    'tiled.tif': smooth(300, 200).tiff({ tile: true, tileWidth: 64, tileHeight: 48, compression: 'deflate' }),
    'pyramid.tif': smooth(300, 200).tiff({ tile: true, pyramid: true, compression: 'lzw' }),
    'predictor.tif': smooth(90, 70).tiff({ compression: 'lzw', predictor: 'horizontal' }),
    'interlaced.png': smooth(90, 70).png({ progressive: true }),
    'mozjpeg.jpg': smooth(90, 70).jpeg({ mozjpeg: true }),
    // Its profile turns the red of one into another: what decodes it must leave the numbers alone.
    'p3.jpg': smooth(90, 70).jpeg({ quality: 95 }).withIccProfile('p3'),
    'p3.png': smooth(90, 70).png().withIccProfile('p3'),
    'cmyk-profile.jpg': smooth(90, 70).toColourspace('cmyk').jpeg({ quality: 95 }).withIccProfile('cmyk'),
    'cmyk-profile.tif': smooth(90, 70).toColourspace('cmyk').tiff({ compression: 'lzw' }).withIccProfile('cmyk'),
  };
}

/** Where the Adobe segment (FF EE) of a JPEG begins. */
const adobeAt = (jpeg: Buffer): number => jpeg.indexOf(Buffer.from([0xff, 0xee, 0, 14]));

/** Without the Adobe segment: then the inks are stored as they are and not inverted. */
function withoutAdobe(jpeg: Buffer): Buffer {
  const at = adobeAt(jpeg);
  return Buffer.concat([jpeg.subarray(0, at), jpeg.subarray(at + 16)]);
}

/** The same bytes said to be YCCK by the last byte of the Adobe segment. */
function asYcck(jpeg: Buffer): Buffer {
  const copy = Buffer.from(jpeg);
  copy[adobeAt(jpeg) + 15] = 2;
  return copy;
}

describeTier(
  'host',
  'Pillow',
  () => {
    let folder = '';
    let answers: Answer[] = [];
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'zerohop-pillow-'));
      const read: string[] = [];
      const add = (name: string, bytes: Uint8Array): void => {
        read.push(join(folder, name));
        writeFileSync(read.at(-1) as string, bytes);
      };
      for (const [name, picture] of Object.entries(picturesOfSharp())) add(name, await picture.toBuffer());
      const cmyk = readFileSync(join(folder, 'cmyk-profile.jpg'));
      add('cmyk-plain.jpg', withoutAdobe(cmyk));
      add('ycck.jpg', asYcck(cmyk));
      add('cmyk-16.tif', cmykTiff16(20, 30, noise(6, 8 * 600)));
      const script = fileURLToPath(new URL('pillow_oracle.py', import.meta.url));
      const run = spawnSync(peersPython(), [script], { input: JSON.stringify({ folder, read }), encoding: 'utf8' });
      if (run.status !== 0) throw new Error(`pillow_oracle.py failed: ${run.stderr}`);
      answers = JSON.parse(run.stdout) as Answer[];
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test(`every picture is within ${LEVELS} levels of Pillow's`, async () => {
      const wrong: unknown[] = [];
      for (const { file, width, height, pixels } of answers) {
        const name = basename(file);
        try {
          const image = await decodeImage(readFileSync(file));
          const theirs = readFileSync(pixels);
          const worst = image.data.reduce((most, byte, i) => Math.max(most, Math.abs(byte - (theirs[i] as number))), 0);
          const sameSize = image.width === width && image.height === height;
          if (!sameSize || !(worst <= LEVELS)) wrong.push({ name, worst, size: `${image.width}x${image.height}` });
        } catch (error) {
          wrong.push({ name, error });
        }
      }
      expect(wrong).toEqual([]);
      expect(answers.length).toBeGreaterThan(80);
    });

    test(`cut at random, seed ${SEED}: a typed refusal, or the whole picture where what is cut off holds no pixels`, async () => {
      const { next } = seeded(SEED);
      const wrong: unknown[] = [];
      for (const { file } of answers) {
        const bytes = readFileSync(file);
        const whole = await decodeImage(bytes);
        for (const share of [0, 0.1, 0.5, ...Array.from({ length: 7 }, next)]) {
          const cut = Math.floor(share * bytes.length);
          const outcome = await decodeImage(bytes.subarray(0, cut)).then(
            ({ data }) => (Buffer.compare(data, whole.data) === 0 ? 'the picture' : 'another picture'),
            (error: { code?: string }) => error.code ?? error,
          );
          const passes = ['ERR_IMAGE_CORRUPT', 'ERR_IMAGE_UNSUPPORTED', 'the picture'].some(
            (known) => known === outcome,
          );
          if (!passes) wrong.push({ name: basename(file), cut, length: bytes.length, outcome });
        }
      }
      expect(wrong).toEqual([]);
    });
  },
  { needs: ['peers'] },
);
