import type { Stream } from '@zerohop/cuda-native';
import type { TensorBlock } from '@zerohop/cuda-native/tensor';
import { checkCrop, wrongType } from './arguments.js';
import { type DecodeOptions, decodeImage } from './decode.js';
import { PreprocError } from './errors.js';
import { Image } from './image.js';
import { type PreprocessorOptions, readOptions } from './options.js';
import type { Crop, Geometry } from './reference/geometry.js';
import { geometriesOf, imageToTensor, type TensorBits, type TensorRecipe, tensorBits } from './reference/tensor.js';
import { checkBlock, hostElements, type Target } from './target.js';

type Source = Uint8Array | Image;

export interface RunOptions {
  /** The stream a CUDA block is written on. No effect on a host block. @defaultValue the block's own */
  readonly stream?: Stream;
  /**
   * The part of the (upright) picture that is used, instead of the image's own `crop`. Boxes come back in pixels of the
   * whole picture. @defaultValue the image's `crop`: all of it, unless `imageFrom` was told otherwise
   */
  readonly crop?: Crop;
}

/**
 * Turns pictures into one kind of tensor. Several `run` calls may be in flight at once, on different blocks.
 *
 * Today the arithmetic runs on the JS thread: about 50 ms for a 4K picture at its own size. A host block is written in
 * place; for a CUDA block the tensor is made in a reused host buffer, then uploaded by `block.write`.
 */
export class Preprocessor {
  readonly #target: Target;
  readonly #recipe: TensorRecipe;
  readonly #decode: DecodeOptions;
  readonly #inFlight = new Set<Promise<unknown>>();
  /** Host buffers for CUDA blocks that no run is using. */
  readonly #idle: TensorBits[] = [];
  #closed = false;

  private constructor(target: Target, recipe: TensorRecipe, decode: DecodeOptions) {
    this.#target = target;
    this.#recipe = recipe;
    this.#decode = decode;
  }

  /**
   * @throws TypeError, RangeError for a wrong option
   * @throws PreprocError ERR_TENSOR_MISMATCH for a target that is not an image tensor
   */
  static async create(options: PreprocessorOptions): Promise<Preprocessor> {
    const { target, recipe, decode } = readOptions(options);
    return new Preprocessor(target, recipe, decode);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Writes a picture into the whole of `block` and resolves, when the bytes are there, to how it was laid in. The block
   * is held (`block.hold`) until then, also when the promise is not awaited; after a failure its content is undefined.
   * An encoded picture is decoded first; an `Image` is borrowed and not closed.
   * @throws TypeError, RangeError for a source that is neither bytes nor an Image, no block, or a crop outside the picture
   * @throws PreprocError ERR_TENSOR_MISMATCH (also for a batch of more than one: see `runBatch` and `runTiles`),
   * ERR_IMAGE_SIZE, ERR_DISPOSED, and what {@link decodeImage} throws
   */
  async run(source: Source, block: TensorBlock, options: RunOptions = {}): Promise<Geometry> {
    const { batch } = this.#target;
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
   * Writes several pictures, of any sizes and formats, into one block: as many as its batch, in order. Otherwise as `run`.
   */
  async runBatch(
    sources: readonly Source[],
    block: TensorBlock,
    options: Omit<RunOptions, 'crop'> = {},
  ): Promise<Geometry[]> {
    if (!Array.isArray(sources)) throw wrongType('array of pictures', 'sources', sources);
    return this.#fill(sources, block, options);
  }

  /**
   * Cuts one picture into the tiles of a block's batch, row by row from the top, for `resize: { tiles }`. Resolves to the
   * geometry of each, whose `toImage` leads back into the whole picture. The number of tiles has to be the batch:
   * ERR_TENSOR_MISMATCH otherwise. Otherwise as `run`.
   */
  async runTiles(source: Source, block: TensorBlock, options: RunOptions = {}): Promise<Geometry[]> {
    return this.#fill([source], block, options);
  }

  async #fill(sources: readonly Source[], block: TensorBlock, options: RunOptions): Promise<Geometry[]> {
    if (this.#closed) throw new PreprocError('ERR_DISPOSED', 'The preprocessor is closed');
    for (const source of sources) {
      if (!(source instanceof Uint8Array) && !(source instanceof Image)) {
        throw wrongType('Uint8Array or Image', 'source', source);
      }
    }
    checkBlock(block, this.#target);
    const pictures = this.#recipe.resize === 'tiles' ? 1 : this.#target.batch;
    if (sources.length !== pictures) {
      throw new PreprocError(
        'ERR_TENSOR_MISMATCH',
        `Expected ${pictures} pictures for a batch of ${this.#target.batch} but received ${sources.length}`,
      );
    }
    // Throws when the block's lease is over, before any work is started. Nothing is awaited up to `hold`, so the block
    // is held when the caller gets the promise.
    const { memory } = block;
    const work =
      memory instanceof Uint8Array
        ? this.#fillHost(sources, memory, options)
        : this.#fillDevice(sources, block, options);
    block.hold(work);
    this.#inFlight.add(work);
    try {
      return await work;
    } finally {
      this.#inFlight.delete(work);
    }
  }

  async #fillHost(sources: readonly Source[], memory: Uint8Array, options: RunOptions): Promise<Geometry[]> {
    const elements = hostElements(memory, this.#target);
    return this.#convert(sources, options, () => elements);
  }

  async #fillDevice(sources: readonly Source[], block: TensorBlock, options: RunOptions): Promise<Geometry[]> {
    const { datatype, batch, channels, width, height } = this.#target;
    let elements: TensorBits | undefined;
    try {
      const geometries = await this.#convert(sources, options, () => {
        elements ??= this.#idle.pop() ?? tensorBits(datatype, batch * channels * height * width);
        return elements;
      });
      if (elements !== undefined) await block.write(elements, options.stream ? { stream: options.stream } : {});
      return geometries;
    } finally {
      if (elements !== undefined && !this.#closed) this.#idle.push(elements);
    }
  }

  /** One picture after the other: no more than one is decoded at a time. */
  async #convert(sources: readonly Source[], { crop }: RunOptions, destination: () => TensorBits): Promise<Geometry[]> {
    const geometries: Geometry[] = [];
    for (const source of sources) {
      const image = source instanceof Image ? source : await decodeImage(source, this.#decode);
      try {
        const part =
          crop === undefined ? image : new Image({ ...image, data: image.data, crop: checkCrop(crop, image) });
        geometries.push(...this.#write(part, destination, geometries.length, sources.length));
      } finally {
        if (image !== source) image.close();
      }
    }
    return geometries;
  }

  #write(image: Image, destination: () => TensorBits, index: number, count: number): Geometry[] {
    const { width, height, resize } = this.#recipe;
    const { crop } = image;
    if (resize === 'none' && (crop.width !== width || crop.height !== height)) {
      throw new PreprocError(
        'ERR_IMAGE_SIZE',
        `Expected an image of ${width}x${height} pixels, because resize is 'none', but received ${crop.width}x${crop.height}`,
      );
    }
    const { batch, channels } = this.#target;
    if (channels === 1 && !image.format.startsWith('GRAY')) {
      throw new PreprocError(
        'ERR_TENSOR_MISMATCH',
        `Expected GRAY8 or GRAY16 for a tensor of one channel but received ${image.format}`,
      );
    }
    if (resize === 'tiles') {
      const tiles = geometriesOf(image, this.#recipe).length;
      if (tiles !== batch) {
        throw new PreprocError(
          'ERR_TENSOR_MISMATCH',
          `Expected as many tiles as the block's batch, ${batch}, but an image of ${crop.width}x${crop.height} pixels has ${tiles}`,
        );
      }
    }
    const elements = destination();
    const each = elements.length / count;
    return imageToTensor(image, this.#recipe, elements.subarray(index * each, (index + 1) * each));
  }

  /** Refuses new work, waits for the runs in flight, then drops the buffers. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#inFlight);
    this.#idle.length = 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
