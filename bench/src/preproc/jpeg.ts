/** From the bytes of a 4K JPEG to a tensor in device memory, by `Preprocessor`; and what of that nvJPEG needs alone. */
import { Device, type DeviceMemory, type Stream } from '@zerohop/cuda-native';
import { JpegDecoder, JpegEncoder } from '@zerohop/cuda-native/nvjpeg';
import type { TensorBlock } from '@zerohop/cuda-native/tensor';
import { Preprocessor } from '@zerohop/gpu-preproc';
import { percentile, spread } from '../statistics.js';
import type { Timing } from './timing.js';

const WIDTH = 3840;
const HEIGHT = 2160;
const REPEATS = 100;
const WARM_UP = 10;

export interface JpegTimes {
  readonly width: number;
  readonly height: number;
  readonly jpegBytes: number;
  /** `JpegDecoder.decode` to device memory. */
  readonly decode: Timing;
  /** `Preprocessor.run` of the bytes, by the wall clock: until the tensor is written. */
  readonly toLetterbox640: Timing;
  readonly to4k: Timing;
}

/** Slopes with noise that a camera has: about 3.5 MB as a JPEG. */
function scene(): Uint8Array {
  const pixels = new Uint8Array(3 * WIDTH * HEIGHT);
  let state = 1;
  for (let i = 0; i < pixels.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const at = Math.floor(i / 3);
    const slope = ((at % WIDTH) / 31 + Math.floor(at / WIDTH) / 17 + 40 * (i % 3)) % 200;
    pixels[i] = slope + (state >>> 27);
  }
  return pixels;
}

/** A JPEG of the scene, made on the device. */
export async function sceneJpeg(): Promise<Uint8Array> {
  const device = await Device.open(0);
  const encoder = await JpegEncoder.create(device);
  const stream = device.createStream();
  const memory = await device.alloc(3 * WIDTH * HEIGHT);
  try {
    await stream.copyToDevice(memory, scene());
    await stream.done();
    return await encoder.encode(memory, { width: WIDTH, height: HEIGHT, quality: 90, subsampling: '4:2:0' });
  } finally {
    await stream.close();
    await memory.close();
    await encoder.close();
  }
}

async function timed(work: () => Promise<unknown>): Promise<Timing> {
  const us: number[] = [];
  for (let i = -WARM_UP; i < REPEATS; i++) {
    const start = performance.now();
    await work();
    if (i >= 0) us.push(1000 * (performance.now() - start));
  }
  return {
    medianUs: spread(us).median,
    p95Us: percentile(Float64Array.from(us).sort(), 0.95),
    minUs: Math.min(...us),
  };
}

function block(width: number, height: number, memory: DeviceMemory, stream: Stream): TensorBlock<'FP32'> {
  const unused = (): Promise<never> => Promise.reject(new Error('The benchmark neither reads nor writes by the block'));
  return {
    name: 'images',
    datatype: 'FP32',
    shape: [1, 3, height, width],
    byteLength: memory.byteLength,
    kind: 'cuda',
    device: memory.device,
    memory,
    deviceMemory: memory,
    stream,
    hold: () => undefined,
    write: unused,
    read: unused,
  };
}

async function toTensor(device: Device, stream: Stream, jpeg: Uint8Array, width: number, height: number) {
  const memory = await device.alloc(12 * width * height);
  const pre = await Preprocessor.create({ target: { width, height }, device });
  try {
    const to = block(width, height, memory, stream);
    return await timed(() => pre.run(jpeg, to));
  } finally {
    await pre.close();
    await memory.close();
  }
}

export async function measureJpeg(jpeg: Uint8Array): Promise<JpegTimes> {
  const device = await Device.open(0);
  const stream = device.createStream();
  const decoder = await JpegDecoder.create(device);
  const pixels = await device.alloc(3 * WIDTH * HEIGHT);
  try {
    return {
      width: WIDTH,
      height: HEIGHT,
      jpegBytes: jpeg.byteLength,
      decode: await timed(() => decoder.decode(jpeg, pixels)),
      toLetterbox640: await toTensor(device, stream, jpeg, 640, 640),
      to4k: await toTensor(device, stream, jpeg, WIDTH, HEIGHT),
    };
  } finally {
    await stream.close();
    await pixels.close();
    await decoder.close();
  }
}
