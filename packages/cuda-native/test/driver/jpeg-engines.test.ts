import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier } from '@zerohop/test-support';
import { afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { Device, type DeviceMemory, type Stream } from '../../src/index.js';
import { JpegDecoder } from '../../src/nvjpeg.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../fake-libnvjpeg/build.mjs';
import { delayWork, resetFake } from '../support/fake-driver.js';
import { HEIGHT, jpeg, pattern, WIDTH } from '../support/fake-jpeg.js';
import { join as joinSegments, jpegSegments, MARKER, SAMPLINGS, segment, writeJpeg } from '../support/jpeg-writer.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();
process.env.ZEROHOP_LIBNVJPEG = buildFakeLibnvjpeg();

const INITIALIZE = 'nvjpegDecodeBatchedInitialize';
const ENGINES = 'nvjpegDecodeBatched';
const PROCESSORS = 'nvjpegDecode';
const RENEW = ['nvjpegJpegStateDestroy', 'nvjpegJpegStateCreate'];

const size = { width: WIDTH, height: HEIGHT };
const segments = (sampling: keyof typeof SAMPLINGS = '4:2:0') =>
  jpegSegments({ ...size, sampling: SAMPLINGS[sampling] });
const commented = (text: string) => joinSegments([segment(0xfe, text), ...segments()]);
/** Nothing in its headers tells that the engines refuse it. */
const odd = commented('odd on purpose');
const damaged = commented('damaged on purpose');
/** The same picture with a changed byte of its frame header. */
const altered = (at: number, byte: number) =>
  joinSegments(
    segments().map((each) => {
      if (each.marker !== MARKER.SOF0) return each;
      const contents = Buffer.from(each.contents);
      contents[at] = byte;
      return { ...each, contents };
    }),
  );
const extended = joinSegments(
  segments().map((each) => (each.marker === MARKER.SOF0 ? { ...each, marker: 0xc1 } : each)),
);
/** A scan for each component. */
const threeScans = joinSegments(
  segments('4:4:4').flatMap((each) =>
    each.marker === MARKER.SOS
      ? [1, 2, 3].map((id) => segment(MARKER.SOS, [1, id, 0, 0, 63, 0], Array.from(each.data)))
      : [each],
  ),
);

describeTier('driver', 'JpegDecoder on a device with JPEG engines', () => {
  const log = join(tmpdir(), `zerohop-jpeg-engines-${process.pid}`);
  let device: Device;
  let stream: Stream;
  let memory: DeviceMemory;

  beforeAll(async () => {
    device = await Device.open(0);
    stream = device.createStream();
    memory = await device.alloc(1 << 16);
  });

  beforeEach(() => {
    process.env.ZEROHOP_FAKE_JPEG_ENGINES = '1';
  });

  afterEach(() => {
    resetFake();
    rmSync(log, { force: true });
  });

  async function makeDecoder(): Promise<JpegDecoder> {
    const decoder = await JpegDecoder.create(device);
    onTestFinished(async () => {
      process.env.ZEROHOP_FAKE_FAIL = '';
      await decoder.close();
    });
    return decoder;
  }

  /** The calls of nvJPEG during `work`, in order. */
  async function calls(work: () => Promise<unknown>): Promise<string[]> {
    process.env.ZEROHOP_FAKE_LOG = log;
    await work();
    process.env.ZEROHOP_FAKE_LOG = '';
    const names = readFileSync(log, 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[0] as string);
    rmSync(log);
    return names.filter((name) => name.startsWith('nvjpeg'));
  }

  /** Decodes, expects the pixels of the whole picture, and gives the calls of nvJPEG. */
  async function decode(decoder: JpegDecoder, file: Uint8Array = jpeg, format: 'RGB8' | 'GRAY8' = 'RGB8') {
    const samples = format === 'RGB8' ? 3 : 1;
    stream.fill(memory, 0);
    await stream.done();
    const made = await calls(() => decoder.decode(file, memory, { format }));
    const bytes = new Uint8Array(WIDTH * HEIGHT * samples);
    await stream.copyToHost(bytes, memory.slice(0, bytes.length));
    const value = pattern(file);
    const grey = (await decoder.info(file)).components === 1;
    const expected = bytes.map((_, i) => {
      const pixel = Math.floor(i / samples);
      return value(grey ? 0 : i % samples, pixel % WIDTH, Math.floor(pixel / WIDTH));
    });
    expect(Buffer.compare(bytes, expected)).toBe(0);
    return made;
  }

  it('lets them decode, and prepares them once for each format', async () => {
    const decoder = await makeDecoder();
    expect(await decode(decoder)).toEqual(['nvjpegJpegStateCreate', INITIALIZE, ENGINES]);
    expect(await decode(decoder)).toEqual([ENGINES]);
    expect(await decode(decoder, jpeg, 'GRAY8')).toEqual([INITIALIZE, ENGINES]);
    expect(await decode(decoder, jpeg, 'GRAY8')).toEqual([ENGINES]);
    expect(await decode(decoder)).toEqual([INITIALIZE, ENGINES]);
  });

  it('gives both handles and states back', async () => {
    const made = await calls(async () => {
      await using decoder = await JpegDecoder.create(device);
      await decoder.decode(jpeg, memory);
    });
    const count = (name: string) => made.filter((each) => each === name).length;
    expect([count('nvjpegCreateEx'), count('nvjpegDestroy')]).toEqual([2, 2]);
    expect([count('nvjpegJpegStateCreate'), count('nvjpegJpegStateDestroy')]).toEqual([2, 2]);
  });

  it.each(['4:4:4', '4:2:2', '4:2:0', 'gray'] as const)('lets them decode %s', async (sampling) => {
    const decoder = await makeDecoder();
    for (const restartInterval of [0, 2]) {
      const file = writeJpeg({ ...size, sampling: SAMPLINGS[sampling], restartInterval });
      expect((await decode(decoder, file)).at(-1)).toBe(ENGINES);
    }
  });

  it.each([
    ['4:4:0', writeJpeg({ ...size, sampling: SAMPLINGS['4:4:0'] })],
    ['4:1:1', writeJpeg({ ...size, sampling: SAMPLINGS['4:1:1'] })],
    ['4:1:0', writeJpeg({ ...size, sampling: SAMPLINGS['4:1:0'] })],
    [
      '4:4:4 of 1 x 2 each',
      writeJpeg({
        ...size,
        sampling: [
          [1, 2],
          [1, 2],
          [1, 2],
        ],
      }),
    ],
    ['an extended one', extended],
    ['one of three scans', threeScans],
  ])('never shows them %s', async (_, file) => {
    const decoder = await makeDecoder();
    expect(await decode(decoder, file)).toEqual([PROCESSORS]);
  });

  it('never shows them what it refuses itself', async () => {
    const decoder = await makeDecoder();
    const made = await calls(async () => {
      // 12 bits, and a height that is to follow.
      for (const file of [altered(0, 12), altered(2, 0)]) {
        await expect(decoder.decode(file, memory)).rejects.toMatchObject({ code: 'ERR_JPEG_UNSUPPORTED' });
      }
      await expect(decoder.decode(jpeg.subarray(0, -2), memory)).rejects.toMatchObject({ code: 'ERR_JPEG_TRUNCATED' });
    });
    expect(made).toEqual([]);
  });

  it('decodes what they refuse, and gives them a fresh state', async () => {
    const decoder = await makeDecoder();
    await decode(decoder);
    expect(await decode(decoder, odd)).toEqual([ENGINES, PROCESSORS]);
    expect(await decode(decoder)).toEqual([...RENEW, INITIALIZE, ENGINES]);
    expect(await decode(decoder)).toEqual([ENGINES]);
  });

  it('tells of a damaged picture what the processors say', async () => {
    const decoder = await makeDecoder();
    for (let round = 0; round < 10; round += 1) {
      const failing = decoder.decode(damaged, memory);
      await expect(failing).rejects.toMatchObject({ code: 'ERR_JPEG_CORRUPT', call: PROCESSORS, status: 3 });
    }
    // Both states are renewed when they are used next; damaged pictures do not count against the engines.
    expect(await decode(decoder)).toEqual([...RENEW, INITIALIZE, ENGINES]);
    expect(await decode(decoder, odd)).toEqual([ENGINES, ...RENEW, PROCESSORS]);
  });

  it.each([
    [ENGINES, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99]],
    [INITIALIZE, [1, 2, 5, 9]],
    ['nvjpegJpegStateCreate', [5]],
  ])('decodes whatever %s says', async (call, statuses) => {
    for (const status of statuses) {
      const decoder = await makeDecoder();
      process.env.ZEROHOP_FAKE_FAIL = `${call}=${status}`;
      const made = await decode(decoder);
      expect([made.at(-2), made.at(-1)]).toEqual([call, PROCESSORS]);
      process.env.ZEROHOP_FAKE_FAIL = '';
      expect((await decode(decoder)).at(-1)).toBe(ENGINES);
    }
  });

  it('warns when their state can not be given back, and goes on', async () => {
    const decoder = await makeDecoder();
    await decode(decoder, odd);
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    process.env.ZEROHOP_FAKE_FAIL = 'nvjpegJpegStateDestroy=8';
    expect((await decode(decoder)).at(-1)).toBe(ENGINES);
    expect(await warned).toMatchObject({ code: 'CUDA_CLEANUP' });
  });

  it('leaves engines alone that do no more than refuse', async () => {
    const decoder = await makeDecoder();
    for (let round = 0; round < 7; round += 1) expect(await decode(decoder, odd)).toContain(ENGINES);
    // One that they decode ends the row.
    expect((await decode(decoder)).at(-1)).toBe(ENGINES);
    for (let round = 0; round < 8; round += 1) expect(await decode(decoder, odd)).toContain(ENGINES);
    expect(await decode(decoder, odd)).toEqual([PROCESSORS]);
    expect(await decode(decoder)).toEqual([PROCESSORS]);
  });

  it('is made without them where they are refused', async () => {
    for (const status of [1, 2, 6, 7, 8, 9]) {
      process.env.ZEROHOP_FAKE_EPOCH = `refused ${status}`;
      process.env.ZEROHOP_FAKE_FAIL = `nvjpegCreateEx#2=${status}`;
      expect(await decode(await makeDecoder())).toEqual([PROCESSORS]);
    }
  });

  it('is made without them when the environment says so', async () => {
    onTestFinished(() => {
      delete process.env.ZEROHOP_NVJPEG_HARDWARE;
    });
    process.env.ZEROHOP_NVJPEG_HARDWARE = '0';
    const made = await calls(async () => (await JpegDecoder.create(device)).close());
    expect(made.filter((name) => name === 'nvjpegCreateEx')).toHaveLength(1);
    expect(await decode(await makeDecoder())).toEqual([PROCESSORS]);
    process.env.ZEROHOP_NVJPEG_HARDWARE = '1';
    expect((await decode(await makeDecoder())).at(-1)).toBe(ENGINES);
  });

  it('keeps the order of streams, whichever decodes', async () => {
    const decoder = await makeDecoder();
    await using own = device.createStream();
    await using pinned = await device.allocPinned(3);
    delayWork(20);
    for (const file of [jpeg, odd, jpeg]) {
      own.fill(memory, 1);
      await decoder.decode(file, memory, { stream: own });
      expect(own.query()).toBe(false);
      await own.copyToHost(pinned, memory.slice(0, 3));
      await own.done();
      expect(Array.from(new Uint8Array(pinned.buffer))).toEqual([0, 1, 2].map((c) => pattern(file)(c, 0, 0)));
    }
  });

  // Last: the context stays lost for the rest of the process.
  it('tells of a device that is lost meanwhile', async () => {
    const decoder = await JpegDecoder.create(device);
    await decoder.decode(jpeg, memory);
    process.env.ZEROHOP_FAKE_WORK_FAIL = '700';
    const lost = { code: 'CUDA_ERROR_ILLEGAL_ADDRESS', sticky: true };
    await expect(decoder.decode(jpeg, memory)).rejects.toMatchObject(lost);
    process.env.ZEROHOP_FAKE_WORK_FAIL = '';
    await expect(decoder.decode(jpeg, memory)).rejects.toMatchObject({ sticky: true });
    for (const each of [decoder, stream, memory]) await expect(each.close()).rejects.toMatchObject({ sticky: true });
  });
});
