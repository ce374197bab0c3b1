import { describe, expect, test } from 'vitest';
import { imageFrom, Preprocessor } from '../../src/index.js';
import { letterbox } from '../../src/reference.js';
import { makeBlock, spec } from '../host-block.js';
import { noise } from '../noise.js';

const picture = (width: number, height: number, crop?: { x: number; y: number; width: number; height: number }) =>
  imageFrom(noise(width, 3 * width * height), { width, height, format: 'RGB8', ...(crop && { crop }) });

describe('runBatch', () => {
  const target = spec([2, 3, 24, 40]);

  test.each(['host', 'cuda'] as const)('writes each picture as run writes it alone, into a %s block', async (kind) => {
    const batch = await Preprocessor.create({ target });
    const single = await Preprocessor.create({ target: spec([1, 3, 24, 40]) });
    const sources = [picture(50, 20), picture(31, 77)];
    const block = makeBlock({ ...target, kind });
    const geometries = await batch.runBatch(sources, block);
    const blocks = sources.map(() => makeBlock(spec([1, 3, 24, 40])));
    const alone = await Promise.all(sources.map((source, i) => single.run(source, blocks[i] as (typeof blocks)[0])));
    const written = kind === 'host' ? block.memory : block.writes[0]?.data;
    expect(geometries).toEqual(alone);
    expect(Buffer.compare(written as Uint8Array, Buffer.concat(blocks.map(({ memory }) => memory)))).toBe(0);
  });

  test('the array may be used again at once', async () => {
    const pre = await Preprocessor.create({ target });
    const sources = [picture(50, 20), picture(31, 77)];
    const blocks = [makeBlock(target), makeBlock(target)] as const;
    const expected = await pre.runBatch(sources, blocks[0]);
    const run = pre.runBatch(sources, blocks[1]);
    sources.length = 0;
    expect(await run).toEqual(expected);
    expect(blocks[1].memory).toEqual(blocks[0].memory);
  });

  test('another number of pictures than the batch is refused, and so is run', async () => {
    const pre = await Preprocessor.create({ target });
    const mismatch = { code: 'ERR_TENSOR_MISMATCH' };
    await expect(pre.runBatch([picture(9, 9)], makeBlock(target))).rejects.toMatchObject(mismatch);
    await expect(pre.run(picture(9, 9), makeBlock(target))).rejects.toMatchObject(mismatch);
    await expect(pre.runBatch(picture(9, 9) as never, makeBlock(target))).rejects.toThrow(TypeError);
  });
});

describe('runTiles', () => {
  const target = spec([6, 32, 32, 3], 'UINT8');
  const resize = { tiles: { width: 32, height: 32, overlap: 8 } };

  test('each tile is the crop that its geometry names, at its own size; boxes lead back into the picture', async () => {
    const pre = await Preprocessor.create({ target, resize });
    const source = picture(70, 50);
    const block = makeBlock(target);
    const geometries = await pre.runTiles(source, block);
    const origins = [0, 24, 38].map((x) => [x, 0]).concat([0, 24, 38].map((x) => [x, 18]));
    expect(geometries.map(({ crop: { x, y } }) => [x, y])).toEqual(origins);
    for (const [i, { crop }] of geometries.entries()) {
      const tile = block.memory.subarray(3072 * i, 3072 * (i + 1));
      const rows = Array.from({ length: 32 }, (_, y) => {
        const from = 3 * ((crop.y + y) * 70 + crop.x);
        return source.data.subarray(from, from + 96);
      });
      expect(Buffer.compare(tile, Buffer.concat(rows))).toBe(0);
    }
    expect(geometries[5]?.toImage([1, 2, 30, 40])).toEqual([39, 20, 68, 50]);
  });

  test('another number of tiles than the batch, and tiles of another size than the target, are refused', async () => {
    const pre = await Preprocessor.create({ target, resize });
    await expect(pre.runTiles(picture(71, 60), makeBlock(target))).rejects.toMatchObject({
      code: 'ERR_TENSOR_MISMATCH',
    });
    const wrong = { target, resize: { tiles: { width: 16, height: 32 } } };
    await expect(Preprocessor.create(wrong)).rejects.toThrow(RangeError);
    const overlap = { target, resize: { tiles: { width: 32, height: 32, overlap: 32 } } };
    await expect(Preprocessor.create(overlap)).rejects.toThrow(RangeError);
  });

  test('pictures for tiles, and tiles without resize: { tiles }, are refused with the call that was meant', async () => {
    const cut = await Preprocessor.create({ target, resize });
    const six = Array.from({ length: 6 }, () => picture(32, 32));
    await expect(cut.runBatch(six, makeBlock(target))).rejects.toMatchObject({
      code: 'ERR_TENSOR_MISMATCH',
      message: expect.stringContaining('use runTiles'),
    });
    const one = spec([1, 32, 32, 3], 'UINT8');
    const whole = await Preprocessor.create({ target: one });
    await expect(whole.runTiles(picture(70, 50), makeBlock(one))).rejects.toMatchObject({
      code: 'ERR_TENSOR_MISMATCH',
      message: expect.stringContaining("received 'letterbox': use run"),
    });
  });

  test('a misspelt option of a run is refused', async () => {
    const pre = await Preprocessor.create({ target, resize });
    const options = { corp: { x: 0, y: 0, width: 9, height: 9 } } as object;
    await expect(pre.runTiles(picture(70, 50), makeBlock(target), options)).rejects.toThrow(TypeError);
  });
});

describe('crop', () => {
  const target = spec([1, 20, 30, 3], 'UINT8');
  const crop = { x: 5, y: 7, width: 30, height: 20 };

  test('of a run or of the image: that part alone, and boxes in pixels of the whole picture', async () => {
    const pre = await Preprocessor.create({ target, resize: 'none' });
    const [byRun, byImage] = [makeBlock(target), makeBlock(target)];
    const geometry = await pre.run(picture(50, 40), byRun, { crop });
    expect(await pre.run(picture(50, 40, crop), byImage)).toEqual(geometry);
    expect(Buffer.compare(byRun.memory, byImage.memory)).toBe(0);
    expect([...byRun.memory.subarray(0, 3)]).toEqual([...picture(50, 40).data.subarray(3 * 355, 3 * 356)]);
    expect(geometry.toImage([0, 0, 99, 10])).toEqual([5, 7, 35, 17]);
  });

  test.each([
    { ...crop, x: 21 },
    { ...crop, y: -1 },
    { ...crop, width: 51 },
    { ...crop, height: 0 },
  ])('outside the picture is a RangeError: %o', async (wrong) => {
    const pre = await Preprocessor.create({ target });
    await expect(pre.run(picture(50, 40), makeBlock(target), { crop: wrong })).rejects.toThrow(RangeError);
    expect(() => picture(50, 40, wrong)).toThrow(RangeError);
  });
});

test('a letterbox at the top left, and one that does not enlarge', async () => {
  expect(letterbox(50, 20, 40, 40, { align: 'topLeft' })).toEqual({ left: 0, top: 0, width: 40, height: 16 });
  expect(letterbox(10, 20, 40, 40, { scaleUp: false })).toEqual({ left: 15, top: 10, width: 10, height: 20 });
  const target = spec([1, 3, 40, 40]);
  const pre = await Preprocessor.create({ target, resize: { letterbox: { align: 'topLeft', scaleUp: false } } });
  const geometry = await pre.run(picture(10, 20), makeBlock(target));
  expect(geometry).toMatchObject({ left: 0, top: 0, width: 10, height: 20, gainX: 1 });
});

test('one channel takes gray pictures only', async () => {
  const target = spec([1, 1, 2, 2], 'INT8');
  const pre = await Preprocessor.create({ target, mean: 128 });
  const block = makeBlock(target);
  await pre.run(imageFrom(Uint8Array.of(0, 127, 128, 255), { width: 2, height: 2, format: 'GRAY8' }), block);
  expect([...new Int8Array(block.memory.buffer)]).toEqual([-128, -1, 0, 127]);
  await expect(pre.run(picture(2, 2), block)).rejects.toMatchObject({ code: 'ERR_TENSOR_MISMATCH' });
});

test.each([
  ['NV12 with an odd side', { width: 5, height: 4, format: 'NV12' }],
  ['a mosaic of two rows', { width: 5, height: 2, format: 'BAYER_RG8' }],
  ['16 bits and an odd pitch', { width: 5, height: 4, format: 'GRAY16', pitch: 11 }],
] as const)('%s is a RangeError', (_, options) => {
  expect(() => imageFrom(new Uint8Array(999), options)).toThrow(RangeError);
});

test.each([
  ['NV12', { width: 6, height: 4, format: 'NV12' }, 36],
  ['RGB8P', { width: 6, height: 4, format: 'RGB8P', planePitch: 30 }, 84],
] as const)('%s ends with its last plane', (_, options, byteLength) => {
  expect(imageFrom(new Uint8Array(byteLength), options).closed).toBe(false);
  expect(() => imageFrom(new Uint8Array(byteLength - 1), options)).toThrow(RangeError);
});
