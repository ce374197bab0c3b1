import { Device, type DeviceMemory, type Stream } from '@zerohop/cuda-native';
import { seeded } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ImageKernels } from '../../src/gpu.js';
import { imageToTensor } from '../../src/reference.js';
import { byReference, FORMAT_NAMES, type KernelCase, noiseImage, randomCase } from '../kernel-cases.js';
import { define } from '../kernel-definition.js';
import { usedBytes } from '../used-bytes.js';

const CANARY = 0xc3;
const GUARD = 256;

/** How much of each is tried. */
export interface KernelSuite {
  /** Random shapes and recipes of each format. */
  readonly cases: number;
  /** The longest side of those. */
  readonly largest: number;
  /** Replays of a captured launch. */
  readonly replays: number;
}

/** The kernels on device 0, against the definition. */
export function kernelSuite({ cases, largest, replays }: KernelSuite): void {
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

  async function upload(bytes: Uint8Array): Promise<DeviceMemory> {
    const memory = await device.alloc(bytes.byteLength);
    await stream.copyToDevice(memory, bytes);
    return memory;
  }

  async function download(memory: DeviceMemory): Promise<Buffer> {
    const bytes = new Uint8Array(memory.byteLength);
    await stream.copyToHost(bytes, memory);
    return Buffer.from(bytes.buffer);
  }

  /** The tensor of a case, and whether a byte around it changed. `shift`: bytes from an aligned address. */
  async function run({ image, recipe }: KernelCase, byteLength: number, shift: number) {
    const { data: _, ...shape } = image;
    await using plan = await kernels.plan(recipe, [image.format]);
    await using source = await upload(usedBytes(image));
    await using around = await device.alloc(byteLength + 2 * GUARD + shift);
    stream.fill(around, CANARY);
    plan.enqueue(stream, { ...shape, memory: source }, around.slice(GUARD + shift, byteLength));
    const bytes = await download(around);
    const tensor = bytes.subarray(GUARD + shift, GUARD + shift + byteLength);
    const rest = [bytes.subarray(0, GUARD + shift), bytes.subarray(GUARD + shift + byteLength)];
    return { tensor, intact: rest.every((part) => part.every((byte) => byte === CANARY)) };
  }

  test.each(FORMAT_NAMES)('%s: random shapes and recipes, byte for byte, nothing around touched', async (format) => {
    const { next: random } = seeded(20261201 + FORMAT_NAMES.indexOf(format));
    for (let i = 0; i < cases; i++) {
      const one = randomCase(random, format, largest);
      const expected = define(one.image, one.recipe);
      const element = { FP32: 4, FP16: 2, UINT8: 1, INT8: 1 }[one.recipe.datatype];
      const { tensor, intact } = await run(one, expected.byteLength, element * Math.floor(random() * 8));
      const found = {
        name: one.name,
        equal: Buffer.compare(tensor, expected) === 0,
        reference: Buffer.compare(tensor, byReference(one)) === 0,
        intact,
      };
      expect(found).toEqual({ name: one.name, equal: true, reference: true, intact: true });
    }
  });

  test.each(FORMAT_NAMES.flatMap((format) => [[format, 'linear'] as const, [format, 'area'] as const]))(
    '%s: eleven images of different sizes into one tensor, %s',
    async (format, interpolation) => {
      const { next } = seeded(7);
      const recipe = { width: 96, height: 64, datatype: 'FP16', mean: [0.1, 0.2, 0.3], interpolation } as const;
      const images = Array.from({ length: 11 }, (_, i) =>
        noiseImage(i, { format, width: 4 + 2 * Math.floor(next() * 80), height: 4 + 2 * Math.floor(next() * 80) }),
      );
      await using plan = await kernels.plan(recipe, [format]);
      const expected = images.map((image) => define(image, plan.recipe));
      await using output = await device.alloc(11 * 3 * 96 * 64 * 2);
      const sources = await Promise.all(images.map((image) => upload(usedBytes(image))));
      plan.enqueueBatch(
        stream,
        images.map(({ data: _, ...shape }, i) => ({ ...shape, memory: sources[i] as DeviceMemory })),
        output,
      );
      // Closed at once: the launches hold them.
      const closed = Promise.all(sources.map((memory) => memory.close()));
      const tensor = await download(output);
      await closed;
      expect(tensor.equals(Buffer.concat(expected))).toBe(true);
    },
  );

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

  test('memory that is closed after a launch lives until the launch is over', async () => {
    const image = noiseImage(2, { width: 300, height: 200, format: 'BGR8' });
    const { data: _, ...shape } = image;
    const plan = await kernels.plan({ width: 128, height: 96, mean: [0.5, 0.4, 0.3] }, ['BGR8']);
    const source = await upload(usedBytes(image));
    const output = await device.alloc(3 * 128 * 96 * 4);
    plan.enqueue(stream, { ...shape, memory: source }, output);
    await Promise.all([output.close(), source.close(), plan.close()]);
    await stream.done();
    expect(() => plan.enqueue(stream, { ...shape, memory: source }, output)).toThrow(
      expect.objectContaining({ code: 'ERR_DISPOSED' }),
    );
  });

  test('replays of a captured launch give the same bytes, of the image as it is then', async () => {
    const size = { width: 1283, height: 721, format: 'RGB8' } as const;
    await using plan = await kernels.plan({ width: 640, height: 640, datatype: 'FP16' }, ['RGB8']);
    await using source = await device.alloc(3 * 1283 * 721);
    await using output = await device.alloc(3 * 640 * 640 * 2);
    await using graph = await stream.capture(() => {
      stream.fill(output, CANARY);
      plan.enqueue(stream, { ...size, memory: source }, output);
    });
    let different = 0;
    for (const seed of [1, 2]) {
      const image = noiseImage(seed, size);
      await stream.copyToDevice(source, usedBytes(image));
      const expected = define(image, plan.recipe);
      for (let i = 0; i < replays / 2; i++) {
        stream.launchGraph(graph);
        if (!(await download(output)).equals(expected)) different++;
      }
    }
    expect(different).toBe(0);
  });
}
