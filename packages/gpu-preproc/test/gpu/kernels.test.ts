import { Device, type DeviceMemory, type Stream } from '@zerohop/cuda-native';
import { describeTier, seeded } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ImageKernels } from '../../src/gpu.js';
import { imageToTensor, orient } from '../../src/reference.js';
import { byReference, FORMAT_NAMES, type KernelCase, noiseImage, randomCase } from '../kernel-cases.js';
import { define } from '../kernel-definition.js';
import { orientCases } from '../orient-cases.js';

const CANARY = 0xc3;
const GUARD = 256;

describeTier('gpu', 'kernels', () => {
  let device: Device;
  let kernels: ImageKernels;
  let stream: Stream;
  beforeAll(async () => {
    device = await Device.open(0);
    kernels = await ImageKernels.open(device);
    stream = device.createStream();
  });
  afterAll(async () => {
    await stream?.close();
    await kernels?.close();
  });

  /** The tensor of a case, and whether a byte around it changed. `shift`: bytes from an aligned address. */
  async function run({ image, recipe }: KernelCase, byteLength: number, shift: number) {
    const { data, ...shape } = image;
    await using plan = await kernels.plan(recipe, [image.format]);
    await using source = await device.alloc(data.byteLength);
    await using around = await device.alloc(byteLength + 2 * GUARD + shift);
    await stream.copyToDevice(source, data);
    stream.fill(around, CANARY);
    plan.enqueue(stream, { ...shape, memory: source }, around.slice(GUARD + shift, byteLength));
    const bytes = new Uint8Array(around.byteLength);
    await stream.copyToHost(bytes, around);
    const tensor = bytes.subarray(GUARD + shift, GUARD + shift + byteLength);
    const rest = [bytes.subarray(0, GUARD + shift), bytes.subarray(GUARD + shift + byteLength)];
    return { tensor, intact: rest.every((part) => part.every((byte) => byte === CANARY)) };
  }

  test.each(FORMAT_NAMES)('%s: 60 random shapes and recipes, byte for byte, nothing around touched', async (format) => {
    const { next: random } = seeded(20261201 + FORMAT_NAMES.indexOf(format));
    for (let i = 0; i < 60; i++) {
      const one = randomCase(random, format);
      const expected = define(one.image, one.recipe);
      const element = { FP32: 4, FP16: 2, UINT8: 1, INT8: 1 }[one.recipe.datatype];
      const { tensor, intact } = await run(one, expected.byteLength, element * Math.floor(random() * 8));
      expect({
        name: one.name,
        equal: Buffer.compare(tensor, expected) === 0,
        reference: Buffer.compare(tensor, byReference(one)),
        intact,
      }).toEqual({
        name: one.name,
        equal: true,
        reference: 0,
        intact: true,
      });
    }
  });

  test.each([
    ['RGB8', 'linear'],
    ['NV12', 'linear'],
    ['GRAY16', 'linear'],
    ['RGB8', 'area'],
    ['BAYER_RG12', 'area'],
  ] as const)('%s: eleven images of different sizes into one tensor, %s', async (format, interpolation) => {
    const { next } = seeded(7);
    const recipe = { width: 96, height: 64, datatype: 'FP16', mean: [0.1, 0.2, 0.3], interpolation } as const;
    const images = Array.from({ length: 11 }, (_, i) =>
      noiseImage(i, { format, width: 4 + 2 * Math.floor(next() * 80), height: 4 + 2 * Math.floor(next() * 80) }),
    );
    await using plan = await kernels.plan(recipe, [format]);
    const expected = images.map((image) => define(image, plan.recipe));
    await using output = await device.alloc(11 * 3 * 96 * 64 * 2);
    const sources: DeviceMemory[] = [];
    for (const { data } of images) {
      const memory = await device.alloc(data.byteLength);
      await stream.copyToDevice(memory, data);
      sources.push(memory);
    }
    plan.enqueueBatch(
      stream,
      images.map(({ data: _, ...shape }, i) => ({ ...shape, memory: sources[i] as DeviceMemory })),
      output,
    );
    // Closed at once: the launches hold them.
    const closed = Promise.all(sources.map((memory) => memory.close()));
    const bytes = new Uint8Array(output.byteLength);
    await stream.copyToHost(bytes, output);
    await closed;
    expect(Buffer.from(bytes.buffer).equals(Buffer.concat(expected))).toBe(true);
  });

  test('turns pictures of every orientation upright, byte for byte, and nothing behind is touched', async () => {
    const orienter = await kernels.orienter();
    for (const { data, byteOffset, orientation, ...shape } of orientCases()) {
      const expected = orient({ ...shape, data: data.subarray(byteOffset) }, orientation);
      const { byteLength } = expected.data;
      await using source = await device.alloc(data.byteLength);
      await using upright = await device.alloc(byteLength + GUARD);
      await stream.copyToDevice(source, data);
      stream.fill(upright, CANARY);
      const size = orienter.enqueue(stream, { ...shape, byteOffset, memory: source }, orientation, upright);
      expect(size).toEqual({ width: expected.width, height: expected.height });
      const bytes = new Uint8Array(upright.byteLength);
      await stream.copyToHost(bytes, upright);
      const rest = bytes.subarray(byteLength);
      expect({
        orientation,
        ...shape,
        equal: Buffer.compare(bytes.subarray(0, byteLength), expected.data),
        intact: rest.every((byte) => byte === CANARY),
      }).toEqual({ orientation, ...shape, equal: 0, intact: true });
    }
  });

  test('an orienter refuses a destination that is too small, and one in the picture', async () => {
    const orienter = await kernels.orienter();
    await using memory = await device.alloc(3 * 64 * 64);
    await using small = await device.alloc(3 * 64 * 64 - 1);
    const image = { memory: memory.slice(0, 3 * 32 * 64), width: 32, height: 64 };
    expect(() => orienter.enqueue(stream, { memory, width: 64, height: 64 }, 6, small)).toThrow(/at least 12288 bytes/);
    expect(() => orienter.enqueue(stream, image, 6, memory.slice(3 * 16 * 64, 3 * 32 * 64))).toThrow(/apart/);
  });

  test.each([
    { width: 640, height: 640, resize: 'letterbox', datatype: 'FP32' },
    { width: 640, height: 640, resize: 'stretch', datatype: 'FP16' },
    { width: 3840, height: 2160, resize: 'none', datatype: 'FP32' },
    { width: 3840, height: 2160, resize: 'none', datatype: 'FP16' },
  ] as const)('3840x2160 to $width x $height, $resize, $datatype: as the CPU path', async (recipe) => {
    const image = noiseImage(3, { width: 3840, height: 2160, format: 'RGB8' });
    const { format, data, width, height, pitch } = image;
    const count = 3 * recipe.width * recipe.height;
    const expected = recipe.datatype === 'FP32' ? new Int32Array(count) : new Uint16Array(count);
    const defaults = { interpolation: 'linear', colorOrder: 'RGB', pad: [114, 114, 114] } as const;
    imageToTensor({ format: 'RGB8', data, width, height, pitch }, { ...recipe, ...defaults }, expected);
    await using plan = await kernels.plan(recipe, [format]);
    const { tensor, intact } = await run({ name: '', image, recipe: plan.recipe }, expected.byteLength, 0);
    expect([Buffer.compare(tensor, new Uint8Array(expected.buffer)), intact]).toEqual([0, true]);
  });

  test('closed kernels and plans refuse work with ERR_DISPOSED', async () => {
    const closed = await ImageKernels.open(device);
    const plan = await closed.plan({ width: 8, height: 8, mean: [1, 1, 1] }, ['RGB8']);
    await using memory = await device.alloc(3 * 8 * 8);
    await using output = await device.alloc(3 * 8 * 8 * 4);
    const image = { memory, width: 8, height: 8, format: 'RGB8' } as const;
    expect([closed.closed, plan.closed]).toEqual([false, false]);
    await plan.close();
    await closed.close();
    await closed.close();
    expect([closed.closed, plan.closed]).toEqual([true, true]);
    const disposed = expect.objectContaining({ code: 'ERR_DISPOSED' });
    expect(() => plan.enqueue(stream, image, output)).toThrow(disposed);
    expect(() => plan.enqueueBatch(stream, [image], output)).toThrow(disposed);
    await expect(closed.plan({ width: 8, height: 8 }, ['RGB8'])).rejects.toThrow(disposed);
    await expect(closed.orienter()).rejects.toThrow(disposed);
    await expect(closed.emptyLaunch(stream)).rejects.toThrow(disposed);
  });

  test('a thousand replays of a captured launch give the same bytes', async () => {
    const { data, ...shape } = noiseImage(1, { width: 1283, height: 721, format: 'RGB8' });
    await using plan = await kernels.plan({ width: 640, height: 640, datatype: 'FP16' }, ['RGB8']);
    await using source = await device.alloc(data.byteLength);
    const byteLength = 3 * 640 * 640 * 2;
    await using output: DeviceMemory = await device.alloc(byteLength);
    await stream.copyToDevice(source, data);
    await using graph = await stream.capture(() => {
      stream.fill(output, CANARY);
      plan.enqueue(stream, { ...shape, memory: source }, output);
    });
    const read = async () => {
      stream.launchGraph(graph);
      const bytes = new Uint8Array(byteLength);
      await stream.copyToHost(bytes, output);
      return Buffer.from(bytes.buffer);
    };
    const first = await read();
    let different = 0;
    for (let i = 1; i < 1000; i++) if (!first.equals(await read())) different++;
    expect(different).toBe(0);
  });
});
