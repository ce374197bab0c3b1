import { describeTier } from '@zerohop/test-support';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Device, type DeviceMemory, DisposedError, type Stream } from '../../src/index.js';
import { JpegDecoder, JpegEncoder } from '../../src/nvjpeg.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../fake-libnvjpeg/build.mjs';
import { delayWork, resetFake } from '../support/fake-driver.js';
import { comment } from '../support/fake-jpeg.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();
process.env.ZEROHOP_LIBNVJPEG = buildFakeLibnvjpeg();

describeTier('driver', 'JpegEncoder', () => {
  let device: Device;
  let stream: Stream;
  let decoder: JpegDecoder;
  let encoder: JpegEncoder;
  let memory: DeviceMemory;

  beforeAll(async () => {
    device = await Device.open(0);
    stream = device.createStream();
    [decoder, encoder] = await Promise.all([JpegDecoder.create(device), JpegEncoder.create(device)]);
    memory = await device.alloc(1 << 20);
  });

  afterEach(resetFake);

  afterAll(async () => {
    await Promise.all([decoder.close(), encoder.close(), stream.close(), memory.close()]);
  });

  const width = 20;
  const height = 10;

  it.each([
    ['RGB8', 3, 1, undefined, '4:2:0'],
    ['BGR8', 3, 1, '4:4:4', '4:4:4'],
    ['RGB8P', 1, 3, '4:2:2', '4:2:2'],
    ['BGR8P', 1, 3, 'gray', 'gray'],
    ['GRAY8', 1, 1, undefined, 'gray'],
  ] as const)('reads %s', async (format, samples, planes, subsampling, expected) => {
    const pitch = width * samples + 12;
    const pixels = new Uint8Array(pitch * height * planes).map((_, i) => (i * 31) & 255);
    const src = memory.slice(512, pixels.length);
    await stream.copyToDevice(src, pixels);
    const file = await encoder.encode(src, {
      width,
      height,
      format,
      pitch,
      quality: 73,
      ...(subsampling !== undefined && { subsampling }),
    });
    expect(await decoder.info(file)).toMatchObject({ width, height, subsampling: expected });
    expect(await sharp(file).metadata()).toMatchObject({ format: 'jpeg', width, height });
    // The fake leaves a hash of what it read: rows without gaps, plane by plane, grey as three planes of the same.
    const rows = Array.from({ length: height * planes }, (_, row) =>
      Buffer.from(pixels.subarray(row * pitch, row * pitch + width * samples)),
    );
    const seen = Buffer.concat(format === 'GRAY8' ? [...rows, ...rows, ...rows] : rows);
    expect(Buffer.from(file).toString('latin1')).toContain(comment(73, seen));
  });

  it('waits for the stream that makes the pixels', async () => {
    await using own = device.createStream();
    delayWork(30);
    own.fill(memory.slice(0, width * height * 3), 9);
    const file = await encoder.encode(memory, { width, height, stream: own });
    const seen = new Uint8Array(width * height * 3).fill(9);
    expect(Buffer.from(file).toString('latin1')).toContain(comment(80, seen));
  });

  it.each([
    ['width', { width: 0, height }, RangeError],
    ['width', { width: 65536, height }, RangeError],
    ['height', { width, height: 1.5 }, RangeError],
    ['height', { width, height: '1' }, TypeError],
    ['quality', { width, height, quality: 101 }, RangeError],
    ['quality', { width, height, quality: 0 }, RangeError],
    ['format', { width, height, format: 'RGBA8' }, RangeError],
    ['pitch', { width, height, pitch: -1 }, RangeError],
    ['subsampling', { width, height, subsampling: '4:1:1' }, RangeError],
    ['subsampling', { width, height, format: 'GRAY8', subsampling: '4:2:0' }, RangeError],
    ['stream', { width, height, stream: 1 }, TypeError],
    ['options', undefined, TypeError],
    ['width', {}, TypeError],
  ])('names a wrong argument: %s of %o', async (name, options, type) => {
    const encode = encoder.encode(memory, options as never);
    await expect(encode).rejects.toThrow(new RegExp(`^Expected .* for ${name} but received`));
    await expect(encode).rejects.toBeInstanceOf(type);
  });

  it('refuses what is too small or too large', async () => {
    const src = memory.slice(0, width * height * 3 - 1);
    await expect(encoder.encode(src, { width, height })).rejects.toThrow('Expected src of at least 600 bytes');
    await expect(encoder.encode(memory, { width, height, pitch: 59 })).rejects.toBeInstanceOf(RangeError);
    await expect(encoder.encode(memory, { width: 65535, height: 65535, format: 'GRAY8' })).rejects.toMatchObject({
      code: 'ERR_JPEG_UNSUPPORTED',
    });
  });

  it('keeps what it uses until it is over', async () => {
    const mine = await JpegEncoder.create(device);
    const own = device.createStream();
    const src = await device.alloc(1 << 16);
    delayWork(30);
    own.fill(src, 1);
    const encodes = [mine.encode(src, { width, height }), mine.encode(src, { width, height, stream: own })];
    const closed = Promise.all([mine.close(), src.close(), own.close()]);
    const [one, two] = await Promise.all(encodes);
    expect(one?.length).toBe(two?.length);
    await closed;
    expect(device.contextLost).toBe(false);
    await expect(mine.encode(memory, { width, height })).rejects.toBeInstanceOf(DisposedError);
  });
});
