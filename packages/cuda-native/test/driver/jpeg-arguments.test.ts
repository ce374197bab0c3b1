import { describeTier } from '@zerohop/test-support';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Device, type DeviceMemory, type Stream } from '../../src/index.js';
import { JpegDecoder, JpegEncoder, JpegError } from '../../src/nvjpeg.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../fake-libnvjpeg/build.mjs';
import { resetFake } from '../support/fake-driver.js';
import { jpeg } from '../support/fake-jpeg.js';
import { Hostile, objectWith, type Recipe, value } from '../support/hostile.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();
process.env.ZEROHOP_LIBNVJPEG = buildFakeLibnvjpeg();

describeTier('driver', 'JPEG classes with any arguments', () => {
  let device: Device;
  let decoder: JpegDecoder;
  let encoder: JpegEncoder;
  let memory: DeviceMemory;
  let stream: Stream;

  beforeAll(async () => {
    resetFake();
    device = await Device.open(0);
    [decoder, encoder] = await Promise.all([JpegDecoder.create(device), JpegEncoder.create(device)]);
    memory = await device.alloc(1 << 16);
    stream = device.createStream();
  });

  afterAll(async () => {
    await Promise.all([decoder.close(), encoder.close(), memory.close(), stream.close()]);
  });

  const good: fc.Arbitrary<Recipe> = fc.constantFrom(
    { says: 'memory', make: () => memory },
    { says: 'a slice', make: () => memory.slice(8, 3000) },
    { says: 'a JPEG', make: () => jpeg },
    { says: 'a stream', make: () => stream },
    { says: 'fine options', make: () => ({ width: 16, height: 16, format: 'RGB8P', pitch: 64, stream }) },
  );
  const keys = ['width', 'height', 'format', 'pitch', 'quality', 'subsampling', 'stream'];
  const argument = fc.oneof(value, good, objectWith(keys));

  it.each<[string, (...args: unknown[]) => Promise<unknown>]>([
    ['decode', (...args) => decoder.decode(...(args as Parameters<JpegDecoder['decode']>))],
    ['decode of a JPEG', (...args) => decoder.decode(jpeg, memory, args[0] as never)],
    ['info', (...args) => decoder.info(args[0] as never)],
    ['encode', (...args) => encoder.encode(...(args as Parameters<JpegEncoder['encode']>))],
    ['encode of memory', (...args) => encoder.encode(memory, args[0] as never)],
    ['JpegDecoder.create', (...args) => closed(JpegDecoder.create(args[0] as never))],
    ['JpegEncoder.create', (...args) => closed(JpegEncoder.create(args[0] as never))],
  ])('%s gives a result or a documented error', async (_, call) => {
    await fc.assert(
      fc.asyncProperty(fc.array(argument, { maxLength: 4 }), async (recipes) => {
        const error: unknown = await call(...recipes.map(({ make }) => make())).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        if (error === undefined || error instanceof Hostile) return;
        if (error instanceof JpegError) return;
        // No accident of the language either: sharp's wording, or what a revoked proxy says by itself.
        expect(error instanceof TypeError || error instanceof RangeError, String(error)).toBe(true);
        expect((error as Error).message).toMatch(/^Expected |revoked/);
      }),
      { numRuns: 400 },
    );
    expect(device.contextLost).toBe(false);
    expect((await decoder.decode(jpeg, memory)).width).toBe(40);
    expect((await encoder.encode(memory, { width: 8, height: 8 })).length).toBeGreaterThan(100);
  });
});

async function closed(made: Promise<JpegDecoder | JpegEncoder>): Promise<void> {
  await (await made).close();
}
