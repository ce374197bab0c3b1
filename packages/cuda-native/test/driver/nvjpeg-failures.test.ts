import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier } from '@zerohop/test-support';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { Device, type DeviceMemory, type Stream } from '../../src/index.js';
import { JpegDecoder, JpegEncoder, JpegError, nvjpegAvailability } from '../../src/nvjpeg.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../fake-libnvjpeg/build.mjs';
import { resetFake } from '../support/fake-driver.js';
import { jpeg, pattern, WIDTH } from '../support/fake-jpeg.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();
process.env.ZEROHOP_LIBNVJPEG = buildFakeLibnvjpeg();

describeTier('driver', 'failures of nvJPEG', () => {
  const log = join(tmpdir(), `zerohop-nvjpeg-failures-${process.pid}`);
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

  const calls = (name: string) =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line.split(' ')[0] === name).length;

  async function read(from: DeviceMemory): Promise<Uint8Array> {
    const bytes = new Uint8Array(from.byteLength);
    await stream.copyToHost(bytes, from);
    return bytes;
  }

  it('says which library it is', () => {
    expect(nvjpegAvailability()).toEqual({
      available: true,
      version: '13.0.0',
      library: process.env.ZEROHOP_LIBNVJPEG,
    });
  });

  const decode = () => decoder.decode(jpeg, memory);
  const encode = () => encoder.encode(memory, { width: 8, height: 8 });

  it.each([
    ['nvjpegDecode', 3, 'ERR_JPEG_CORRUPT', decode],
    ['nvjpegDecode', 4, 'ERR_JPEG_UNSUPPORTED', decode],
    ['nvjpegDecode', 9, 'ERR_JPEG_UNSUPPORTED', decode],
    ['nvjpegDecode', 10, 'ERR_JPEG_TRUNCATED', decode],
    ['nvjpegDecode', 5, 'ERR_NVJPEG', decode],
    ['nvjpegDecode', 8, 'ERR_NVJPEG', decode],
    ['nvjpegDecode', 99, 'ERR_NVJPEG', decode],
    ['nvjpegEncoderParamsSetQuality', 2, 'ERR_NVJPEG', encode],
    ['nvjpegEncoderParamsSetSamplingFactors', 2, 'ERR_NVJPEG', encode],
    ['nvjpegEncodeImage', 6, 'ERR_NVJPEG', encode],
    ['nvjpegEncodeRetrieveBitstream', 8, 'ERR_NVJPEG', encode],
    ['nvjpegEncodeRetrieveBitstream#2', 8, 'ERR_NVJPEG', encode],
    ['nvjpegCreateEx', 7, 'ERR_NVJPEG', () => JpegDecoder.create(device)],
    ['nvjpegJpegStateCreate', 5, 'ERR_NVJPEG', () => JpegDecoder.create(device)],
    ['nvjpegCreateEx', 1, 'ERR_NVJPEG', () => JpegEncoder.create(device)],
    ['nvjpegEncoderStateCreate', 5, 'ERR_NVJPEG', () => JpegEncoder.create(device)],
    ['nvjpegEncoderParamsCreate', 5, 'ERR_NVJPEG', () => JpegEncoder.create(device)],
  ])('of %s with %i are %s, and nothing is left of them', async (call, status, code, operation) => {
    const name = call.split('#')[0] as string;
    process.env.ZEROHOP_FAKE_EPOCH = `${call} ${status}`;
    process.env.ZEROHOP_FAKE_FAIL = `${call}=${status}`;
    process.env.ZEROHOP_FAKE_LOG = log;
    const error: unknown = await operation().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(JpegError);
    expect(error).toMatchObject({ code, status, call: name });
    expect((error as JpegError).statusName).toMatch(/^NVJPEG_STATUS_/);
    expect((error as JpegError).message).toContain(`${name} failed: NVJPEG_STATUS_`);
    process.env.ZEROHOP_FAKE_FAIL = '';
    if (name.endsWith('Create') || name.endsWith('CreateEx')) {
      // What was made before goes when it is collected or dropped, here at once.
      const made = (what: string) => calls(`nvjpeg${what}`);
      await expect.poll(() => made('Destroy')).toBe(made('CreateEx') - (name === 'nvjpegCreateEx' ? 1 : 0));
    }
    await decode();
    expect((await read(memory))[0]).toBe(pattern(jpeg)(0, 0, 0));
    await encode();
  });

  it.each(['cuEventQuery', 'cuEventRecord'])('of %s do not let go of memory that is in use', async (call) => {
    for (const operation of [
      (each: DeviceMemory) => decoder.decode(jpeg, each),
      (each: DeviceMemory) => encoder.encode(each, { width: 8, height: 8 }),
      (each: DeviceMemory) => decoder.decode(jpeg, each, { stream }),
    ]) {
      const mine = await device.alloc(4096);
      process.env.ZEROHOP_FAKE_WORK_DELAY_US = '30000';
      // The decoder asks once before there is anything to ask for.
      process.env.ZEROHOP_FAKE_EPOCH = `${call} ${operation.toString()}`;
      process.env.ZEROHOP_FAKE_FAIL = `${call}#${call === 'cuEventQuery' ? 2 : 1}=1`;
      const outcome = operation(mine).then(
        () => undefined,
        (error: unknown) => error,
      );
      // The fake answers a free under queued work with a lost context.
      const closed = mine.close();
      const error = await outcome;
      if (error !== undefined) expect(error).toMatchObject({ code: 'CUDA_ERROR_INVALID_VALUE', call });
      await closed;
      resetFake();
      expect(device.contextLost).toBe(false);
      await decode();
    }
  });

  it('are followed by a fresh state', async () => {
    process.env.ZEROHOP_FAKE_FAIL = 'nvjpegDecode=3';
    await expect(decode()).rejects.toMatchObject({ code: 'ERR_JPEG_CORRUPT' });
    process.env.ZEROHOP_FAKE_FAIL = '';
    process.env.ZEROHOP_FAKE_LOG = log;
    await decode();
    await decode();
    expect([calls('nvjpegJpegStateDestroy'), calls('nvjpegJpegStateCreate'), calls('nvjpegDecode')]).toEqual([1, 1, 2]);
  });

  it('of a close are told, and all is given back', async () => {
    const [one, two] = await Promise.all([JpegDecoder.create(device), JpegEncoder.create(device)]);
    process.env.ZEROHOP_FAKE_LOG = log;
    process.env.ZEROHOP_FAKE_FAIL = 'nvjpegJpegStateDestroy=8,nvjpegEncoderParamsDestroy=8';
    await expect(one.close()).rejects.toMatchObject({ code: 'ERR_NVJPEG', call: 'nvjpegJpegStateDestroy' });
    await expect(two.close()).rejects.toMatchObject({ code: 'ERR_NVJPEG', call: 'nvjpegEncoderParamsDestroy' });
    expect(calls('nvjpegDestroy')).toBe(2);
    expect(calls('nvjpegEncoderStateDestroy')).toBe(1);
    expect([one.closed, two.closed]).toEqual([true, true]);
  });

  it('do not hold up the event loop, nor does anything else', async () => {
    process.env.ZEROHOP_FAKE_CALL_DELAY_US = '20000';
    let turns = 0;
    const turning = setInterval(() => {
      turns += 1;
    }, 1);
    const expectTurns = async <T>(operation: () => Promise<T>): Promise<T> => {
      turns = 0;
      const result = await operation();
      expect(turns).toBeGreaterThan(5);
      return result;
    };
    try {
      const one = await expectTurns(() => JpegDecoder.create(device));
      const two = await expectTurns(() => JpegEncoder.create(device));
      await expectTurns(() => one.decode(jpeg, memory));
      await expectTurns(() => two.encode(memory, { width: 8, height: 8 }));
      await expectTurns(() => one.close());
      await expectTurns(() => two.close());
    } finally {
      clearInterval(turning);
    }
  });

  // Last: the context stays lost for the rest of the process.
  it('of the device are its own', async () => {
    process.env.ZEROHOP_FAKE_WORK_FAIL = '700';
    await expect(decode()).rejects.toMatchObject({ code: 'CUDA_ERROR_ILLEGAL_ADDRESS', sticky: true });
    process.env.ZEROHOP_FAKE_WORK_FAIL = '';
    await expect(decode()).rejects.toMatchObject({ sticky: true });
    await expect(encode()).rejects.toMatchObject({ sticky: true });
    // The header needs no device.
    expect(await decoder.info(jpeg)).toMatchObject({ width: WIDTH });
    for (const each of [decoder, encoder, stream, memory]) {
      await expect(each.close()).rejects.toMatchObject({ sticky: true });
    }
  });
});
