/**
 * Every kernel of @zerohop/gpu-preproc once, on small pictures in memory of exactly their size: to be run under NVIDIA's
 * compute-sanitizer.
 *
 *     compute-sanitizer --tool memcheck|racecheck|initcheck node dist/kernel-tour.js
 */
import { randomFillSync } from 'node:crypto';
import { Device, type DeviceMemory, type Stream } from '@zerohop/cuda-native';
import {
  checkPixelLayout,
  ELEMENT_BYTES,
  type ElementType,
  extent,
  ImageKernels,
  type KernelRecipe,
  type PixelFormat,
} from '@zerohop/gpu-preproc/gpu';
import { BYTES_PER_PIXEL, geometriesOf } from '@zerohop/gpu-preproc/reference';

const WIDTH = 46;
const HEIGHT = 38;
/** What each way of writing a tensor is asked for with: one pixel by itself, groups of pixels, tiles, means. */
const RECIPES: readonly KernelRecipe[] = [
  { width: 33, height: 29 },
  { width: WIDTH, height: HEIGHT, resize: 'none' },
  { width: 20, height: 20, resize: 'tiles', overlap: 4 },
  { width: 60, height: 60, resize: 'tiles' },
  { width: 17, height: 13, interpolation: 'area' },
  { width: 17, height: 13, interpolation: 'nearest', mean: [0.1, 0.2, 0.3], layout: 'NHWC' },
];
const DATATYPES = Object.keys(ELEMENT_BYTES) as ElementType[];

async function uploaded(device: Device, stream: Stream, byteLength: number): Promise<DeviceMemory> {
  const memory = await device.alloc(Math.ceil(byteLength / 4) * 4);
  await stream.copyToDevice(memory, randomFillSync(new Uint8Array(memory.byteLength)));
  return memory;
}

/** Reads all of it, so that a byte that nobody wrote is found. */
async function read(stream: Stream, memory: DeviceMemory): Promise<void> {
  await stream.copyToHost(new Uint8Array(memory.byteLength), memory);
}

async function tour(device: Device, kernels: ImageKernels, stream: Stream): Promise<number> {
  let launches = 0;
  for (const format of Object.keys(BYTES_PER_PIXEL) as PixelFormat[]) {
    const layout = checkPixelLayout({ width: WIDTH, height: HEIGHT, format });
    const memory = await uploaded(device, stream, extent(layout));
    const image = { ...layout, memory };
    for (const datatype of DATATYPES) {
      for (const recipe of RECIPES) {
        const plan = await kernels.plan({ ...recipe, datatype }, [format]);
        const each = 3 * recipe.width * recipe.height * ELEMENT_BYTES[datatype];
        const output = await device.alloc(geometriesOf(layout, plan.recipe).length * each);
        plan.enqueue(stream, image, output);
        await read(stream, output);
        if (recipe.resize === undefined) {
          const both = await device.alloc(2 * each);
          plan.enqueueBatch(stream, [image, image], both);
          await read(stream, both);
          await both.close();
          launches++;
        }
        await output.close();
        await plan.close();
        launches++;
      }
    }
    await memory.close();
  }
  const stored = await uploaded(device, stream, 3 * WIDTH * HEIGHT);
  const orienter = await kernels.orienter();
  for (const orientation of [1, 2, 3, 4, 5, 6, 7, 8] as const) {
    const upright = await device.alloc(3 * WIDTH * HEIGHT);
    orienter.enqueue(stream, { memory: stored, width: WIDTH, height: HEIGHT }, orientation, upright);
    await read(stream, upright);
    await upright.close();
    launches++;
  }
  await stored.close();
  return launches;
}

const device = await Device.open(0);
const kernels = await ImageKernels.open(device);
const stream = device.createStream();
const launches = await tour(device, kernels, stream);
await stream.close();
await kernels.close();
process.stdout.write(`${launches} launches, kernels from ${kernels.loadedFrom}\n`);
