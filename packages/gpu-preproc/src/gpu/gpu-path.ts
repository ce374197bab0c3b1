import type { Device, DeviceMemory, Stream } from '@zerohop/cuda-native';
import { checkCrop } from '../arguments.js';
import { decodeToDevice } from '../decode/to-device.js';
import { Image } from '../image.js';
import type { PreprocessorSettings } from '../options.js';
import { layPicture, type Source, type Work } from '../picture.js';
import { extent } from '../pixel-layout.js';
import type { PixelFormat } from '../reference/formats.js';
import type { Crop, Geometry } from '../reference/geometry.js';
import { closeAll } from './close-all.js';
import type { DeviceImage } from './device-image.js';
import { DeviceResources } from './device-resources.js';
import type { ImagePlan } from './image-plan.js';
import type { LoadedFrom } from './module-image.js';

/** Work, and where to. */
export interface Filling extends Work {
  /** The block's memory as kernels reach it, or host memory that they don't: it is copied there. */
  readonly output: DeviceMemory | Uint8Array;
}

/** A picture in device memory, ready in the order of the run's stream, and how it will be laid in. */
interface Placed {
  readonly image: DeviceImage;
  readonly geometries: readonly Geometry[];
}

/**
 * Fills blocks by kernels on one device: pictures in host memory are copied there through cuda-native's pinned staging
 * buffers, JPEGs are decoded there, and one launch (or one for each eight pictures) writes the tensor where the block
 * lies. Holds the device's resources and owns the tables of its recipe.
 */
export class GpuPath {
  readonly loadedFrom: LoadedFrom;
  readonly #resources: DeviceResources;
  readonly #settings: PreprocessorSettings;
  readonly #plans = new Map<PixelFormat, Promise<ImagePlan>>();

  private constructor(resources: DeviceResources, loadedFrom: LoadedFrom, settings: PreprocessorSettings) {
    this.#resources = resources;
    this.loadedFrom = loadedFrom;
    this.#settings = settings;
  }

  /**
   * Loads the kernels, off the JS thread.
   * @throws PreprocError ERR_KERNELS_MISSING; CudaError when the driver refuses them
   */
  static async open(device: Device, settings: PreprocessorSettings): Promise<GpuPath> {
    const resources = DeviceResources.hold(device);
    try {
      const { loadedFrom } = await resources.kernels();
      return new GpuPath(resources, loadedFrom, settings);
    } catch (error) {
      await resources.release();
      throw error;
    }
  }

  /**
   * Resolves when the tensor is written.
   * @throws PreprocError, CudaError; what the sources and the stream are refused with. Nothing runs any more then.
   */
  async fill(filling: Filling): Promise<Geometry[]> {
    const { buffers } = this.#resources;
    const stream = filling.stream ?? this.#resources.takeStream();
    const taken: DeviceMemory[] = [];
    let ended = false;
    try {
      const take = async (byteLength: number) => {
        const memory = await buffers.take(byteLength);
        taken.push(memory);
        return memory;
      };
      const placed = await allOrNone(filling.sources.map((source) => this.#place(source, filling.crop, stream, take)));
      const images = placed.map(({ image }) => image);
      const { output } = filling;
      if (output instanceof Uint8Array) {
        const made = (await take(output.byteLength)).slice(0, output.byteLength);
        await this.#enqueue(stream, images, made);
        await stream.copyToHost(output, made);
      } else {
        await this.#enqueue(stream, images, output);
      }
      await stream.done();
      ended = true;
      return placed.flatMap(({ geometries }) => geometries);
    } finally {
      // What was enqueued before it failed may still read and write the buffers.
      const free = ended || (await isOver(stream));
      for (const memory of taken) {
        if (free) buffers.give(memory);
        else memory[Symbol.dispose]();
      }
      if (filling.stream === undefined) this.#resources.giveStream(stream);
    }
  }

  async #place(
    source: Source,
    crop: Crop | undefined,
    stream: Stream,
    take: (byteLength: number) => Promise<DeviceMemory>,
  ): Promise<Placed> {
    const { recipe, target, decode } = this.#settings;
    if (source instanceof Image) {
      const part = crop === undefined ? source.crop : checkCrop(crop, source);
      const { width, height, format, pitch, planePitch, matrix, range, memory } = source;
      const shape = { width, height, format, pitch, planePitch, matrix, range, crop: part };
      const geometries = layPicture(shape, recipe, target);
      if (!(memory instanceof Uint8Array)) return { image: { ...shape, memory }, geometries };
      const byteLength = extent(source);
      const copied = await take(byteLength);
      await stream.copyToDevice(copied.slice(0, byteLength), memory.subarray(0, byteLength));
      return { image: { ...shape, memory: copied }, geometries };
    }
    const { decoder: _, ...picture } = await decodeToDevice(source, decode, this.#resources, stream, take);
    const { width, height } = picture;
    const part = crop === undefined ? { x: 0, y: 0, width, height } : checkCrop(crop, picture);
    const image = { ...picture, format: 'RGB8', crop: part } as const;
    return { image, geometries: layPicture(image, recipe, target) };
  }

  async #enqueue(stream: Stream, images: readonly DeviceImage[], output: DeviceMemory): Promise<void> {
    const plans = await Promise.all(images.map(({ format }) => this.#planFor(format)));
    const [plan] = plans as [ImagePlan, ...ImagePlan[]];
    if (images.length > 1 && plans.every((each) => each === plan)) {
      plan.enqueueBatch(stream, images, output);
      return;
    }
    const each = output.byteLength / images.length;
    for (const [i, image] of images.entries()) {
      (plans[i] as ImagePlan).enqueue(stream, image, output.slice(i * each, each));
    }
  }

  #planFor(format: PixelFormat): Promise<ImagePlan> {
    const known = this.#plans.get(format);
    if (known !== undefined) return known;
    const made = this.#resources.kernels().then((kernels) => kernels.plan(this.#settings.recipe, [format]));
    this.#plans.set(format, made);
    made.catch(() => this.#plans.delete(format));
    return made;
  }

  /** Nothing is in flight any more. @throws CudaError, JpegError; then too all is closed */
  async close(): Promise<void> {
    // One that failed is not kept.
    const plans = await Promise.all(this.#plans.values());
    await closeAll([...plans, { close: () => this.#resources.release() }]);
  }
}

/** Waits for what a stream was given, also one that its owner has closed meanwhile; false where that can't be known. */
function isOver(stream: Stream): Promise<boolean> {
  return (stream.closed ? stream.close() : stream.done()).then(
    () => true,
    () => false,
  );
}

/** As `Promise.all`, but not before each of them has ended. */
async function allOrNone<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}
