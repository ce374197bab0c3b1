import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeTier, repositoryRoot, seeded } from '@zerohop/test-support';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Device, type DeviceMemory, type Stream } from '../../src/index.js';
import {
  type DecodeOptions,
  JpegDecoder,
  JpegEncoder,
  JpegError,
  nvjpegAvailability,
  type PixelFormat,
} from '../../src/nvjpeg.js';
import { SAMPLINGS, writeJpeg } from '../support/jpeg-writer.js';

/** Where this machine has the library, also in places that the package does not look at. */
function findNvjpeg(): string | undefined {
  const names = ['13', '12', '11'].flatMap((major) => ['-o', '-name', `libnvjpeg.so.${major}`]).slice(1);
  const found = spawnSync('find', ['/usr', '/opt', '/home', '/root', '(', ...names, ')'], { encoding: 'utf8' });
  return found.stdout.split('\n').find((path) => path !== '');
}

/** Peak signal to noise ratio, in dB. */
function psnr(one: Uint8Array, other: Uint8Array): number {
  expect(one.length).toBe(other.length);
  let sum = 0;
  for (let i = 0; i < one.length; i += 1) sum += ((one[i] ?? 0) - (other[i] ?? 0)) ** 2;
  return sum === 0 ? Number.POSITIVE_INFINITY : 10 * Math.log10((255 ** 2 * one.length) / sum);
}

/** Pixels as sharp has them (RGB, interleaved), in another format. */
function as(format: PixelFormat, rgb: Uint8Array): Uint8Array {
  const pixels = rgb.length / 3;
  const out = new Uint8Array(format === 'GRAY8' ? pixels : rgb.length);
  for (let i = 0; i < pixels; i += 1) {
    const [r = 0, g = 0, b = 0] = rgb.subarray(3 * i, 3 * i + 3);
    if (format === 'GRAY8') out[i] = Math.round(0.299 * r + 0.587 * g + 0.114 * b);
    const colours = format.startsWith('BGR') ? [b, g, r] : [r, g, b];
    if (format === 'GRAY8') continue;
    colours.forEach((value, c) => {
      out[format.endsWith('P') ? c * pixels + i : 3 * i + c] = value;
    });
  }
  return out;
}

/**
 * libjpeg (in sharp) smooths colours between samples and nvJPEG repeats them, so that subsampled pictures differ at edges.
 * What is not subsampled differs by rounding.
 */
const CLOSE = 30;
const SAME = 45;

describeTier('gpu', 'nvJPEG on a real GPU', () => {
  const sample = readFileSync(join(repositoryRoot, 'samples/sheet-4000000.jpg'));
  let device: Device;
  let stream: Stream;
  let decoder: JpegDecoder;
  let encoder: JpegEncoder;
  let memory: DeviceMemory;

  beforeAll(async () => {
    const library = process.env.ZEROHOP_LIBNVJPEG ?? findNvjpeg();
    if (library !== undefined) process.env.ZEROHOP_LIBNVJPEG = library;
    device = await Device.open(0);
    stream = device.createStream();
    [decoder, encoder] = await Promise.all([JpegDecoder.create(device), JpegEncoder.create(device)]);
    memory = await device.alloc(64 << 20);
  });

  afterAll(async () => {
    await Promise.all([decoder?.close(), encoder?.close(), stream?.close(), memory?.close()]);
  });

  async function read(byteLength: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(byteLength);
    await stream.copyToHost(bytes, memory.slice(0, byteLength));
    return bytes;
  }

  async function decode(file: Uint8Array, options: DecodeOptions = {}): Promise<Uint8Array> {
    const { width, height } = await decoder.decode(file, memory, options);
    return read(width * height * (options.format === 'GRAY8' ? 1 : 3));
  }

  const reference = (file: Uint8Array) => sharp(file).toColourspace('srgb').removeAlpha().raw().toBuffer();

  it('is there', () => {
    expect(nvjpegAvailability()).toMatchObject({
      available: true,
      version: expect.stringMatching(/^1[123]\./) as string,
    });
  });

  it.each(['RGB8', 'BGR8', 'RGB8P', 'BGR8P', 'GRAY8'] as const)('decodes a 4K picture to %s', async (format) => {
    const expected = as(format, await reference(sample));
    const image = await decoder.decode(sample, memory, { format });
    expect(image).toMatchObject({ width: 3840, height: 2160 });
    expect(psnr(await read(expected.length), expected)).toBeGreaterThan(CLOSE);
  });

  it('leaves the gaps between pitched rows alone', async () => {
    const pitch = 3840 * 3 + 256;
    stream.fill(memory, 0xaa);
    await stream.done();
    await decoder.decode(sample, memory, { pitch });
    const rows = await read(pitch * 2160);
    const expected = await decode(sample);
    for (let y = 0; y < 2160; y += 1) {
      const row = rows.subarray(y * pitch, (y + 1) * pitch);
      expect(Buffer.compare(row.subarray(0, 3840 * 3), expected.subarray(y * 3840 * 3, (y + 1) * 3840 * 3))).toBe(0);
      expect(row.subarray(3840 * 3).every((byte) => byte === 0xaa)).toBe(true);
    }
  });

  const sizes = [
    [1, 1],
    [7, 5],
    [17, 9],
    [33, 31],
    [640, 1],
    [1, 640],
    [500, 333],
  ] as const;
  it.each(Object.keys(SAMPLINGS) as (keyof typeof SAMPLINGS)[])('decodes %s of every size', async (name) => {
    const sampling = SAMPLINGS[name];
    for (const [width, height] of sizes) {
      const value = (c: number, x: number, y: number) => (c === 0 ? 60 + ((x + 2 * y) % 130) : 118 + c * 10);
      for (const restartInterval of [0, 3]) {
        const file = writeJpeg({ width, height, sampling, value, restartInterval });
        const seen = psnr(await decode(file), await reference(file));
        expect(seen, `${width} x ${height}, restart interval ${restartInterval}`).toBeGreaterThan(
          name === '4:4:4' || name === 'gray' ? SAME : CLOSE,
        );
      }
    }
  });

  it.each([
    ['progressive', { progressive: true }],
    ['progressive, 4:4:4', { progressive: true, chromaSubsampling: '4:4:4' }],
    ['optimised', { mozjpeg: true }],
    ['of quality 100', { quality: 100, chromaSubsampling: '4:4:4' }],
  ])('decodes what is %s', async (_, options) => {
    const file = await sharp(sample).resize(801, 601).jpeg(options).toBuffer();
    const full = 'chromaSubsampling' in options;
    expect(psnr(await decode(file), await reference(file))).toBeGreaterThan(full ? SAME - 5 : CLOSE);
  });

  it('decodes grey, and does not turn by an EXIF orientation', async () => {
    const grey = await sharp(sample).resize(401, 301).greyscale().jpeg().toBuffer();
    expect(psnr(await decode(grey), await reference(grey))).toBeGreaterThan(SAME);
    const turned = await sharp(sample).resize(400, 300).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    expect(await decoder.decode(turned, memory)).toMatchObject({ width: 400, height: 300 });
    expect(psnr(await read(400 * 300 * 3), await reference(turned))).toBeGreaterThan(CLOSE);
  });

  it.each([
    [65500, 8],
    [8, 65500],
    // What libjpeg reads at most.
    [65500, 1],
  ])('decodes and encodes %i x %i', async (width, height) => {
    const file = writeJpeg({ width, height, sampling: SAMPLINGS['4:2:0'], value: (_, x, y) => (x + y) % 100 });
    const pixels = await decode(file);
    expect(pixels.slice(-3)).not.toEqual(new Uint8Array(3));
    const again = await encoder.encode(memory, { width, height, quality: 95 });
    expect(await sharp(again, { limitInputPixels: false }).metadata()).toMatchObject({ width, height });
  });

  it.each([
    ['engines and processors', undefined],
    ['processors alone', '0'],
  ])('decodes by %s near libjpeg, and outlives damage', async (_, hardware) => {
    const before = process.env.ZEROHOP_NVJPEG_HARDWARE;
    if (hardware === undefined) delete process.env.ZEROHOP_NVJPEG_HARDWARE;
    else process.env.ZEROHOP_NVJPEG_HARDWARE = hardware;
    await using mine = await JpegDecoder.create(device);
    if (before === undefined) delete process.env.ZEROHOP_NVJPEG_HARDWARE;
    else process.env.ZEROHOP_NVJPEG_HARDWARE = before;
    const picture = sharp(sample).resize(1001, 667);
    const files = [
      [SAME - 5, await picture.clone().jpeg({ chromaSubsampling: '4:4:4' }).toBuffer()],
      [CLOSE, await picture.clone().jpeg().toBuffer()],
      [CLOSE, await picture.clone().jpeg({ progressive: true }).toBuffer()],
      [SAME, await picture.clone().greyscale().jpeg().toBuffer()],
    ] as const;
    const random = seeded(20261201);
    for (const [least, file] of files) {
      const damaged = Buffer.from(file);
      for (let i = 0; i < 5; i += 1)
        damaged[random.integer(file.length >> 1, file.length - 3)] = random.integer(0, 254);
      await mine.decode(damaged, memory).catch((error: unknown) => expect(error).toBeInstanceOf(JpegError));
      expect(device.contextLost).toBe(false);
      // On the same decoder, in every format.
      for (const format of ['RGB8', 'BGR8', 'RGB8P', 'BGR8P', 'GRAY8'] as const) {
        await mine.decode(file, memory, { format });
        const expected = as(format, await reference(file));
        expect(psnr(await read(expected.length), expected), format).toBeGreaterThan(least);
      }
    }
  });

  it('refuses CMYK with a code', async () => {
    const file = await sharp(sample).resize(64, 64).toColourspace('cmyk').jpeg().toBuffer();
    await expect(decoder.decode(file, memory)).rejects.toMatchObject({ code: 'ERR_JPEG_UNSUPPORTED' });
  });

  it.each([false, true])('survives damaged pictures (progressive: %s)', async (progressive) => {
    const file = await sharp(sample).resize(320, 240).jpeg({ progressive }).toBuffer();
    const random = seeded(20261129);
    for (let round = 0; round < 200; round += 1) {
      const damaged = Buffer.from(file);
      for (let i = 0; i < 1 + (round % 8); i += 1) {
        damaged[random.integer(0, file.length - 1)] = random.integer(0, 255);
      }
      const cut = round % 3 === 0 ? Buffer.concat([damaged.subarray(0, file.length >> 1), file.subarray(-2)]) : damaged;
      const error: unknown = await decoder.decode(cut, memory).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      // Some damage is only seen in the picture; a size may have become larger than the memory.
      if (error !== undefined && !(error instanceof RangeError)) expect(error).toBeInstanceOf(JpegError);
      expect(device.contextLost, `after round ${round}`).toBe(false);
    }
    expect(psnr(await decode(file), await reference(file))).toBeGreaterThan(CLOSE);
  });

  it.each([
    ['RGB8', '4:4:4'],
    ['BGR8', '4:2:2'],
    ['RGB8P', '4:2:0'],
    ['BGR8P', 'gray'],
    ['GRAY8', 'gray'],
  ] as const)('encodes %s as %s, and decodes it again', async (format, subsampling) => {
    for (const [width, height] of [
      [801, 601],
      [16, 16],
      [1, 1],
    ] as const) {
      const rgb = await sharp(sample).resize(width, height).removeAlpha().raw().toBuffer();
      const pixels = as(format, rgb);
      await stream.copyToDevice(memory.slice(0, pixels.length), pixels);
      const file = await encoder.encode(memory, { width, height, format, subsampling, quality: 95 });
      expect(await decoder.info(file)).toMatchObject({ width, height, subsampling });
      const grey = subsampling === 'gray';
      const expected = grey ? as('GRAY8', rgb) : rgb;
      expect(psnr(await decode(file, { format: grey ? 'GRAY8' : 'RGB8' }), expected)).toBeGreaterThan(CLOSE);
      const bySharp = await reference(file);
      expect(psnr(grey ? as('GRAY8', bySharp) : bySharp, expected)).toBeGreaterThan(CLOSE);
    }
  });

  it('is in the order of streams', async () => {
    const expected = await decode(sample);
    await using pinned = await device.allocPinned(expected.length);
    stream.fill(memory, 0);
    await decoder.decode(sample, memory, { stream });
    await stream.copyToHost(pinned, memory.slice(0, expected.length));
    await stream.done();
    expect(Buffer.compare(new Uint8Array(pinned.buffer), expected)).toBe(0);
  });

  it('gives its memory back', async () => {
    const rounds = async (count: number) => {
      for (let i = 0; i < count; i += 1) {
        const [one, two] = await Promise.all([JpegDecoder.create(device), JpegEncoder.create(device)]);
        await one.decode(sample, memory);
        await two.encode(memory, { width: 640, height: 480 });
        await Promise.all([one.close(), two.close()]);
      }
    };
    await rounds(3);
    const { free } = device.memoryInfo();
    await rounds(20);
    expect(device.memoryInfo().free).toBeGreaterThanOrEqual(free - (2 << 20));
  });
});
