import { Device } from '@zerohop/cuda-native';
import type { Datatype, TensorBlock, TensorSpec } from '@zerohop/cuda-native/tensor';
import { seeded } from '@zerohop/test-support';
import sharp from 'sharp';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { decodeImage, type Image, imageFrom, type PixelFormat, Preprocessor } from '../../src/index.js';
import type { PreprocessorOptions } from '../../src/options.js';
import { deviceBlock, mappedBlock } from '../device-block.js';
import { makeBlock, spec } from '../host-block.js';
import { FORMAT_NAMES, noiseImage } from '../kernel-cases.js';
import { noise } from '../noise.js';

const target = spec([1, 3, 48, 80]);

function picture(format: PixelFormat, seed = 1, width = 120, height = 64): Image {
  const { data, byteOffset: _, ...shape } = noiseImage(seed, { width, height, format });
  return imageFrom(data, shape);
}

/** What the CPU writes. */
async function byCpu(sources: readonly (Image | Uint8Array)[], of: TensorSpec, options: Partial<PreprocessorOptions>) {
  await using pre = await Preprocessor.create({ ...options, target: of, device: 'cpu' });
  const block = makeBlock(of);
  const tiles = typeof options.resize === 'object' && 'tiles' in options.resize;
  const [first] = sources as [Image];
  const geometries = await (tiles ? pre.runTiles(first, block) : pre.runBatch(sources, block));
  return { bytes: Buffer.from(block.memory), geometries };
}

const bytesOf = async (block: TensorBlock<Datatype>) => {
  const read = await block.read();
  return Buffer.from(read.buffer, read.byteOffset, read.byteLength);
};

/** Kernels write what the CPU writes: into GPU memory, into host memory in place, and into host memory by a copy. */
export function preprocessorSuite(): void {
  let device: Device;
  beforeAll(async () => {
    device = await Device.open(0);
  });

  const blocks = {
    'GPU memory': deviceBlock,
    'registered host memory': mappedBlock,
    'plain host memory': async (_: Device, of: TensorSpec) => {
      const block = makeBlock(of);
      const read = () => Promise.resolve(block.memory as never);
      return { ...block, read, close: () => Promise.resolve() };
    },
  } as const;
  type Place = keyof typeof blocks;
  const places = Object.keys(blocks) as Place[];

  async function blockIn(place: Place, of: TensorSpec) {
    const block = await blocks[place](device, of);
    onTestFinished(() => block.close());
    return block;
  }

  async function equal(
    place: Place,
    sources: readonly (Image | Uint8Array)[],
    of: TensorSpec,
    options: Partial<PreprocessorOptions> = {},
  ) {
    await using pre = await Preprocessor.create({ ...options, target: of, device });
    const block = await blockIn(place, of);
    const tiles = typeof options.resize === 'object' && 'tiles' in options.resize;
    const [first] = sources as [Image];
    const geometries = await (tiles ? pre.runTiles(first, block) : pre.runBatch(sources, block));
    const expected = await byCpu(sources, of, options);
    expect(geometries).toEqual(expected.geometries);
    expect((await bytesOf(block)).equals(expected.bytes)).toBe(true);
    expect(pre.kernels).toMatch(/^(fatbin|ptx)$/);
  }

  describe.each(places)('%s', (place) => {
    test.each(FORMAT_NAMES)('%s, letterboxed', async (format) => {
      await equal(place, [picture(format)], target, { colorOrder: format.startsWith('GRAY') ? 'RGB' : 'BGR' });
    });

    test.each(['FP16', 'UINT8', 'INT8'] as const)('%s, with mean and std', async (datatype) => {
      const options = { mean: [0.1, 0.2, 0.3], std: 0.5, scale: 0.3 } as const;
      await equal(place, [picture('RGB8')], { ...target, datatype }, options);
    });

    test.each(['RGB', 'BGR'] as const)(
      'pure red, green and blue stay pure, in planes of the order %s',
      async (colorOrder) => {
        await using pre = await Preprocessor.create({ target, device, colorOrder, pad: 0 });
        const block = await blockIn(place, target);
        for (const [channel, rgb] of [
          [255, 0, 0],
          [0, 255, 0],
          [0, 0, 255],
        ].entries()) {
          const pixels = Uint8Array.from({ length: 3 * 120 * 72 }, (_, i) => rgb[i % 3] as number);
          await pre.run(imageFrom(pixels, { width: 120, height: 72, format: 'RGB8' }), block);
          const values = new Float32Array(new Uint8Array(await bytesOf(block)).buffer);
          const planes = [0, 1, 2].map((c) => [...new Set(values.subarray(3840 * c, 3840 * (c + 1)))]);
          const plane = colorOrder === 'RGB' ? channel : 2 - channel;
          expect(planes).toEqual([0, 1, 2].map((c) => [c === plane ? 1 : 0]));
        }
      },
    );

    test('pictures of different sizes and formats in one batch', async () => {
      const sources = [picture('RGB8'), picture('NV12', 2, 64, 120), picture('RGB8', 3, 7, 5)];
      await equal(place, sources, spec([3, 3, 48, 80]));
      const same = Array.from({ length: 11 }, (_, i) => picture('RGB8', i, 20 + 9 * i, 90 - 7 * i));
      await equal(place, same, spec([11, 3, 48, 80]));
    });

    test('tiles with overlap', async () => {
      const resize = { tiles: { width: 80, height: 48, overlap: 16 } };
      await equal(place, [picture('RGB8', 1, 200, 100)], spec([9, 3, 48, 80]), { resize });
    });

    test('an encoded picture that is no JPEG, cropped', async () => {
      const png = await sharp(noise(4, 3 * 90 * 70), { raw: { width: 90, height: 70, channels: 3 } })
        .png()
        .toBuffer();
      await using pre = await Preprocessor.create({ target, device });
      const block = await blockIn(place, target);
      const crop = { x: 11, y: 5, width: 60, height: 50 };
      const geometry = await pre.run(png, block, { crop });
      const image = imageFrom(noise(4, 3 * 90 * 70), { width: 90, height: 70, format: 'RGB8', crop });
      const expected = await byCpu([image], target, {});
      expect(geometry).toEqual(expected.geometries[0]);
      expect((await bytesOf(block)).equals(expected.bytes)).toBe(true);
    });

    test('is held until it is written, also where the work fails, after which the next run works', async () => {
      await using pre = await Preprocessor.create({ target, device });
      const block = await blockIn(place, target);
      const held: Promise<unknown>[] = [];
      const watched = { ...block, hold: (work: Promise<unknown>) => void held.push(work.catch(() => undefined)) };
      const broken = pre.run(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]), watched);
      expect(held).toHaveLength(1);
      await expect(broken).rejects.toMatchObject({ code: 'ERR_IMAGE_CORRUPT' });
      await pre.run(picture('RGB8'), watched);
      expect((await bytesOf(block)).equals((await byCpu([picture('RGB8')], target, {})).bytes)).toBe(true);
    });
  });

  test('many runs at once, on the blocks’ streams and on one of the caller’s', async () => {
    await using pre = await Preprocessor.create({ target, device });
    const shared = device.createStream();
    onTestFinished(() => shared.close());
    const { next } = seeded(5);
    const sources = Array.from({ length: 24 }, (_, i) =>
      picture('RGB8', i, 10 + Math.floor(next() * 200), 10 + Math.floor(next() * 200)),
    );
    const written = await Promise.all(
      sources.map(async (source, i) => {
        const block = await blockIn('GPU memory', target);
        await pre.run(source, block, i % 2 === 0 ? {} : { stream: shared });
        return bytesOf(block);
      }),
    );
    const expected = await Promise.all(sources.map((source) => byCpu([source], target, {})));
    expect(written.map((bytes, i) => bytes.equals(expected[i]?.bytes as Buffer))).toEqual(sources.map(() => true));
  });

  test('a picture in device memory is read where it lies; into plain host memory the CPU takes a copy of it', async () => {
    const pixels = noise(9, 3 * 100 * 60);
    const memory = await device.alloc(pixels.byteLength + 4);
    onTestFinished(() => memory.close());
    const stream = device.createStream();
    onTestFinished(() => stream.close());
    await stream.copyToDevice(memory.slice(4, pixels.byteLength), pixels);
    const shape = { width: 100, height: 60, format: 'RGB8' } as const;
    const image = imageFrom(memory.slice(4, pixels.byteLength), shape);
    const expected = await byCpu([imageFrom(pixels, shape)], target, {});
    await using pre = await Preprocessor.create({ target, device });
    const block = await blockIn('GPU memory', target);
    await pre.run(image, block, { stream });
    expect((await bytesOf(block)).equals(expected.bytes)).toBe(true);
    expect((await byCpu([image], target, {})).bytes.equals(expected.bytes)).toBe(true);
    expect([image.kind, (await image.toHost()).data]).toEqual(['cuda', pixels]);
    expect(() => image.data).toThrow(TypeError);
    await image.close();
    expect([image.closed, memory.closed]).toEqual([true, false]);
    await expect(pre.run(image, block)).rejects.toMatchObject({ code: 'ERR_DISPOSED' });
  });

  test("device: 'cpu' writes GPU memory by way of a host buffer; without a target's device the block's is used", async () => {
    const expected = await byCpu([picture('BGR8')], target, {});
    for (const options of [{ device: 'cpu' }, {}] as const) {
      await using pre = await Preprocessor.create({ target: { width: 80, height: 48 }, ...options });
      const block = await blockIn('GPU memory', target);
      await pre.run(picture('BGR8'), block);
      expect((await bytesOf(block)).equals(expected.bytes)).toBe(true);
      expect(pre.kernels === undefined).toBe('device' in options);
    }
  });

  test('decodeImage leaves a picture in device memory, which is freed by close', async () => {
    const png = await sharp(noise(4, 3 * 90 * 70), { raw: { width: 90, height: 70, channels: 3 } })
      .png()
      .toBuffer();
    const image = await decodeImage(png, { device });
    expect(image).toMatchObject({ width: 90, height: 70, format: 'RGB8', decoder: 'sharp', kind: 'cuda' });
    const { memory } = image;
    expect((await image.toHost()).data.subarray(0, 3 * 90 * 70)).toEqual(noise(4, 3 * 90 * 70));
    await image.close();
    expect('closed' in memory && memory.closed).toBe(true);
    await expect(decodeImage(png.subarray(0, 60), { device })).rejects.toMatchObject({ code: 'ERR_IMAGE_CORRUPT' });
  });

  test.each([{}, 'stream', 3])('%j for a stream is refused before memory is taken', async (stream) => {
    await using pre = await Preprocessor.create({ target, device });
    const alloc = vi.spyOn(device, 'alloc');
    onTestFinished(() => alloc.mockRestore());
    await expect(pre.run(picture('RGB8'), makeBlock(target), { stream: stream as never })).rejects.toThrow(
      /^Expected Stream for stream but received/,
    );
    expect(alloc).not.toHaveBeenCalled();
  });

  test('close waits for runs in flight', async () => {
    const pre = await Preprocessor.create({ target, device });
    const block = await blockIn('GPU memory', target);
    let over = false;
    const hold = (work: Promise<unknown>) => void work.then(() => (over = true));
    const run = pre.run(picture('RGB8'), { ...block, hold });
    await pre.close();
    expect(over).toBe(true);
    await run;
    await expect(pre.run(picture('RGB8'), block)).rejects.toMatchObject({ code: 'ERR_DISPOSED' });
  });
}
