import type { Device, DeviceMemory, Kernel, Module, Stream } from '@zerohop/cuda-native';
import { outOfRange } from '../arguments.js';
import type { Placement } from '../reference/geometry.js';
import { checkImage, type DeviceFormat, type DeviceImage, FORMATS, traitsOf } from './device-image.js';
import { JOB_BYTES, writeJob } from './job.js';
import { layOut, tileOrigins } from './layout.js';
import { type LoadedFrom, loadKernels } from './module-image.js';
import { isPlain, tableBytes } from './normalisation.js';
import { checkRecipe, ELEMENT_BYTES, type FullRecipe, type KernelRecipe } from './recipe.js';

const SINGLE = [{ bytes: JOB_BYTES }, 'pointer', 'pointer', 'pointer'] as const;
type Single = Kernel<typeof SINGLE>;

const ELEMENT_NAMES = { FP32: 'f32', FP16: 'f16', UINT8: 'u8', INT8: 'u8' } as const;
const MAX_ROWS = 65535;

/** Where a picture went. */
export interface Placed {
  /** In the tensor, in each tile alike. */
  readonly placement: Placement;
  /** Where each tile begins in the used part of the picture; one tile at 0, 0 without tiles. */
  readonly origins: readonly { readonly x: number; readonly y: number }[];
}

/**
 * Threads of a block for `items` threads in a row: whole warps, few idle threads, and among equals the largest block.
 * A row of up to `most` is one block.
 */
export function blockSize(items: number, most: number): number {
  let best = 32;
  let idle = Number.POSITIVE_INFINITY;
  for (let threads = most; threads >= Math.min(128, most); threads -= 32) {
    const rest = Math.ceil(items / threads) * threads - items;
    if (rest < idle) [best, idle] = [threads, rest];
  }
  return Math.min(best, Math.ceil(items / 32) * 32);
}

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

  /** Loads the code, off the JS thread. @throws CudaError when the driver refuses it */
  static async open(device: Device): Promise<ImageKernels> {
    const { module, loadedFrom } = await loadKernels(device);
    return new ImageKernels(device, module, loadedFrom);
  }

  /**
   * Makes ready what a recipe needs for the formats: kernels and the table of the normalisation.
   *
   * @throws TypeError | RangeError for wrong arguments: one channel of a colour format, bytes of a 16-bit format
   * @throws CudaError
   */
  async plan(recipe: KernelRecipe, formats: readonly DeviceFormat[]): Promise<ImagePlan> {
    const full = checkRecipe(recipe);
    const kernels = new Map<string, Single>();
    for (const format of formats) {
      const { kernel: name, max } = traitsOf(format);
      if (full.channels === 1 && !format.startsWith('GRAY')) throw outOfRange('3', `channels of ${format}`, 1);
      const element = ELEMENT_NAMES[full.datatype];
      if (max > 255 && element === 'u8') throw outOfRange("'FP32' or 'FP16'", `datatype of ${format}`, full.datatype);
      for (const way of ['direct', 'resized']) {
        const entry = `${way}_${name}_${element}`;
        if (!kernels.has(entry)) kernels.set(entry, await this.#module.kernel(entry, SINGLE));
      }
    }
    const shallow = formats.some((format) => FORMATS[format].max === 255);
    const table = shallow && !isPlain(full, 255) ? await this.#upload(tableBytes(full)) : null;
    return new ImagePlan(full, kernels, table);
  }

  /** A launch without work: what measurements state beside their figures. */
  async emptyLaunch(stream: Stream): Promise<() => void> {
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

  async #upload(bytes: Uint8Array): Promise<DeviceMemory> {
    const memory = await this.device.alloc(bytes.byteLength);
    const stream = this.device.createStream();
    try {
      await stream.copyToDevice(memory, bytes);
      await stream.done();
    } finally {
      await stream.close();
    }
    return memory;
  }
}

/** A recipe made ready. Owns its table; the kernels are those of the {@link ImageKernels} it came from. */
export class ImagePlan {
  readonly recipe: FullRecipe;
  readonly #kernels: ReadonlyMap<string, Single>;
  readonly #table: DeviceMemory | null;

  /** @internal */
  constructor(recipe: FullRecipe, kernels: ReadonlyMap<string, Single>, table: DeviceMemory | null) {
    this.recipe = recipe;
    this.#kernels = kernels;
    this.#table = table;
  }

  /**
   * Enqueues one launch that makes the tensor, or all tiles, of an image: every element is written. Does not block; also
   * inside a capture. `output` is the tensor's memory, `[tiles, channels, height, width]` (or NHWC), dense, aligned to
   * its element.
   *
   * Images are read in whole words of 4 bytes where those hold at least one of the image's bytes: memory that ends with
   * the image has to be allocated in multiples of 4 bytes, which CUDA's own allocations are.
   *
   * @throws TypeError | RangeError for wrong arguments, an image of a format that was not planned for, and an output of
   * another size
   * @throws PreprocError `ERR_IMAGE_SIZE` for `resize: 'none'` and another size
   * @throws CudaError
   */
  enqueue(stream: Stream, image: DeviceImage, output: DeviceMemory): Placed {
    const { recipe } = this;
    const source = checkImage(image);
    const layout = layOut(recipe, source.crop);
    const origins = tileOrigins(layout.tiles);
    const size = ELEMENT_BYTES[recipe.datatype];
    const byteLength = origins.length * recipe.channels * recipe.width * recipe.height * size;
    if (output.byteLength !== byteLength) throw outOfRange(`${byteLength}`, 'output.byteLength', output.byteLength);
    if (output.address % BigInt(size) !== 0n) {
      throw outOfRange(`address aligned to ${size}`, 'output.address', output.address);
    }
    if (recipe.height > MAX_ROWS) throw outOfRange(`at most ${MAX_ROWS}`, 'height', recipe.height);
    const name = `${layout.direct ? 'direct' : 'resized'}_${source.traits.kernel}_${ELEMENT_NAMES[recipe.datatype]}`;
    const kernel = this.#kernels.get(name);
    if (kernel === undefined) throw outOfRange('a format given to plan()', 'image.format', image.format);
    const items = layout.direct ? Math.ceil(recipe.width / 4) : recipe.width;
    const block = blockSize(items, layout.direct ? 384 : 640);
    stream.launch(
      kernel,
      { grid: [Math.ceil(items / block), recipe.height, origins.length], block },
      writeJob(recipe, source, layout),
      source.memory,
      output,
      source.traits.max === 255 ? this.#table : null,
    );
    return { placement: layout.placement, origins };
  }

  /** Waits for what uses the table, then frees it. Closing twice is fine. */
  async close(): Promise<void> {
    await this.#table?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
