import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier } from '@zerohop/test-support';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { BusyError, Device, type DeviceMemory, DisposedError, SharedMemory, type Stream } from '../../src/index.js';
import { JpegDecoder, JpegEncoder, type PixelFormat } from '../../src/nvjpeg.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../fake-libnvjpeg/build.mjs';
import { delayWork, resetFake } from '../support/fake-driver.js';
import { HEIGHT, jpeg, pattern, WIDTH } from '../support/fake-jpeg.js';
import { join as joinSegments, jpegSegments, MARKER, SAMPLINGS, segment, writeJpeg } from '../support/jpeg-writer.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();
process.env.ZEROHOP_LIBNVJPEG = buildFakeLibnvjpeg();

describeTier('driver', 'JpegDecoder', () => {
  const log = join(tmpdir(), `zerohop-jpeg-decoder-${process.pid}`);
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

  afterEach(() => {
    resetFake();
    rmSync(log, { force: true });
  });

  afterAll(async () => {
    await Promise.all([decoder.close(), encoder.close(), stream.close(), memory.close()]);
  });

  const calls = (name: string) =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line.split(' ')[0] === name).length;

  async function read(from: DeviceMemory): Promise<Uint8Array> {
    const bytes = new Uint8Array(from.byteLength);
    await stream.copyToHost(bytes, from);
    return bytes;
  }

  const layouts: [PixelFormat, number, number, (x: number, y: number, pitch: number, c: number) => number, string][] = [
    ['RGB8', 3, 1, (x, y, pitch, c) => y * pitch + 3 * x + c, '012'],
    ['BGR8', 3, 1, (x, y, pitch, c) => y * pitch + 3 * x + c, '210'],
    ['RGB8P', 1, 3, (x, y, pitch, c) => (c * HEIGHT + y) * pitch + x, '012'],
    ['BGR8P', 1, 3, (x, y, pitch, c) => (c * HEIGHT + y) * pitch + x, '210'],
    ['GRAY8', 1, 1, (x, y, pitch) => y * pitch + x, '0'],
  ];

  it.each(layouts)(
    'writes %s, with and without gaps between the rows',
    async (format, samples, planes, place, order) => {
      const value = pattern(jpeg);
      for (const gap of [0, 8]) {
        const pitch = WIDTH * samples + gap;
        const dst = memory.slice(256, pitch * HEIGHT * planes);
        stream.fill(memory, 0xee);
        await stream.done();
        const options = gap === 0 ? { format } : { format, pitch };
        expect(await decoder.decode(jpeg, dst, options)).toMatchObject({ width: WIDTH, height: HEIGHT, pitch });
        const expected = new Uint8Array(memory.byteLength).fill(0xee);
        for (let y = 0; y < HEIGHT; y += 1) {
          for (let x = 0; x < WIDTH; x += 1) {
            Array.from(order, Number).forEach((component, c) => {
              expected[256 + place(x, y, pitch, c)] = value(component, x, y);
            });
          }
        }
        expect(Buffer.compare(await read(memory), expected)).toBe(0);
      }
    },
  );

  it('shows nvJPEG comments instead of what applications put in, and nothing behind the end', async () => {
    const segments = jpegSegments({ width: WIDTH, height: HEIGHT, sampling: SAMPLINGS.gray });
    const jfif = segment(MARKER.APP0, 'JFIF\0\x01\x01\0\0\x01\0\x01\0\0');
    const exif = 'Exif\0\0MM\0*\xff\xff\xff\xff';
    const given = joinSegments([jfif, segment(0xe1, exif), segment(0xed, 'Photoshop'), ...segments]);
    const seen = joinSegments([jfif, segment(0xfe, exif), segment(0xfe, 'Photoshop'), ...segments]);
    const before = Buffer.from(given);
    await decoder.decode(Buffer.concat([given, Buffer.from('more')]), memory, { format: 'GRAY8' });
    expect((await read(memory)).subarray(0, 3)).toEqual(new Uint8Array([0, 1, 2].map((x) => pattern(seen)(0, x, 0))));
    // Not in the caller's bytes.
    expect(given).toEqual(before);
  });

  it('reads views, pinned and shared memory', async () => {
    await using pinned = await device.allocPinned(jpeg.length);
    new Uint8Array(pinned.buffer).set(jpeg);
    using shared = await SharedMemory.create(`/zerohop-nvjpeg-${process.pid}`, 4096);
    const view = new Uint8Array(shared.buffer, 100, jpeg.length);
    view.set(jpeg);
    for (const bytes of [pinned, new DataView(pinned.buffer), view]) {
      stream.fill(memory, 0);
      await stream.done();
      await decoder.decode(bytes, memory);
      expect((await read(memory))[0]).toBe(pattern(jpeg)(0, 0, 0));
    }
  });

  it('refuses what is too small before anything is done', async () => {
    process.env.ZEROHOP_FAKE_LOG = log;
    const bytes = WIDTH * HEIGHT * 3;
    for (const format of ['RGB8', 'RGB8P'] as const) {
      const small = decoder.decode(jpeg, memory.slice(0, bytes - 1), { format });
      await expect(small).rejects.toThrow(`Expected dst of at least ${bytes} bytes for 40 x 24 pixels`);
      await expect(small).rejects.toBeInstanceOf(RangeError);
    }
    await expect(decoder.decode(jpeg, memory, { pitch: 119 })).rejects.toThrow('Expected pitch of at least 120 bytes');
    await expect(decoder.decode(jpeg, memory, { pitch: 1 << 20 })).rejects.toBeInstanceOf(RangeError);
    const wide = decoder.decode(jpeg, memory, { pitch: Number.MAX_SAFE_INTEGER });
    await expect(wide).rejects.toMatchObject({ code: 'ERR_JPEG_UNSUPPORTED' });
    // A header that promises a picture of 12.9 GB.
    const huge = joinSegments(
      jpegSegments({ width: 8, height: 8, sampling: SAMPLINGS['4:2:0'] }).map((each) =>
        each.marker === MARKER.SOF0
          ? { ...each, contents: Buffer.concat([Buffer.from([8, 255, 255, 255, 255]), each.contents.subarray(5)]) }
          : each,
      ),
    );
    expect(await decoder.info(huge)).toMatchObject({ width: 65535, height: 65535 });
    await expect(decoder.decode(huge, memory)).rejects.toMatchObject({ code: 'ERR_JPEG_UNSUPPORTED' });
    await decoder.info(jpeg);
    expect(calls('nvjpegDecode')).toBe(0);
    await decoder.decode(jpeg, memory.slice(0, bytes));
    expect(calls('nvjpegDecode')).toBe(1);
  });

  it.each([
    ['bytes', () => decoder.decode('jpeg' as never, memory)],
    ['dst', () => decoder.decode(jpeg, jpeg as never)],
    ['options', () => decoder.decode(jpeg, memory, null as never)],
    ['format', () => decoder.decode(jpeg, memory, { format: 1 as never })],
    ['pitch', () => decoder.decode(jpeg, memory, { pitch: '120' as never })],
    ['stream', () => decoder.decode(jpeg, memory, { stream: {} as never })],
    ['device', () => JpegDecoder.create({} as never)],
    ['device', () => JpegEncoder.create(0 as never)],
  ])('names a wrong argument: %s', async (name, call) => {
    await expect(call()).rejects.toThrow(new RegExp(`^Expected .* for ${name} but received`));
    await expect(call()).rejects.toBeInstanceOf(TypeError);
  });

  it('refuses formats it does not have, and other devices', async () => {
    await expect(decoder.decode(jpeg, memory, { format: 'NV12' as never })).rejects.toThrow(
      'Expected one of RGB8, BGR8, RGB8P, BGR8P, GRAY8 for format but received NV12 of type string',
    );
    const other = await Device.open(1);
    await using there = await other.alloc(4096);
    await using stranger = other.createStream();
    await expect(decoder.decode(jpeg, there)).rejects.toThrow('Expected dst on device 0');
    await expect(decoder.decode(jpeg, memory, { stream: stranger })).rejects.toThrow('Expected stream on device 0');
    await expect(encoder.encode(there, { width: 1, height: 1 })).rejects.toThrow('Expected src on device 0');
  });

  it('is there when its promise resolves', async () => {
    delayWork(30);
    await decoder.decode(jpeg, memory);
    delayWork(0);
    expect((await read(memory))[5]).toBe(pattern(jpeg)(2, 1, 0));
  });

  it('is in the order of a stream that it is given', async () => {
    await using own = device.createStream();
    await using pinned = await device.allocPinned(3);
    delayWork(30);
    own.fill(memory, 1);
    await decoder.decode(jpeg, memory, { stream: own });
    expect(own.query()).toBe(false);
    await own.copyToHost(pinned, memory.slice(0, 3));
    await own.done();
    expect(Array.from(new Uint8Array(pinned.buffer))).toEqual([0, 1, 2].map((c) => pattern(jpeg)(c, 0, 0)));
  });

  it('waits, on one decoder, until the one before is over, on whichever streams', async () => {
    await using one = device.createStream();
    await using other = device.createStream();
    delayWork(50);
    await decoder.decode(jpeg, memory, { stream: one });
    expect(one.query()).toBe(false);
    await decoder.decode(jpeg, memory, { stream: other });
    expect(one.query()).toBe(true);
    expect(other.query()).toBe(false);
  });

  it('runs on several decoders side by side, and in turn on one', async () => {
    const decoders = await Promise.all(Array.from({ length: 4 }, () => JpegDecoder.create(device)));
    const pictures = Array.from({ length: 16 }, (_, i) =>
      writeJpeg({ width: 8 + i, height: 8, sampling: SAMPLINGS['4:4:4'] }),
    );
    const places = pictures.map((_, i) => memory.slice(i * 4096, 4096));
    await Promise.all(
      pictures.map((picture, i) => (decoders[i % 4] as JpegDecoder).decode(picture, places[i] as DeviceMemory)),
    );
    const bytes = await read(memory);
    pictures.forEach((picture, i) => {
      expect(bytes[i * 4096]).toBe(pattern(picture)(0, 0, 0));
    });
    await Promise.all(decoders.map((each) => each.close()));
  });

  it('keeps what it uses until it is over', async () => {
    const mine = await JpegDecoder.create(device);
    const own = device.createStream();
    const [one, two] = await Promise.all([device.alloc(1 << 16), device.alloc(1 << 16)]);
    const pinned = await device.allocPinned(jpeg.length);
    new Uint8Array(pinned.buffer).set(jpeg);
    delayWork(30);
    const decodes = [mine.decode(jpeg, one), mine.decode(pinned, two, { stream: own })];
    // The fake answers a free, or a destroyed stream, under queued work with a lost context.
    const closed = Promise.all([mine.close(), one.close(), two.close(), pinned.close(), own.close()]);
    await Promise.all(decodes);
    await closed;
    expect(device.contextLost).toBe(false);
    await expect(mine.decode(jpeg, memory)).rejects.toBeInstanceOf(DisposedError);
    await expect(mine.info(jpeg)).rejects.toBeInstanceOf(DisposedError);
    await expect(decoder.decode(jpeg, one)).rejects.toBeInstanceOf(DisposedError);
    await mine.close();
  });

  it('is refused on a stream during a capture', async () => {
    await using own = device.createStream();
    let decode: Promise<unknown> | undefined;
    let encode: Promise<unknown> | undefined;
    await using _ = await own.capture(() => {
      own.fill(memory, 0);
      decode = decoder.decode(jpeg, memory, { stream: own });
      encode = encoder.encode(memory, { width: 1, height: 1, stream: own });
      for (const each of [decode, encode]) each.catch(() => undefined);
    });
    await expect(decode).rejects.toBeInstanceOf(BusyError);
    await expect(encode).rejects.toBeInstanceOf(BusyError);
  });
});
