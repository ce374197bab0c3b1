import type { DeviceMemory, Kernel, Stream } from '@zerohop/cuda-native';
import { outOfRange } from '../arguments.js';
import { PreprocError } from '../errors.js';
import { ELEMENT_BYTES } from '../reference/elements.js';
import type { Placement } from '../reference/geometry.js';
import { checkImage, type DeviceImage, type SourceImage } from './device-image.js';
import { JOB_BYTES, writeJob } from './job.js';
import { entryPoint, layOut, type Part, partsOf, tileOrigins, type Way } from './layout.js';
import type { FullRecipe } from './recipe.js';

/** A job; the image, the tensor and the table. */
export const SINGLE = [{ bytes: JOB_BYTES }, 'pointer', 'pointer', 'pointer'] as const;
export type SingleKernel = Kernel<typeof SINGLE>;

/** Images of one launch: `kBatch` of kernels/job.cuh. */
const IN_BATCH = 8;

/** The jobs; the tensor and the table; the images, which the launch holds and the jobs have the addresses of. */
export const BATCH = [
  { bytes: IN_BATCH * JOB_BYTES },
  'pointer',
  'pointer',
  ...(['pointer', 'pointer', 'pointer', 'pointer', 'pointer', 'pointer', 'pointer', 'pointer'] as const),
] as const;
export type BatchKernel = Kernel<typeof BATCH>;

/** The entry points of a plan, by their names. */
export interface PlanKernels {
  readonly single: ReadonlyMap<string, SingleKernel>;
  readonly several: ReadonlyMap<string, BatchKernel>;
}

const MAX_ROWS = 65535;

/** Pixels of one thread of a direct kernel: `kGroup` of kernels/elements.cuh. */
const groupOf = ({ datatype }: FullRecipe): number => (datatype === 'FP32' ? 4 : 8);

/** By way. `area` is a loop with many values at hand: fewer threads leave registers for it. */
const MOST_THREADS = { direct: 192, resized: 640, batch: 640, area: 256 } as const;

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

function kernelFor<K>(
  kernels: ReadonlyMap<string, K>,
  way: Way,
  { traits, format }: SourceImage,
  recipe: FullRecipe,
): K {
  const kernel = kernels.get(entryPoint(way, traits, recipe.datatype));
  if (kernel === undefined) throw outOfRange('a format given to plan()', 'image.format', format);
  return kernel;
}

/** A recipe made ready. Owns its table; the kernels are those of the {@link ImageKernels} it came from. */
export class ImagePlan {
  readonly recipe: FullRecipe;
  readonly #kernels: PlanKernels;
  readonly #table: DeviceMemory | null;
  #closed = false;

  /** @internal */
  constructor(recipe: FullRecipe, kernels: PlanKernels, table: DeviceMemory | null) {
    this.recipe = recipe;
    this.#kernels = kernels;
    this.#table = table;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Enqueues one launch that makes the tensor, or all tiles, of an image (one for each eight tiles where the image is
   * smaller than a tile and they are padded): every element is written. Does not block; also
   * inside a capture. `output` is the tensor's memory, `[tiles, channels, height, width]` (or NHWC), dense, aligned to
   * its element, and no part of it is one of the image.
   *
   * Images are read in whole words of 4 bytes where those hold at least one of the image's bytes: memory that ends with
   * the image has to be allocated in multiples of 4 bytes, which CUDA's own allocations are.
   *
   * @throws TypeError | RangeError for wrong arguments, an image of a kind that was not planned for, and an output of
   * another size
   * @throws PreprocError `ERR_IMAGE_SIZE` for `resize: 'none'` and another size; `ERR_DISPOSED`
   * @throws DisposedError for memory, or kernels, that are closed
   * @throws CudaError
   */
  enqueue(stream: Stream, image: DeviceImage, output: DeviceMemory): Placed {
    this.#checkOpen();
    const { recipe } = this;
    const source = checkImage(image);
    const layout = layOut(recipe, source.crop);
    const origins = tileOrigins(layout.tiles);
    this.#checkOutput(output, origins.length);
    const { way, parts } = partsOf(recipe, source, layout);
    if (way === 'batch' || way === 'area') {
      this.#launchSeveral(stream, way, parts, output);
      return { placement: layout.placement, origins };
    }
    const items = way === 'direct' ? Math.ceil(recipe.width / groupOf(recipe)) : recipe.width;
    const block = blockSize(items, MOST_THREADS[way]);
    stream.launch(
      kernelFor(this.#kernels.single, way, source, recipe),
      { grid: [Math.ceil(items / block), recipe.height, origins.length], block },
      writeJob(recipe, source, layout),
      source.memory,
      output,
      source.traits.max === 255 ? this.#table : null,
    );
    return { placement: layout.placement, origins };
  }

  /**
   * As `enqueue` for images of one format and any sizes, into one tensor `[images, channels, height, width]` (or NHWC):
   * one launch for each eight of them. Not for tiles.
   *
   * @throws TypeError | RangeError | PreprocError | DisposedError | CudaError as `enqueue`. Nothing is enqueued then unless
   * the driver refused
   */
  enqueueBatch(stream: Stream, images: readonly DeviceImage[], output: DeviceMemory): Placed[] {
    this.#checkOpen();
    const { recipe } = this;
    if (recipe.resize === 'tiles') throw outOfRange('another', 'resize of a batch', recipe.resize);
    const sources = images.map(checkImage);
    const [first] = sources;
    if (first === undefined) throw outOfRange('at least one image', 'images', images);
    for (const { format } of sources) if (format !== first.format) throw outOfRange(first.format, 'format', format);
    const parts = sources.map((source) => ({ source, layout: layOut(recipe, source.crop) }));
    this.#checkOutput(output, images.length);
    this.#launchSeveral(stream, recipe.interpolation === 'area' ? 'area' : 'batch', parts, output);
    return parts.map(({ layout }) => ({ placement: layout.placement, origins: [{ x: 0, y: 0 }] }));
  }

  /** Waits for what uses the table, then frees it. Closing twice is fine. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#table?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.#closed) throw new PreprocError('ERR_DISPOSED', 'The plan is closed');
  }

  /** Parts of images of one format, into one tensor behind the other. */
  #launchSeveral(stream: Stream, way: 'batch' | 'area', parts: readonly Part[], output: DeviceMemory): void {
    const { recipe } = this;
    const elements = recipe.channels * recipe.width * recipe.height;
    const block = blockSize(recipe.width, MOST_THREADS[way]);
    const [{ source: first }] = parts as [Part, ...Part[]];
    const kernel = kernelFor(this.#kernels.several, way, first, recipe);
    // All of them are written before the first is enqueued: one whose memory is closed leaves nothing behind.
    const launches = [];
    for (let from = 0; from < parts.length; from += IN_BATCH) {
      const some = parts.slice(from, from + IN_BATCH);
      const jobs = new Uint8Array(IN_BATCH * JOB_BYTES);
      for (const [i, { source, layout }] of some.entries()) {
        const start = { source: source.memory.address, outputElements: (from + i) * elements };
        jobs.set(new Uint8Array(writeJob(recipe, source, layout, start).buffer), i * JOB_BYTES);
      }
      launches.push({ some, jobs });
    }
    for (const { some, jobs } of launches) {
      const held = (i: number) => some[i]?.source.memory ?? null;
      stream.launch(
        kernel,
        { grid: [Math.ceil(recipe.width / block), recipe.height, some.length], block },
        jobs,
        output,
        first.traits.max === 255 ? this.#table : null,
        held(0),
        held(1),
        held(2),
        held(3),
        held(4),
        held(5),
        held(6),
        held(7),
      );
    }
  }

  #checkOutput(output: DeviceMemory, images: number): void {
    const { datatype, channels, width, height } = this.recipe;
    const size = ELEMENT_BYTES[datatype];
    const byteLength = images * channels * width * height * size;
    if (output.byteLength !== byteLength) throw outOfRange(`${byteLength}`, 'output.byteLength', output.byteLength);
    if (output.address % BigInt(size) !== 0n) {
      throw outOfRange(`address aligned to ${size}`, 'output.address', output.address);
    }
    // The most blocks of a grid in y.
    if (height > MAX_ROWS) throw outOfRange(`at most ${MAX_ROWS}`, 'height', height);
  }
}
