import type { DeviceMemory } from '@zerohop/cuda-native';
import { describe, expect, test } from 'vitest';
import { checkImage, type DeviceImage } from '../../src/gpu/device-image.js';
import { blockSize } from '../../src/gpu/image-plan.js';
import { layOut, tileOrigins } from '../../src/gpu/layout.js';
import { checkRecipe, type KernelRecipe } from '../../src/gpu/recipe.js';
import { colorMatrix } from '../../src/reference/color-matrix.js';
import type { Triple } from '../../src/reference.js';

const memory = (byteLength: number, address = 0n) => ({ byteLength, address }) as DeviceMemory;
const whole = (width: number, height: number) => ({ x: 0, y: 0, width, height });

describe('tiles', () => {
  const cut = (recipe: KernelRecipe, width: number, height: number) =>
    layOut(checkRecipe({ resize: 'tiles', ...recipe }), whole(width, height));

  test('end with the image: the last of a row and a column move inward', () => {
    const { tiles, placement, direct } = cut({ width: 1280, height: 1280 }, 7680, 4320);
    expect([tiles.columns, tiles.rows, direct]).toEqual([6, 4, true]);
    expect(placement).toEqual({ left: 0, top: 0, width: 1280, height: 1280 });
    expect(tileOrigins(tiles).at(-1)).toEqual({ x: 6400, y: 3040 });
  });

  test('share the overlap', () => {
    const { tiles } = cut({ width: 100, height: 100, overlap: 20 }, 190, 100);
    expect(tileOrigins(tiles)).toEqual([
      { x: 0, y: 0 },
      { x: 80, y: 0 },
      { x: 90, y: 0 },
    ]);
  });

  test('that no launch holds are refused', () => {
    expect(() => cut({ width: 16, height: 16 }, 8192, 8192)).toThrow(/at most 65535 for the number of tiles/);
  });

  test('of a smaller image are one, padded', () => {
    const { tiles, placement, direct } = cut({ width: 100, height: 100 }, 60, 100);
    expect([tileOrigins(tiles).length, direct]).toEqual([1, false]);
    expect(placement).toEqual({ left: 0, top: 0, width: 60, height: 100 });
  });
});

describe('a letterbox', () => {
  const placed = (recipe: Partial<KernelRecipe>, width: number, height: number) =>
    layOut(checkRecipe({ width: 100, height: 80, ...recipe }), whole(width, height));

  test.each<[Partial<KernelRecipe>, object]>([
    [{}, { left: 10, top: 0, width: 80, height: 80 }],
    [{ align: 'topLeft' }, { left: 0, top: 0, width: 80, height: 80 }],
    [{ scaleUp: false }, { left: 30, top: 20, width: 40, height: 40 }],
    [
      { align: 'topLeft', scaleUp: false },
      { left: 0, top: 0, width: 40, height: 40 },
    ],
  ])('%j lays 40x40 into 100x80', (recipe, expected) => {
    expect(placed(recipe, 40, 40)).toMatchObject({ placement: expected, direct: false });
  });

  test.each<Partial<KernelRecipe>>([{ align: 'topLeft' }, { scaleUp: false }])(
    '%j takes a picture of its size as it is',
    (recipe) => {
      expect(placed(recipe, 100, 80).direct).toBe(true);
    },
  );
});

describe('launches', () => {
  test.each([
    [640, 640, 640],
    [960, 384, 320],
    [1, 640, 32],
    [641, 640, 224],
    [33, 384, 64],
  ])('%i threads in blocks of at most %i: %i', (items, most, expected) => {
    expect(blockSize(items, most)).toBe(expected);
  });
});

describe('an image on the device', () => {
  const image = (change: Partial<DeviceImage>): DeviceImage => ({
    memory: memory(1_000_000),
    width: 100,
    height: 50,
    format: 'RGB8',
    ...change,
  });

  test.each<[string, Partial<DeviceImage>, RegExp]>([
    ['a pitch shorter than a row', { pitch: 299 }, /at least 300/],
    ['memory that ends early', { memory: memory(14_999) }, /at least 15000 bytes/],
    ['NV12 with odd sides', { format: 'NV12', height: 51 }, /even sides/],
    ['NV12 whose chroma lies beyond the memory', { format: 'NV12', memory: memory(7_499) }, /at least 7500 bytes/],
    ['a mosaic without neighbours', { format: 'BAYER_RG8', width: 2 }, /at least 3x3/],
    ['16 bits at an odd address', { format: 'GRAY16', byteOffset: 1 }, /even address/],
    ['16 bits with an odd pitch', { format: 'GRAY16', pitch: 201 }, /even pitch/],
    ['a start before the memory', { byteOffset: -300 }, /byteOffset/],
    ['a start that is no number', { byteOffset: Number.NaN }, /byteOffset/],
    ['a start between bytes', { byteOffset: 0.5 }, /byteOffset/],
    ['a crop beyond the edge', { crop: { x: 1, y: 0, width: 100, height: 1 } }, /crop\.x/],
    ['planes beyond the memory', { format: 'RGB8P', memory: memory(14_999) }, /at least 15000 bytes/],
  ])('refuses %s', (_, change, message) => {
    expect(() => checkImage(image(change))).toThrow(message);
  });

  test('of NV12 has the matrix of its height', () => {
    expect(checkImage(image({ format: 'NV12' })).matrix).toBe('bt601');
    expect(checkImage(image({ format: 'NV12', width: 2, height: 720 })).matrix).toBe('bt709');
  });
});

test.each([
  ['bt601', 'full', [1, 1.402, -0.344136, -0.714136, 1.772]],
  ['bt709', 'limited', [1.164384, 1.792741, -0.213249, -0.532909, 2.112402]],
  ['bt2020', 'limited', [1.164384, 1.678674, -0.187326, -0.650424, 2.141772]],
  ['bt601', 'limited', [1.164384, 1.596027, -0.391762, -0.812968, 2.017232]],
] as const)('%s %s has the coefficients of the standard', (standard, range, expected) => {
  const { luma, vToRed, uToGreen, vToGreen, uToBlue } = colorMatrix(standard, range);
  for (const [i, value] of [luma, vToRed, uToGreen, vToGreen, uToBlue].entries()) {
    // OpenCV's own integers differ in the third place.
    expect(Math.abs(value / 2 ** 20 - (expected[i] as number))).toBeLessThan(0.001);
  }
});

test.each<[string, Partial<KernelRecipe>]>([
  ['width', { width: 0 }],
  ['width', { width: 715_827_880 }],
  ['overlap', { overlap: 32 }],
  ["0 unless resize is 'tiles'", { overlap: 1 }],
  ['pad', { pad: [0, 0, 256] }],
  ['pad', { pad: [] as unknown as Triple }],
  ['mean', { mean: [0.5] as unknown as Triple }],
  ['std', { std: [1, 0, 1] }],
  ['std', { std: [1, 1e-46, 1] }],
  ['scale', { scale: Number.NaN }],
  ['channels', { channels: 2 as 1 }],
  ['layout', { layout: 'CHWN' as 'NCHW' }],
  ['align', { align: 'left' as 'topLeft' }],
  ['scaleUp', { scaleUp: 1 as unknown as boolean }],
])('a recipe with a wrong %s is refused', (name, change) => {
  expect(() => checkRecipe({ width: 64, height: 32, ...change })).toThrow(name);
});
