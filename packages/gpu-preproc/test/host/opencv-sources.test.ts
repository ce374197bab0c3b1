import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeTier, peersPython, seeded } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { type Interpolation, type PixelFormat, type Pixels, resize } from '../../src/reference.js';
import { noiseImage } from '../kernel-cases.js';

interface Case {
  readonly image: Pixels;
  readonly toWidth: number;
  readonly toHeight: number;
  readonly interpolation: Interpolation;
}

function oracle(cases: readonly Case[]): Buffer[] {
  const script = fileURLToPath(new URL('opencv_sources_oracle.py', import.meta.url));
  const input = cases.map(({ image: { width, height, format, data, pitch, planePitch }, ...to }) => {
    return { width, height, format, pitch, planePitch, ...to, data: Buffer.from(data).toString('base64') };
  });
  const run = spawnSync(peersPython(), [script], {
    input: JSON.stringify(input),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (run.status !== 0) throw new Error(`opencv_sources_oracle.py failed: ${run.stderr}`);
  return (JSON.parse(run.stdout) as string[]).map((text) => Buffer.from(text, 'base64'));
}

/** How far the samples of two pictures are apart at most. */
function furthest(ours: Pixels, theirs: Buffer): number {
  expect(ours.data.byteLength).toBe(theirs.byteLength);
  const samples = (bytes: Uint8Array): Uint16Array =>
    ours.format === 'RGB16' ? new Uint16Array(bytes.slice().buffer) : Uint16Array.from(bytes);
  const other = samples(new Uint8Array(theirs));
  return samples(ours.data).reduce((most, value, i) => Math.max(most, Math.abs(value - (other[i] as number))), 0);
}

const distances = (cases: readonly Case[]): number[] =>
  oracle(cases).map((bytes, i) => {
    const { image, toWidth, toHeight, interpolation } = cases[i] as Case;
    return furthest(resize(image, toWidth, toHeight, interpolation), bytes);
  });

/** Random sizes; one in three shrinks by whole numbers. */
function randomCases(format: PixelFormat, interpolation: Interpolation, count: number): Case[] {
  const { next, integer } = seeded(count + format.length);
  return Array.from({ length: count }, (_, seed) => {
    const even = format === 'NV12' ? 2 : 1;
    const [toWidth, toHeight] = [integer(1, 90), integer(1, 90)];
    const whole = next() < 0.33;
    const side = (to: number) => even * Math.max(3, whole ? to * integer(1, 4) : integer(3, 160));
    const shape = { width: side(toWidth), height: side(toHeight), format };
    return { image: noiseImage(seed, shape), toWidth, toHeight, interpolation };
  });
}

describeTier(
  'host',
  'sources and OpenCV',
  () => {
    test.each<PixelFormat>(['RGB8P', 'BGR8P', 'NV12', 'BAYER_RG8', 'BAYER_GR8', 'BAYER_GB8', 'BAYER_BG8'])(
      '%s, converted and resized: byte for byte',
      (format) => {
        const same = randomCases(format, 'linear', 15).map(({ image, ...one }) => {
          return { ...one, image, toWidth: image.width, toHeight: image.height };
        });
        expect(Math.max(...distances([...same, ...randomCases(format, 'linear', 25)]))).toBe(0);
      },
    );

    test.each<PixelFormat>(['BAYER_RG12', 'BAYER_GR12', 'BAYER_GB12', 'BAYER_BG12', 'GRAY16', 'RGB16'])(
      '%s: equal at its own size and by nearest, within one level resized',
      (format) => {
        const same = randomCases(format, 'linear', 15).map(({ image, ...one }) => {
          return { ...one, image, toWidth: image.width, toHeight: image.height };
        });
        expect(Math.max(...distances([...same, ...randomCases(format, 'nearest', 15)]))).toBe(0);
        expect(Math.max(...distances(randomCases(format, 'linear', 25)))).toBeLessThanOrEqual(1);
      },
    );

    test.each<PixelFormat>(['RGB8', 'GRAY8', 'RGB16', 'GRAY16'])('%s by area: within one level', (format) => {
      expect(Math.max(...distances(randomCases(format, 'area', 120)))).toBeLessThanOrEqual(1);
    });
  },
  { needs: ['peers'] },
);
