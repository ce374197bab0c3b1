import { seeded } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { traitsOf } from '../../src/reference/formats.js';
import { imageToTensor, type Pixels, resize, type TensorBits, tensorBits } from '../../src/reference.js';
import { FORMAT_NAMES, type KernelCase, noiseImage, randomCase } from '../kernel-cases.js';
import { define } from '../kernel-definition.js';

const pixels = ({ image }: KernelCase): Pixels => ({ ...image, data: image.data.subarray(image.byteOffset) });

test.each(FORMAT_NAMES)(
  '%s: random pictures, crops and recipes are what a pixel-by-pixel definition makes',
  (format) => {
    const { next } = seeded(100 + FORMAT_NAMES.indexOf(format));
    const cases = Array.from({ length: traitsOf(format).max === 255 ? 60 : 10 }, () => randomCase(next, format, 70));
    const wrong = cases.filter((one) => {
      const expected = define(one.image, one.recipe);
      const out = tensorBits(
        one.recipe.datatype,
        expected.byteLength / tensorBits(one.recipe.datatype, 1).BYTES_PER_ELEMENT,
      );
      out.fill(-1);
      imageToTensor(pixels(one), one.recipe, out);
      return Buffer.compare(new Uint8Array(out.buffer), expected) !== 0;
    });
    expect(wrong.map(({ name }) => name)).toEqual([]);
  },
);

test('bands of rows give the bytes of the whole, also across tiles, and touch nothing else', () => {
  const { next } = seeded(9);
  const cases = FORMAT_NAMES.flatMap((format) => Array.from({ length: 3 }, () => randomCase(next, format, 60)));
  const wrong = cases.filter((one, i) => {
    const recipe = i % 3 === 0 ? { ...one.recipe, interpolation: 'area' as const } : one.recipe;
    const { datatype, height } = recipe;
    const count = define(one.image, one.recipe).byteLength / tensorBits(datatype, 1).BYTES_PER_ELEMENT;
    const whole = tensorBits(datatype, count);
    const banded = tensorBits(datatype, count).fill(-1);
    const untouched = tensorBits(datatype, count).fill(-1);
    const geometries = imageToTensor(pixels(one), recipe, whole);
    const end = geometries.length * height;
    imageToTensor(pixels(one), recipe, untouched, { from: end, to: end });
    for (let from = 0; from < end; ) {
      const to = Math.min(end, from + 1 + Math.floor(next() * height));
      imageToTensor(pixels(one), recipe, banded, { from, to });
      from = to;
    }
    return (
      Buffer.compare(new Uint8Array(whole.buffer), new Uint8Array(banded.buffer)) !== 0 ||
      new Uint8Array(untouched.buffer).some((byte) => byte !== 0xff)
    );
  });
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

test("an area's mean of white 16-bit samples is white, also where the weights add up to more than 1", () => {
  const image = {
    width: 1175,
    height: 1,
    format: 'GRAY16',
    pitch: 2350,
    data: new Uint8Array(2350).fill(255),
  } as const;
  const { data } = resize(image, 2, 1, 'area');
  expect(data.every((byte) => byte === 255)).toBe(true);
});

test('16-bit samples at an odd address are read as those at an even one', () => {
  const image = noiseImage(4, { width: 9, height: 7, format: 'RGB16' });
  const shifted = new Uint8Array(image.data.byteLength + 1);
  shifted.set(image.data, 1);
  const recipe = {
    width: 5,
    height: 4,
    datatype: 'FP32',
    resize: 'stretch',
    interpolation: 'linear',
    colorOrder: 'RGB',
    pad: [0, 0, 0],
  } as const;
  const outs = [image.data, shifted.subarray(1)].map((data) => {
    const out = new Int32Array(60);
    imageToTensor({ ...image, data }, recipe, out);
    return out;
  });
  expect(outs[0]).toEqual(outs[1]);
});

test('one channel of a picture that has colours is refused', () => {
  const image = noiseImage(4, { width: 9, height: 7, format: 'RGB8' });
  const recipe = {
    width: 9,
    height: 7,
    channels: 1,
    datatype: 'UINT8',
    resize: 'none',
    interpolation: 'linear',
    colorOrder: 'RGB',
    pad: [0, 0, 0],
  } as const;
  expect(() => imageToTensor(image, recipe, new Uint8Array(63))).toThrow(RangeError);
});

test.each(['FP32', 'FP16', 'UINT8', 'INT8'] as const)(
  '%s: an array of anything but its bits is refused',
  (datatype) => {
    const image = noiseImage(5, { width: 3, height: 2, format: 'RGB8' });
    const recipe = {
      width: 3,
      height: 2,
      datatype,
      resize: 'none',
      interpolation: 'linear',
      colorOrder: 'RGB',
      pad: [0, 0, 0],
    } as const;
    const floats = new Float32Array(18) as unknown as TensorBits; // a program in JavaScript may give them
    expect(() => imageToTensor(image, recipe, floats)).toThrow(TypeError);
    expect(floats).toEqual(new Float32Array(18));
  },
);
