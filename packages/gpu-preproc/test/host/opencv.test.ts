import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { describeTier, peersPython, seeded } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import {
  BYTES_PER_PIXEL,
  type ColorOrder,
  type Geometry,
  type Interpolation,
  imageToTensor,
  type PixelFormat,
  type Pixels,
  type ResizeMode,
  resize,
  type Triple,
  tensorBits,
} from '../../src/reference.js';

import { noise } from '../noise.js';

interface Source {
  readonly seed: number;
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  readonly pitch: number;
  readonly targetWidth: number;
  readonly targetHeight: number;
  readonly interpolation: Interpolation;
}

interface TensorCase extends Source {
  readonly resize: ResizeMode;
  readonly colorOrder: ColorOrder;
  readonly datatype: 'FP32' | 'FP16' | 'UINT8' | 'INT8';
  /** null: the default, 1/255, in the oracle a division by 255; 1 for UINT8 and INT8. */
  readonly scale: number | null;
  readonly mean: Triple;
  readonly std: Triple;
  readonly pad: Triple;
}

interface Answer {
  readonly sha256: string;
  readonly placement?: { left: number; top: number; width: number; height: number };
}

const SEED = 20260711;

const picture = ({ seed, width, height, format, pitch }: Source): Pixels => ({
  width,
  height,
  format,
  pitch,
  data: noise(seed, pitch * height),
});

const sha256 = (bytes: ArrayBufferView): string =>
  createHash('sha256')
    .update(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    .digest('hex');

function oracle(cases: readonly object[]): Answer[] {
  const script = fileURLToPath(new URL('opencv_oracle.py', import.meta.url));
  const run = spawnSync(peersPython(), [script], {
    input: JSON.stringify(cases),
    maxBuffer: 2 ** 26,
    encoding: 'utf8',
  });
  if (run.status !== 0) throw new Error(`opencv_oracle.py failed: ${run.stderr}`);
  return JSON.parse(run.stdout) as Answer[];
}

/** Source and target sizes: every kind that has its own rule, then random ones. */
function sizes(): [number, number, number, number][] {
  const { next } = seeded(SEED);
  const listed: [number, number, number, number][] = [
    [1, 1, 1, 1],
    [1, 1, 7, 5],
    [1, 9, 4, 4],
    [9, 1, 4, 4],
    [2, 2, 1, 1],
    [640, 480, 320, 240],
    [641, 480, 320, 240],
    [640, 480, 320, 241],
    [320, 240, 640, 480],
    [333, 217, 333, 217],
    [333, 217, 333, 100],
    [3840, 2160, 640, 640],
    [1920, 1080, 3840, 2160],
    [7680, 4320, 640, 640],
    [8192, 1, 64, 64],
    [1, 8192, 64, 64],
    [4096, 31, 513, 511],
  ];
  const side = (): number => Math.max(1, Math.round(2 ** (next() * 9.5)));
  while (listed.length < 240) {
    const [width, height] = [side(), side()];
    // One in five halves exactly, in one direction or in both.
    const halves = next() < 0.2;
    listed.push(
      halves ? [2 * width, next() < 0.7 ? 2 * height : height, width, height] : [width, height, side(), side()],
    );
  }
  return listed;
}

describeTier(
  'host',
  'OpenCV and numpy',
  () => {
    test('linear and nearest are byte-equal to OpenCV over 240 shapes', { timeout: 120_000 }, () => {
      const cases = sizes().flatMap(([width, height, targetWidth, targetHeight], seed) =>
        (['linear', 'nearest'] as const).map((interpolation) => ({
          kind: 'resize',
          seed,
          width,
          height,
          format: 'RGB8' as const,
          pitch: 3 * width,
          targetWidth,
          targetHeight,
          interpolation,
        })),
      );
      const answers = oracle(cases);
      const wrong = cases.filter((one, i) => {
        const { data } = resize(picture(one), one.targetWidth, one.targetHeight, one.interpolation);
        return sha256(data) !== answers[i]?.sha256;
      });
      expect(answers).toHaveLength(cases.length);
      expect(wrong).toEqual([]);
    });

    test('whole tensors are bit-equal to OpenCV and numpy: geometry, pad, formats, pitch, colour order, normalisation', () => {
      const { next, integer } = seeded(SEED + 1);
      const pick = <T>(values: readonly T[]): T => values[integer(0, values.length - 1)] as T;
      const cases = Array.from({ length: 300 }, (_, seed): TensorCase & { kind: 'tensor' } => {
        const format = pick(['RGB8', 'BGR8', 'RGBA8', 'GRAY8'] as const);
        const [width, height] = [integer(1, 400), integer(1, 400)];
        const sameSize = next() < 0.1;
        return {
          kind: 'tensor',
          seed,
          width,
          height,
          format,
          pitch: width * BYTES_PER_PIXEL[format] + pick([0, 0, 1, 13]),
          targetWidth: sameSize ? width : integer(1, 300),
          targetHeight: sameSize ? height : integer(1, 300),
          interpolation: pick(['linear', 'linear', 'nearest'] as const),
          resize: pick(['letterbox', 'letterbox', 'stretch'] as const),
          colorOrder: pick(['RGB', 'BGR'] as const),
          datatype: pick(['FP32', 'FP16', 'UINT8', 'INT8'] as const),
          scale: pick([null, null, 0.5, 1, 2]),
          mean: pick<Triple>([
            [0, 0, 0],
            [0.485, 0.456, 0.406],
            [123.675, 116.28, 103.53],
          ]),
          std: pick<Triple>([
            [1, 1, 1],
            [0.229, 0.224, 0.225],
            [58.395, 57.12, 57.375],
          ]),
          pad: pick<Triple>([
            [114, 114, 114],
            [0, 128, 255],
          ]),
        };
      });
      const answers = oracle(cases);
      const ours = cases.map((one): Answer => {
        const { datatype, scale } = one;
        const area = one.targetWidth * one.targetHeight;
        const out = tensorBits(datatype, 3 * area).fill(0xa5);
        const recipe = { ...one, width: one.targetWidth, height: one.targetHeight, scale: scale ?? undefined };
        const [{ left, top, width, height }] = imageToTensor(picture(one), recipe, out) as [Geometry];
        return { sha256: sha256(out), placement: { left, top, width, height } };
      });
      const wrong = cases.filter((_, i) => JSON.stringify(ours[i]) !== JSON.stringify(answers[i]));
      expect(answers).toHaveLength(300);
      expect(wrong).toEqual([]);
    });
  },
  { needs: ['peers'] },
);
