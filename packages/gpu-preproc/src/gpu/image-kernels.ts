import type { Device, DeviceMemory, Module, Stream } from '@zerohop/cuda-native';
import { checkOneOf, outOfRange } from '../arguments.js';
import { PreprocError } from '../errors.js';
import { FORMATS, type PixelFormat, traitsOf } from '../reference/formats.js';
import { BATCH, type BatchKernel, ImagePlan, SINGLE, type SingleKernel } from './image-plan.js';
import { entryPoint, type Way } from './layout.js';
import { type LoadedFrom, loadKernels } from './module-image.js';
import { isPlain, tableBytes } from './normalisation.js';
import { ORIENT, Orienter } from './orienter.js';
import { checkRecipe, type KernelRecipe } from './recipe.js';

/**
 * The kernels, loaded on one device. Owns the loaded code; what it enqueues borrows images and tensors until that work
 * is over.
 */
export class ImageKernels {
  readonly device: Device;
  readonly loadedFrom: LoadedFrom;
  readonly #module: Module;

  private constructor(device: Device, module: Module, loadedFrom: LoadedFrom) {
    this.device = device;
    this.#module = module;
    this.loadedFrom = loadedFrom;
  }

  /**
   * Loads the code, off the JS thread.
   *
   * @throws PreprocError `ERR_KERNELS_MISSING` when the package lacks it
   * @throws CudaError when the driver refuses it
   */
  static async open(device: Device): Promise<ImageKernels> {
    const { module, loadedFrom } = await loadKernels(device);
    return new ImageKernels(device, module, loadedFrom);
  }

  get closed(): boolean {
    return this.#module.closed;
  }

  /**
   * Makes ready what a recipe needs for the formats: kernels and the table of the normalisation.
   *
   * @throws TypeError | RangeError for wrong arguments, as one channel of a colour format
   * @throws PreprocError `ERR_DISPOSED`
   * @throws CudaError
   */
  async plan(recipe: KernelRecipe, formats: readonly PixelFormat[]): Promise<ImagePlan> {
    this.#checkOpen();
    const full = checkRecipe(recipe);
    const single = new Map<string, SingleKernel>();
    const several = new Map<string, BatchKernel>();
    const forSeveral = full.interpolation === 'area' ? (['batch', 'area'] as const) : (['batch'] as const);
    for (const format of formats) {
      checkOneOf('format', format, Object.keys(FORMATS) as PixelFormat[]);
      const traits = traitsOf(format);
      const name = (way: Way) => entryPoint(way, traits, full.datatype);
      if (full.channels === 1 && !format.startsWith('GRAY')) throw outOfRange('3', `channels of ${format}`, 1);
      if (single.has(name('direct'))) continue;
      for (const way of ['direct', 'resized'] as const) {
        single.set(name(way), await this.#module.kernel(name(way), SINGLE));
      }
      for (const way of forSeveral) several.set(name(way), await this.#module.kernel(name(way), BATCH));
    }
    const shallow = formats.some((format) => FORMATS[format].max === 255);
    const table = shallow && !isPlain(full, 255) ? await this.#upload(tableBytes(full)) : null;
    return new ImagePlan(full, { single, several }, table);
  }

  /**
   * Makes ready what turns pictures upright.
   *
   * @throws PreprocError `ERR_DISPOSED`
   * @throws CudaError
   */
  async orienter(): Promise<Orienter> {
    this.#checkOpen();
    return new Orienter(await this.#module.kernel('orient_rgb8', ORIENT));
  }

  /** A launch without work: what measurements state beside their figures. @throws PreprocError `ERR_DISPOSED` */
  async emptyLaunch(stream: Stream): Promise<() => void> {
    this.#checkOpen();
    const empty = await this.#module.kernel('empty', []);
    return () => stream.launch(empty, { grid: 1, block: 32 });
  }

  /** Waits for what was enqueued, then unloads the code. Closing twice is fine. */
  close(): Promise<void> {
    return this.#module.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw new PreprocError('ERR_DISPOSED', 'The kernels are closed');
  }

  async #upload(bytes: Uint8Array): Promise<DeviceMemory> {
    const memory = await this.device.alloc(bytes.byteLength);
    try {
      const stream = this.device.createStream();
      try {
        await stream.copyToDevice(memory, bytes);
        await stream.done();
      } finally {
        await stream.close();
      }
      return memory;
    } catch (error) {
      await memory.close();
      throw error;
    }
  }
}
