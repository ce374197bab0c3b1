import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeTier, peersPython, seeded } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { checkRecipe } from '../../src/gpu/recipe.js';
import { traitsOf } from '../../src/reference/formats.js';
import { FORMAT_NAMES, noiseImage } from '../kernel-cases.js';
import { define, type HostImage } from '../kernel-definition.js';

interface Case {
  readonly image: HostImage;
  readonly toWidth: number;
  readonly toHeight: number;
}

function oracle(cases: readonly Case[]): Buffer[] {
  const script = fileURLToPath(new URL('sources_oracle.py', import.meta.url));
  const input = cases.map(({ image: { width, height, format, data }, toWidth, toHeight }) => {
    const pixels = (width * height * traitsOf(format).bytes * (format === 'NV12' ? 3 : 2)) / 2;
    return { width, height, format, toWidth, toHeight, data: Buffer.from(data.subarray(0, pixels)).toString('base64') };
  });
  const run = spawnSync(peersPython(), [script], {
    input: JSON.stringify(input),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (run.status !== 0) throw new Error(`sources_oracle.py failed: ${run.stderr}`);
  return (JSON.parse(run.stdout) as string[]).map((text) => Buffer.from(text, 'base64'));
}

/** Interleaved RGB as the definition gives it: bytes, or values of 16 bits. */
function defined({ image, toWidth: width, toHeight: height }: Case): Uint8Array {
  const common = { width, height, resize: 'stretch', layout: 'NHWC' } as const;
  if (traitsOf(image.format).max === 255) return define(image, checkRecipe({ ...common, datatype: 'UINT8' }));
  const values = define(image, checkRecipe({ ...common, datatype: 'FP32', scale: 1 }));
  return new Uint8Array(Uint16Array.from(new Float32Array(values.buffer)).buffer);
}

describeTier('host', 'the definition of what kernels read, and OpenCV', () => {
  const ofCamera = FORMAT_NAMES.filter((format) => format === 'NV12' || format.startsWith('BAYER'));

  test.each(ofCamera)('%s: byte for byte', (format) => {
    const { next } = seeded(7 + FORMAT_NAMES.indexOf(format));
    const side = () => 4 + 2 * Math.floor(next() * 60) + (format === 'NV12' ? 0 : Math.floor(next() * 2));
    const cases = Array.from({ length: 20 }, (_, seed): Case => {
      const [width, height] = [side(), side()];
      return { image: noiseImage(seed, { width, height, format }), toWidth: width, toHeight: height };
    });
    const differing = oracle(cases).filter((bytes, i) => !bytes.equals(defined(cases[i] as Case)));
    expect(differing).toEqual([]);
  });

  test.each(['GRAY16', 'RGB16'] as const)('%s resized: within one of 65,535 levels', (format) => {
    const { next } = seeded(format.length);
    const side = () => 1 + Math.floor(next() * 120);
    const cases = Array.from({ length: 40 }, (_, seed): Case => {
      const [width, height, toWidth, toHeight] = [side(), side(), side(), side()];
      return { image: noiseImage(seed, { width, height, format }), toWidth, toHeight };
    });
    const furthest = oracle(cases).map((bytes, i) => {
      const ours = new Uint16Array(defined(cases[i] as Case).buffer);
      expect(2 * ours.length).toBe(bytes.byteLength);
      return ours.reduce((most, value, at) => Math.max(most, Math.abs(value - bytes.readUInt16LE(2 * at))), 0);
    });
    expect(Math.max(...furthest)).toBe(1);
  });
});
