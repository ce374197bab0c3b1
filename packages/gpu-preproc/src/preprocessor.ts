import type { Device, Stream } from '@zerohop/cuda-native';
import type { TensorBlock } from '@zerohop/cuda-native/tensor';
import { checkFields, fieldsOf, wrongType } from './arguments.js';
import { CpuPath } from './cpu/cpu-path.js';
import { PreprocError } from './errors.js';
import { type Filling, GpuPath } from './gpu/gpu-path.js';
import { Image } from './image.js';
import { type PreprocessorOptions, type PreprocessorSettings, readOptions } from './options.js';
import type { Source } from './picture.js';
import type { Crop, Geometry } from './reference/geometry.js';
import { checkBlock, hostElements } from './target.js';

export interface RunOptions {
  /**
   * The stream that kernels and copies go to, and behind whose work a picture in device memory is read. No other effect on
   * what the CPU writes. @defaultValue the block's own
   */
  readonly stream?: Stream;
  /**
   * The part of the (upright) picture that is used, instead of the image's own `crop`. Boxes come back in pixels of the
   * whole picture. @defaultValue the image's `crop`: all of it, unless `imageFrom` was told otherwise
   */
  readonly crop?: Crop;
}

const RUN_OPTIONS = fieldsOf<RunOptions>({ stream: true, crop: true });

/**
 * Turns pictures into one kind of tensor. Several `run` calls may be in flight at once, on different blocks.
 *
 * Where kernels reach a block (`block.deviceMemory`: GPU memory, and host memory that is registered with a GPU) they
 * write it in place, and JPEGs are decoded on the GPU; elsewhere the CPU writes it. Both give the same bytes for the same
 * pixels.
 */
export class Preprocessor {
  readonly #settings: PreprocessorSettings;
  readonly #cpu: CpuPath;
  readonly #gpus = new Map<Device, Promise<GpuPath>>();
  readonly #inFlight = new Set<Promise<unknown>>();
  #kernels: 'fatbin' | 'ptx' | undefined;
  #closing: Promise<void> | undefined;

  private constructor(settings: PreprocessorSettings) {
    this.#settings = settings;
    this.#cpu = new CpuPath(settings);
  }

  /**
   * Loads the kernels where the target is one of a GPU (`target.device`) or `device` names one.
   * @throws TypeError, RangeError for a wrong option
   * @throws PreprocError ERR_TENSOR_MISMATCH for a target that is not an image tensor
   * @throws PreprocError ERR_KERNELS_MISSING when the package lacks the kernels' code
   * @throws CudaError when the driver refuses the kernels
   */
  static async create(options: PreprocessorOptions): Promise<Preprocessor> {
    const settings = readOptions(options);
    const preprocessor = new Preprocessor(settings);
    if (settings.device !== undefined && settings.device !== 'cpu') await preprocessor.#gpuPath(settings.device);
    return preprocessor;
  }

  /**
   * What the kernels were loaded from: code for the GPU, or PTX that its driver compiled first (some seconds, once).
   * Undefined as long as no kernel was needed.
   */
  get kernels(): 'fatbin' | 'ptx' | undefined {
    return this.#kernels;
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Writes a picture into the whole of `block` and resolves, when the bytes are there, to how it was laid in. The block
   * is held (`block.hold`) until then, also when the promise is not awaited; after a failure its content is undefined.
   * An encoded picture is decoded first; an `Image` is borrowed and not closed.
   * @throws TypeError, RangeError for a source that is neither bytes nor an Image, no block, no stream, or a crop outside
   * the picture
   * @throws PreprocError ERR_TENSOR_MISMATCH (also for a batch of more than one: see `runBatch` and `runTiles`),
   * ERR_IMAGE_SIZE, ERR_KERNELS_MISSING, ERR_DISPOSED, and what {@link decodeImage} throws
   * @throws CudaError of the GPU, JpegError `ERR_NVJPEG` of its decoder
   */
  async run(source: Source, block: TensorBlock, options: RunOptions = {}): Promise<Geometry> {
    const { batch } = this.#settings.target;
    if (batch !== 1) {
      throw new PreprocError(
        'ERR_TENSOR_MISMATCH',
        `Expected a batch of 1 for run but the target has ${batch}: use runBatch, or runTiles`,
      );
    }
    const [geometry] = await this.#fill([source], block, options);
    return geometry as Geometry;
  }

  /**
   * Writes several pictures, of any sizes and formats, into one block: as many as its batch, in order. Not for
   * `resize: { tiles }`. Otherwise as `run`.
   */
  async runBatch(
    sources: readonly Source[],
    block: TensorBlock,
    options: Omit<RunOptions, 'crop'> = {},
  ): Promise<Geometry[]> {
    if (!Array.isArray(sources)) throw wrongType('array of pictures', 'sources', sources);
    this.#checkTiles(false);
    // A copy: the caller's array may change while they are decoded.
    return this.#fill([...sources], block, options);
  }

  /**
   * Cuts one picture into the tiles of a block's batch, row by row from the top, for `resize: { tiles }`. Resolves to the
   * geometry of each, whose `toImage` leads back into the whole picture. The number of tiles has to be the batch, and
   * `resize` to be tiles: ERR_TENSOR_MISMATCH otherwise. Otherwise as `run`.
   */
  async runTiles(source: Source, block: TensorBlock, options: RunOptions = {}): Promise<Geometry[]> {
    this.#checkTiles(true);
    return this.#fill([source], block, options);
  }

  #checkTiles(wanted: boolean): void {
    const { resize } = this.#settings.recipe;
    if ((resize === 'tiles') === wanted) return;
    throw new PreprocError(
      'ERR_TENSOR_MISMATCH',
      wanted
        ? `Expected resize: { tiles } for runTiles but received '${resize}': use run, or runBatch`
        : 'Expected several pictures for runBatch but resize: { tiles } cuts one into the batch: use runTiles',
    );
  }

  async #fill(sources: readonly Source[], block: TensorBlock, options: RunOptions): Promise<Geometry[]> {
    if (this.closed) throw new PreprocError('ERR_DISPOSED', 'The preprocessor is closed');
    checkFields('options', options, RUN_OPTIONS);
    for (const source of sources) {
      if (!(source instanceof Uint8Array) && !(source instanceof Image)) {
        throw wrongType('Uint8Array or Image', 'source', source);
      }
    }
    const { stream } = options;
    if (stream !== undefined && (typeof stream !== 'object' || stream === null || !('launch' in stream))) {
      throw wrongType('Stream', 'stream', stream);
    }
    const { target, recipe } = this.#settings;
    checkBlock(block, target);
    if (recipe.resize !== 'tiles' && sources.length !== target.batch) {
      throw new PreprocError(
        'ERR_TENSOR_MISMATCH',
        `Expected ${target.batch} pictures for a batch of ${target.batch} but received ${sources.length}`,
      );
    }
    // Throws when the block's lease is over, before any work is started. Nothing is awaited up to `hold`, so the block
    // is held when the caller gets the promise.
    const work = this.#write(sources, block, options);
    block.hold(work);
    this.#inFlight.add(work);
    try {
      return await work;
    } finally {
      this.#inFlight.delete(work);
    }
  }

  #write(sources: readonly Source[], block: TensorBlock, { stream, crop }: RunOptions): Promise<Geometry[]> {
    const { memory, deviceMemory, shm } = block;
    const { device: wanted, target } = this.#settings;
    const reached = memory instanceof Uint8Array ? deviceMemory : memory;
    const work = { sources, crop, stream: stream ?? block.stream };
    if (wanted !== 'cpu') {
      if (reached !== undefined && block.device !== undefined) {
        return this.#writeByKernels(block.device, { ...work, output: reached });
      }
      if (wanted !== undefined && memory instanceof Uint8Array) {
        return this.#writeByKernels(wanted, { ...work, output: memory });
      }
    }
    if (memory instanceof Uint8Array) {
      return this.#cpu.fill(work, { elements: hostElements(memory, target), shm }, block.stream);
    }
    return this.#cpu.upload(work, (elements) => block.write(elements, stream ? { stream } : {}));
  }

  async #writeByKernels(device: Device, filling: Filling): Promise<Geometry[]> {
    const gpu = await this.#gpuPath(device);
    return gpu.fill(filling);
  }

  #gpuPath(device: Device): Promise<GpuPath> {
    const known = this.#gpus.get(device);
    if (known !== undefined) return known;
    const opened = GpuPath.open(device, this.#settings);
    this.#gpus.set(device, opened);
    opened.then(
      ({ loadedFrom }) => {
        this.#kernels = loadedFrom;
      },
      () => this.#gpus.delete(device),
    );
    return opened;
  }

  /** Refuses new work, waits for the runs in flight, then gives back buffers, decoders and kernels. Twice is fine. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await Promise.allSettled(this.#inFlight);
    this.#cpu.close();
    // One that failed is not kept.
    await Promise.all(Array.from(this.#gpus.values(), async (opened) => (await opened).close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
