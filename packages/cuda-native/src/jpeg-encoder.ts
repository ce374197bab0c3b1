import { identify } from './abi.js';
import { checkInteger, checkOptions, checkPositiveInteger, invalid } from './check.js';
import { type Device, ownHandleOf } from './device.js';
import { DisposedError } from './errors.js';
import { formatNumber, type JpegSubsampling, type PixelFormat, subsamplingNumber } from './jpeg-format.js';
import { JpegQueue } from './jpeg-queue.js';
import { type DeviceMemory, deviceMemoryParts } from './memory.js';
import type { JpegEncoderHandle } from './native/handles.js';
import { binding } from './native/load.js';
import { nvjpegLibrary } from './nvjpeg-availability.js';
import { closeInBackground, Resource } from './resource.js';
import type { Stream } from './stream.js';
import { checkSameDevice } from './stream-checks.js';
import { streamParts } from './stream-parts.js';

/** What to encode, and how. */
export interface EncodeOptions {
  /** In pixels, 1 to 65535. */
  readonly width: number;
  readonly height: number;
  /** @defaultValue `'RGB8'` */
  readonly format?: PixelFormat;
  /**
   * Bytes from a row to the next in `src`, in each plane.
   *
   * @defaultValue the length of a row: no gaps
   */
  readonly pitch?: number;
  /**
   * 1 to 100.
   *
   * @defaultValue `80`
   */
  readonly quality?: number;
  /** @defaultValue `'gray'` for `GRAY8`, which takes no other, else `'4:2:0'` */
  readonly subsampling?: JpegSubsampling;
  /** The stream whose work, enqueued before the call, makes the pixels: it is waited for. */
  readonly stream?: Stream;
}

/** The largest width or height that a JPEG can have. */
const LARGEST_SIDE = 65535;

/**
 * Encodes pictures in device memory to baseline JPEGs, by nvJPEG. One encoder encodes one picture at a time, the others
 * wait their turn; several encoders work side by side. It owns working memory on the device that grows with the largest
 * picture.
 */
export class JpegEncoder {
  readonly device: Device;
  readonly #handle: JpegEncoderHandle;
  readonly #resource: Resource;
  readonly #queue = new JpegQueue();

  static {
    identify(JpegEncoder, 'JpegEncoder', (encoder: JpegEncoder) => {
      encoder.#checkOpen();
      return encoder.#resource;
    });
  }

  private constructor(device: Device, handle: JpegEncoderHandle) {
    this.device = device;
    this.#handle = handle;
    this.#resource = new Resource('JpegEncoder', `A JpegEncoder on device ${device.ordinal}`, () =>
      binding().jpegEncoderDestroy(handle),
    );
  }

  /**
   * Makes an encoder, off the JS thread. The first one loads nvJPEG. The caller owns it.
   *
   * @throws TypeError for wrong arguments.
   * @throws NvjpegUnavailableError where there is no nvJPEG.
   * @throws JpegError `ERR_NVJPEG`
   * @throws CudaError
   */
  static async create(device: Device): Promise<JpegEncoder> {
    return new JpegEncoder(device, await binding().jpegEncoderCreate(await ownHandleOf(device), nvjpegLibrary()));
  }

  get closed(): boolean {
    return this.#resource.closed;
  }

  /**
   * Encodes the picture at `src`, off the JS thread. `src` is read until the promise is settled.
   *
   * @returns a whole JPEG file, which the caller owns
   * @throws TypeError | RangeError for wrong arguments, also when `src` or `pitch` is too small for the picture.
   * @throws DisposedError
   * @throws BusyError with `stream` during a capture.
   * @throws JpegError `ERR_JPEG_UNSUPPORTED` for more than 2 GiB, or what nvJPEG does not take; `ERR_NVJPEG`
   * @throws CudaError also when the work of `stream` failed.
   */
  async encode(src: DeviceMemory, options: EncodeOptions): Promise<Uint8Array> {
    this.#checkOpen();
    const from = deviceMemoryParts('src', src);
    checkSameDevice('src', this.device, from.allocation.device);
    checkOptions(options);
    const { width, height, format = 'RGB8', pitch, quality = 80, stream } = options;
    const { subsampling = format === 'GRAY8' ? 'gray' : '4:2:0' } = options;
    checkInteger('width', width, 1, LARGEST_SIDE);
    checkInteger('height', height, 1, LARGEST_SIDE);
    const number = formatNumber(format);
    if (pitch !== undefined) checkPositiveInteger('pitch', pitch);
    checkInteger('quality', quality, 1, 100);
    const chroma = subsamplingNumber(subsampling);
    if (format === 'GRAY8' && subsampling !== 'gray') {
      throw invalid('subsampling', "'gray' with GRAY8", subsampling, RangeError);
    }
    const on = stream === undefined ? undefined : streamParts('stream', stream);
    if (on !== undefined) checkSameDevice('stream', this.device, on.device);

    const native = binding();
    const encoder = this.#handle;
    const made = on?.work.wait();
    // Told by the await below, when its turn comes.
    made?.catch(() => undefined);
    return this.#queue.run([this.#resource, from.resource], undefined, async () => {
      await made;
      const { allocation, byteOffset, byteLength } = from;
      const length = await native.jpegEncode(
        encoder,
        allocation.handle,
        byteOffset,
        byteLength,
        number,
        pitch ?? 0,
        width,
        height,
        quality,
        chroma,
      );
      const file = new Uint8Array(length);
      await native.jpegEncoderTake(encoder, file);
      return file;
    });
  }

  /**
   * Waits for its work, then gives the encoder and its memory back. Closing twice is fine.
   *
   * @throws JpegError | CudaError when nvJPEG or the driver refuses.
   */
  close(): Promise<void> {
    return this.#resource.close();
  }

  /** Marks the encoder closed and gives it back once its work is over; a failure becomes a process warning. */
  [Symbol.dispose](): void {
    closeInBackground(this.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw new DisposedError('JpegEncoder');
  }
}
