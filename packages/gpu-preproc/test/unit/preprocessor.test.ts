import type { TensorBlock } from '@zerohop/cuda-native/tensor';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { imageFrom, type PixelFormat, PreprocError, Preprocessor } from '../../src/index.js';
import { imageToTensor } from '../../src/reference.js';
import { floats, makeBlock, spec } from '../host-block.js';
import { noise } from '../noise.js';

const target = spec([1, 3, 24, 40]);
const picture = () => imageFrom(noise(3, 3 * 50 * 20), { width: 50, height: 20, format: 'RGB8' });

describe('run', () => {
  test('writes the whole of a host block in place: what the reference says', async () => {
    const pre = await Preprocessor.create({ target, mean: [0.1, 0.2, 0.3], std: 0.5, colorOrder: 'BGR' });
    const block = makeBlock(target);
    const geometry = await pre.run(picture(), block);
    const expected = new Int32Array(3 * 24 * 40);
    imageToTensor(
      picture(),
      {
        width: 40,
        height: 24,
        resize: 'letterbox',
        interpolation: 'linear',
        colorOrder: 'BGR',
        pad: [114, 114, 114],
        datatype: 'FP32',
        mean: [0.1, 0.2, 0.3],
        std: [0.5, 0.5, 0.5],
      },
      expected,
    );
    expect(new Int32Array(block.memory.buffer)).toEqual(expected);
    expect(geometry).toMatchObject({ left: 0, top: 4, width: 40, height: 16, sourceWidth: 50, sourceHeight: 20 });
  });

  test('writes nothing outside a block that lies inside a larger region', async () => {
    const pre = await Preprocessor.create({ target });
    const region = new Uint8Array(256 + 11520 + 256).fill(0xee);
    const block = { ...makeBlock(target), memory: region.subarray(256, 256 + 11520) };
    await pre.run(picture(), block);
    expect(region.subarray(0, 256).every((byte) => byte === 0xee)).toBe(true);
    expect(region.subarray(256 + 11520).every((byte) => byte === 0xee)).toBe(true);
    expect(new Float32Array(region.buffer, 256, 1)[0]).toBe(Math.fround(114 / 255));
  });

  test('a cuda block gets the same bytes by one write, from a buffer that is used again', async () => {
    const pre = await Preprocessor.create({ target });
    const host = makeBlock(target);
    await pre.run(picture(), host);
    const device = makeBlock({ ...target, kind: 'cuda' });
    const stream = { launch: () => undefined } as unknown as NonNullable<TensorBlock['stream']>;
    await Promise.all([pre.run(picture(), device, { stream }), pre.run(picture(), device)]);
    await pre.run(picture(), device);
    expect(device.writes.map(({ data }) => data)).toEqual([host.memory, host.memory, host.memory]);
    expect(device.writes[0]?.options).toEqual({ stream });
    expect(device.writes[1]?.options).toEqual({});
  });

  test('decodes what is encoded, upright', async () => {
    const png = await sharp(noise(4, 3 * 24 * 40), { raw: { width: 24, height: 40, channels: 3 } })
      .png()
      .toBuffer();
    const jpeg = await sharp(png).jpeg({ quality: 100 }).withMetadata({ orientation: 6 }).toBuffer();
    const pre = await Preprocessor.create({ target, resize: 'none' });
    expect(await pre.run(jpeg, makeBlock(target))).toMatchObject({ sourceWidth: 40, sourceHeight: 24, gainX: 1 });
    const stored = await Preprocessor.create({ target, resize: 'none', exif: false });
    await expect(stored.run(jpeg, makeBlock(target))).rejects.toMatchObject({ code: 'ERR_IMAGE_SIZE' });
  });

  test.each(['letterbox', 'stretch', 'none'] as const)(
    '%s leaves a picture of the target size alone',
    async (resize) => {
      const bytes = noise(5, 3 * 24 * 40);
      const pre = await Preprocessor.create({ target, resize, scale: 1 });
      const block = makeBlock(target);
      await pre.run(imageFrom(bytes, { width: 40, height: 24, format: 'RGB8' }), block);
      const planes = floats(block);
      const wrong = [...bytes.keys()].filter((i) => planes[(i % 3) * 960 + Math.floor(i / 3)] !== bytes[i]);
      expect(wrong).toEqual([]);
    },
  );

  const colours = { red: [255, 0, 0], green: [0, 255, 0], blue: [0, 0, 255] } as const;
  const formats: Record<'RGB8' | 'BGR8' | 'RGBA8', (rgb: readonly number[]) => number[]> = {
    RGB8: ([r, g, b]) => [r, g, b] as number[],
    BGR8: ([r, g, b]) => [b, g, r] as number[],
    RGBA8: ([r, g, b]) => [r, g, b, 9] as number[],
  };
  test.each(
    Object.keys(formats).flatMap((format) =>
      (['RGB', 'BGR'] as const).flatMap((order) =>
        (['letterbox', 'stretch'] as const).flatMap((resize) =>
          (['linear', 'nearest'] as const).map((interpolation) => [format, order, resize, interpolation] as const),
        ),
      ),
    ),
  )('pure colours stay pure: %s into %s by %s, %s', async (format, colorOrder, resize, interpolation) => {
    const pre = await Preprocessor.create({
      target,
      colorOrder: colorOrder,
      resize,
      interpolation,
      pad: 0,
    });
    for (const rgb of Object.values(colours)) {
      const one = formats[format as keyof typeof formats](rgb);
      const memory = Uint8Array.from({ length: 60 * 36 * one.length }, (_, i) => one[i % one.length] as number);
      const block = makeBlock(target);
      await pre.run(imageFrom(memory, { width: 60, height: 36, format: format as PixelFormat }), block);
      const wanted = colorOrder === 'RGB' ? rgb : [...rgb].reverse();
      const planes = [0, 1, 2].map((c) => [...new Set(floats(block).subarray(960 * c, 960 * (c + 1)))]);
      expect(planes).toEqual(wanted.map((value) => [value / 255]));
    }
  });

  test('FP16 holds the bits of the nearest half', async () => {
    const half = spec([1, 3, 2, 2], 'FP16');
    const pre = await Preprocessor.create({ target: half, pad: 0 });
    const block = makeBlock(half);
    await pre.run(imageFrom(new Uint8Array(4).fill(255), { width: 2, height: 2, format: 'GRAY8' }), block);
    expect([...new Uint16Array(block.memory.buffer)]).toEqual(Array(12).fill(0x3c00));
  });
});

describe('run holds the block', () => {
  test('before it returns, until the work has ended', async () => {
    const pre = await Preprocessor.create({ target });
    const block = makeBlock({ ...target, kind: 'cuda' });
    const run = pre.run(picture(), block);
    expect(block.held).toHaveLength(1);
    await block.held[0];
    expect(block.writes).toHaveLength(1);
    await run;
  });

  test('also when the work fails', async () => {
    const pre = await Preprocessor.create({ target });
    const block = makeBlock(target);
    const run = pre.run(new Uint8Array([0xff, 0xd8, 0xff, 0]), block);
    expect(block.held).toHaveLength(1);
    await expect(run).rejects.toMatchObject({ code: 'ERR_IMAGE_CORRUPT' });
  });

  test('not when the call is refused', async () => {
    const pre = await Preprocessor.create({ target });
    const block = makeBlock(spec([1, 3, 40, 24]));
    await expect(pre.run(picture(), block)).rejects.toThrow(
      new PreprocError(
        'ERR_TENSOR_MISMATCH',
        "Expected a block of FP32 [1,3,24,40], 11520 bytes, but received 'images', FP32 [1,3,40,24], 11520 bytes",
      ),
    );
    await expect(pre.run('x.jpg' as unknown as Uint8Array, makeBlock(target))).rejects.toThrow(TypeError);
    await expect(pre.run(picture(), undefined as unknown as TensorBlock)).rejects.toThrow(TypeError);
    expect(block.held).toHaveLength(0);
  });
});

test.each(['host', 'cuda'] as const)(
  'a %s block whose lease is over: its own error, and no work is started',
  async (kind) => {
    const pre = await Preprocessor.create({ target });
    const block = makeBlock({ ...target, kind });
    const over = new Error('The lease was released');
    Object.defineProperty(block, 'memory', {
      get: () => {
        throw over;
      },
    });
    await expect(pre.run(picture(), block)).rejects.toBe(over);
    await new Promise((resolve) => setImmediate(resolve));
    expect([block.held, block.writes]).toEqual([[], []]);
  },
);

describe('create', () => {
  test.each([
    ['FP64', spec([1, 3, 24, 40], 'FP64')],
    ['of two channels', spec([1, 2, 24, 40])],
    ['a detector output', spec([1, 8, 162000])],
  ])('refuses a target that is %s', async (_, wrong) => {
    const error = await Preprocessor.create({ target: wrong }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'ERR_TENSOR_MISMATCH' });
    expect((error as Error).message).toBe(
      `Expected an FP32, FP16, UINT8 or INT8 tensor of shape [batch,3,height,width] or [batch,height,width,3] (or 1 channel), or without batch, for target but received 'images', ${wrong.datatype} [${wrong.shape}]`,
    );
  });

  test.each<[string, object, ErrorConstructor | TypeErrorConstructor]>([
    ['resize', { resize: 'tiles' }, TypeError],
    ['interpolation', { interpolation: 'cubic' }, TypeError],
    ['colorOrder', { colorOrder: 'rgb' }, TypeError],
    ['scale', { scale: Infinity }, RangeError],
    ['mean', { mean: [1, 2] }, TypeError],
    ['std', { std: [1, 0, 1] }, RangeError],
    ['std', { std: 1e-60 }, RangeError],
    ['pad', { pad: 256 }, RangeError],
    ['pad', { pad: 1.5 }, RangeError],
    ['limitInputPixels', { limitInputPixels: -1 }, RangeError],
    ['exif', { exif: 'yes' }, TypeError],
    ['a field of options', { means: 0.5 }, TypeError],
    ['a field of target', { target: { width: 40, height: 24, dtype: 'FP16' } }, TypeError],
    ['a field of resize.letterbox', { resize: { letterbox: { scaleup: false } } }, TypeError],
    ['a field of resize.tiles', { resize: { tiles: { width: 40, height: 24, overlaps: 8 } } }, TypeError],
  ])('names a wrong %s', async (name, wrong, type) => {
    const error = await Preprocessor.create({ target, ...wrong }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(type);
    expect((error as Error).message).toContain(`for ${name} but received`);
  });

  test.each([
    ['NCHW', [3, 24, 40], [1, 3, 24, 40]],
    ['NHWC', [24, 40, 3], [1, 24, 40, 3]],
  ])('takes a target without batch, as models without batches have: %s', async (_, shape, batched) => {
    const pre = await Preprocessor.create({ target: spec(shape) });
    const block = makeBlock(spec(shape));
    await pre.run(picture(), block);
    const expected = makeBlock(spec(batched));
    await (await Preprocessor.create({ target: spec(batched) })).run(picture(), expected);
    expect(block.memory).toEqual(expected.memory);
    await expect(pre.run(picture(), expected)).rejects.toMatchObject({ code: 'ERR_TENSOR_MISMATCH' });
  });

  test('takes a size for a target', async () => {
    const pre = await Preprocessor.create({ target: { width: 40, height: 24, datatype: 'FP16' } });
    await expect(pre.run(picture(), makeBlock(target))).rejects.toMatchObject({ code: 'ERR_TENSOR_MISMATCH' });
    const block = makeBlock(spec([1, 3, 24, 40], 'FP16'));
    expect(await pre.run(picture(), block)).toMatchObject({ targetWidth: 40, targetHeight: 24 });
  });
});

test('close waits for runs in flight; later calls throw ERR_DISPOSED; twice is fine', async () => {
  const pre = await Preprocessor.create({ target });
  const block = makeBlock({ ...target, kind: 'cuda' });
  const run = pre.run(picture(), block);
  await pre.close();
  expect(block.writes).toHaveLength(1);
  await run;
  await pre[Symbol.asyncDispose]();
  expect(pre.closed).toBe(true);
  await expect(pre.run(picture(), block)).rejects.toMatchObject({ code: 'ERR_DISPOSED' });
});
