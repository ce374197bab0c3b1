import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeTier, peersPython, seeded } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { checkRecipe } from '../../src/gpu/recipe.js';
import { traitsOf } from '../../src/reference/formats.js';
import { type Interpolation, type PixelFormat, resize } from '../../src/reference.js';
import { FORMAT_NAMES, noiseImage } from '../kernel-cases.js';
import { define, type HostImage } from '../kernel-definition.js';

interface Case {
  readonly image: HostImage;
  readonly toWidth: number;
  readonly toHeight: number;
  readonly interpolation: Interpolation;
}

/** Interleaved RGB samples in bytes. */
type Converter = (one: Case) => Uint8Array;

const byReference: Converter = ({ image, toWidth, toHeight, interpolation }) =>
  resize({ ...image, data: image.data.subarray(image.byteOffset) }, toWidth, toHeight, interpolation).data;

/** As the kernels are defined: bytes, or values of 16 bits out of floats that are not scaled. */
const byDefinition: Converter = ({ image, toWidth: width, toHeight: height, interpolation }) => {
  const common = { width, height, interpolation, resize: 'stretch', layout: 'NHWC' } as const;
  if (traitsOf(image.format).max === 255) return define(image, checkRecipe({ ...common, datatype: 'UINT8' }));
  const values = define(image, checkRecipe({ ...common, datatype: 'FP32', scale: 1 }));
  return new Uint8Array(Uint16Array.from(new Float32Array(values.buffer)).buffer);
};

function oracle(cases: readonly Case[]): Uint8Array[] {
  const script = fileURLToPath(new URL('sources_oracle.py', import.meta.url));
  const input = cases.map(({ image: { data, ...shape }, ...to }) => {
    return { ...shape, ...to, data: Buffer.from(data).toString('base64') };
  });
  const run = spawnSync(peersPython(), [script], {
    input: JSON.stringify(input),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (run.status !== 0) throw new Error(`sources_oracle.py failed: ${run.stderr}`);
  return (JSON.parse(run.stdout) as string[]).map((text) => Uint8Array.from(Buffer.from(text, 'base64')));
}

/** How far the samples are apart at most, from the oracle's to those of each converter. */
function furthest(cases: readonly Case[], converters: readonly Converter[]): number {
  let most = 0;
  for (const [i, bytes] of oracle(cases).entries()) {
    const one = cases[i] as Case;
    const deep = traitsOf(one.image.format).max > 255;
    const samples = (data: Uint8Array) => (deep ? new Uint16Array(data.buffer) : Uint16Array.from(data));
    const theirs = samples(bytes);
    for (const convert of converters) {
      const ours = convert(one).slice();
      expect(ours.byteLength).toBe(bytes.byteLength);
      most = samples(ours).reduce((all, value, at) => Math.max(all, Math.abs(value - (theirs[at] as number))), most);
    }
  }
  return most;
}

/** Random sizes, gaps between rows and planes, and offsets; one in three shrinks by whole numbers. */
function randomCases(format: PixelFormat, interpolation: Interpolation | 'none', count: number): Case[] {
  const { next, integer } = seeded(count + FORMAT_NAMES.indexOf(format));
  const { bytes, max } = traitsOf(format);
  const sample = max > 255 ? 2 : 1;
  const even = format === 'NV12' ? 2 : 1;
  return Array.from({ length: count }, (_, seed) => {
    const [toWidth, toHeight] = [integer(1, 70), integer(1, 70)];
    const whole = next() < 0.33;
    const side = (to: number) => even * Math.max(3, whole ? to * integer(1, 3) : integer(3, 100));
    const [width, height] = [side(toWidth), side(toHeight)];
    const pitch = width * bytes + sample * integer(0, 5);
    const planePitch = pitch * height + integer(0, 5);
    const image = noiseImage(seed, { width, height, format, pitch, planePitch, byteOffset: sample * integer(0, 3) });
    if (interpolation === 'none') return { image, toWidth: width, toHeight: height, interpolation: 'linear' };
    return { image, toWidth, toHeight, interpolation };
  });
}

const BOTH = [byReference, byDefinition];

describeTier(
  'host',
  'sources as numpy and OpenCV read them',
  () => {
    const exact = (format: PixelFormat) => [...randomCases(format, 'none', 20), ...randomCases(format, 'nearest', 15)];
    const shallow = FORMAT_NAMES.filter((format) => traitsOf(format).max === 255);

    test.each(shallow)('%s, converted and resized: byte for byte', (format) => {
      expect(furthest([...exact(format), ...randomCases(format, 'linear', 25)], BOTH)).toBe(0);
    });

    test.each(FORMAT_NAMES.filter((format) => !shallow.includes(format)))(
      '%s: equal at its own size and by nearest, within one level resized',
      (format) => {
        expect(furthest(exact(format), BOTH)).toBe(0);
        expect(furthest(randomCases(format, 'linear', 40), BOTH)).toBeLessThanOrEqual(1);
      },
    );

    test.each<PixelFormat>(['RGB8', 'GRAY8', 'RGB16', 'GRAY16'])('%s by area: within one level', (format) => {
      expect(furthest(randomCases(format, 'area', 120), [byReference])).toBeLessThanOrEqual(1);
    });
  },
  { needs: ['peers'] },
);
