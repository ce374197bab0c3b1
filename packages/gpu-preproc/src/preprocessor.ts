import type { Stream } from '@zerohop/cuda-native';
import type { TensorBlock, TensorSpec } from '@zerohop/cuda-native/tensor';
import { checkBoolean, checkOneOf, checkPositiveInteger, checkTriple, outOfRange, wrongType } from './arguments.js';
import { DEFAULT_LIMIT_INPUT_PIXELS, type DecodeOptions, decodeImage } from './decode.js';
import { PreprocError } from './errors.js';
import { Image } from './image.js';
import type { Geometry, ResizeMode } from './reference/geometry.js';
import type { Interpolation } from './reference/resize.js';
import {
  type ColorOrder,
  imageToTensor,
  normalisationTable,
  type TensorBits,
  type TensorRecipe,
} from './reference/tensor.js';
import { checkBlock, hostElements, readTarget, type Target, type TargetSize } from './target.js';

/** A number for all three planes, or one for each plane in the tensor's own order (`colorOrder`). */
export type PerChannel = number | readonly [number, number, number];

export interface PreprocessorOptions {
  /** The tensor to write: `[1, 3, height, width]`, FP32 or FP16. A pool's `input(name)` is one. */
  readonly target: TensorSpec | TargetSize;
  /**
   * `'letterbox'` keeps the aspect ratio and fills the rest with `pad`; `'stretch'` does not; `'none'` takes only
   * pictures of the target's size. A picture of the target's size passes unchanged through each of them.
   * @defaultValue 'letterbox'
   */
  readonly resize?: ResizeMode;
  /** OpenCV's `INTER_LINEAR` or `INTER_NEAREST`, byte for byte. @defaultValue 'linear' */
  readonly interpolation?: Interpolation;
  /** Which plane comes first. @defaultValue 'RGB' */
  readonly colorOrder?: ColorOrder;
  /** Each byte becomes `((v · scale) − mean) / std` in fp32. @defaultValue 1/255 */
  readonly scale?: number;
  /** @defaultValue 0 */
  readonly mean?: PerChannel;
  /** @defaultValue 1 */
  readonly std?: PerChannel;
  /** Bytes (0–255) round the picture, before normalisation. @defaultValue 114 */
  readonly pad?: PerChannel;
  /** Turns encoded pictures upright by their EXIF orientation. @defaultValue true */
  readonly exif?: boolean;
  /** Encoded pictures with more pixels are refused. @defaultValue 67108864 (8192 × 8192) */
  readonly limitInputPixels?: number;
}

export interface RunOptions {
  /** The stream a CUDA block is written on. No effect on a host block. @defaultValue the block's own */
  readonly stream?: Stream;
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
   * @throws PreprocError ERR_TENSOR_MISMATCH for a target that is not `[1, 3, height, width]` of FP32 or FP16
   */
  static async create(options: PreprocessorOptions): Promise<Preprocessor> {
    if (typeof options !== 'object' || options === null) throw wrongType('object', 'options', options);
    const target = readTarget(options.target);
    const scale = options.scale ?? 1 / 255;
    if (typeof scale !== 'number') throw wrongType('finite number', 'scale', scale);
    if (!Number.isFinite(scale)) throw outOfRange('finite number', 'scale', scale);
    const mean = checkTriple('mean', options.mean ?? 0, 'finite number', Number.isFinite);
    const std = checkTriple(
      'std',
      options.std ?? 1,
      'positive number',
      (v) => Number.isFinite(v) && Math.fround(v) > 0,
    );
    const isByte = (v: number): boolean => Number.isInteger(v) && v >= 0 && v <= 255;
    const recipe: TensorRecipe = {
      width: target.width,
      height: target.height,
      resize: checkOneOf('resize', options.resize ?? 'letterbox', ['letterbox', 'stretch', 'none']),
      interpolation: checkOneOf('interpolation', options.interpolation ?? 'linear', ['linear', 'nearest']),
      colorOrder: checkOneOf('colorOrder', options.colorOrder ?? 'RGB', ['RGB', 'BGR']),
      pad: checkTriple('pad', options.pad ?? 114, 'integer from 0 to 255', isByte),
      table: normalisationTable(target.datatype, { scale, mean, std }),
    };
    return new Preprocessor(target, recipe, {
      exif: checkBoolean('exif', options.exif ?? true),
      limitInputPixels: checkPositiveInteger(
        'limitInputPixels',
        options.limitInputPixels ?? DEFAULT_LIMIT_INPUT_PIXELS,
      ),
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Writes a picture into the whole of `block` and resolves, when the bytes are there, to how it was laid in. The block
   * is held (`block.hold`) until then, also when the promise is not awaited; after a failure its content is undefined.
   * An encoded picture is decoded first; an `Image` is borrowed and not closed.
   * @throws TypeError for a source that is neither bytes nor an Image, or no block
   * @throws PreprocError ERR_TENSOR_MISMATCH, ERR_IMAGE_SIZE, ERR_DISPOSED, and what {@link decodeImage} throws
   */
  async run(source: Uint8Array | Image, block: TensorBlock, options: RunOptions = {}): Promise<Geometry> {
    if (this.#closed) throw new PreprocError('ERR_DISPOSED', 'The preprocessor is closed');
    if (!(source instanceof Uint8Array) && !(source instanceof Image)) {
      throw wrongType('Uint8Array or Image', 'source', source);
    }
    checkBlock(block, this.#target);
    // Throws when the block's lease is over, before any work is started. Nothing is awaited up to `hold`, so the block
    // is held when the caller gets the promise.
    const { memory } = block;
    const work =
      memory instanceof Uint8Array ? this.#fillHost(source, memory) : this.#fillDevice(source, block, options);
    block.hold(work);
    this.#inFlight.add(work);
    try {
      return await work;
    } finally {
      this.#inFlight.delete(work);
    }
  }

  async #fillHost(source: Uint8Array | Image, memory: Uint8Array): Promise<Geometry> {
    const elements = hostElements(memory, this.#target);
    return this.#convert(source, () => elements);
  }

  async #fillDevice(source: Uint8Array | Image, block: TensorBlock, options: RunOptions): Promise<Geometry> {
    const { datatype, byteLength } = this.#target;
    let elements: TensorBits | undefined;
    try {
      const geometry = await this.#convert(source, () => {
        elements =
          this.#idle.pop() ?? (datatype === 'FP32' ? new Int32Array(byteLength / 4) : new Uint16Array(byteLength / 2));
        return elements;
      });
      if (elements !== undefined) await block.write(elements, options.stream ? { stream: options.stream } : {});
      return geometry;
    } finally {
      if (elements !== undefined && !this.#closed) this.#idle.push(elements);
    }
  }

  async #convert(source: Uint8Array | Image, destination: () => TensorBits): Promise<Geometry> {
    if (source instanceof Image) return this.#write(source, destination());
    const image = await decodeImage(source, this.#decode);
    try {
      return this.#write(image, destination());
    } finally {
      image.close();
    }
  }

  #write(image: Image, elements: TensorBits): Geometry {
    const { width, height, resize } = this.#recipe;
    if (resize === 'none' && (image.width !== width || image.height !== height)) {
      throw new PreprocError(
        'ERR_IMAGE_SIZE',
        `Expected an image of ${width}x${height} pixels, because resize is 'none', but received ${image.width}x${image.height}`,
      );
    }
    return imageToTensor(image, this.#recipe, elements);
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
