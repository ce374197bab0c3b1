import { identify } from './abi.js';
import { checkOptions, checkPositiveInteger } from './check.js';
import { warnOfCleanup } from './cleanup-warning.js';
import { type Device, ownHandleOf } from './device.js';
import { DisposedError, losesContext } from './errors.js';
import { formatNumber, type PixelFormat } from './jpeg-format.js';
import type { DecodedImage, JpegInfo } from './jpeg-info.js';
import { JpegQueue } from './jpeg-queue.js';
import { type DeviceMemory, deviceMemoryParts } from './memory.js';
import type { JpegDecoderHandle } from './native/handles.js';
import { binding } from './native/load.js';
import { nvjpegHardware, nvjpegLibrary } from './nvjpeg-availability.js';
import { type PinnedMemory, pinnedMemoryOf } from './pinned-memory.js';
import { closeInBackground, Resource } from './resource.js';
import type { Stream } from './stream.js';
import { checkSameDevice, hostBytes } from './stream-checks.js';
import { streamParts } from './stream-parts.js';

/** Resolves when nothing runs any more on the decoder's own stream; rejects then, when that could not be asked. */
async function ended(decoder: JpegDecoderHandle): Promise<void> {
  try {
    await binding().jpegDecoderWait(decoder);
  } catch (error) {
    if (!losesContext(error)) await binding().jpegDecoderSynchronize(decoder);
    throw error;
  }
}

/** How to decode. */
export interface DecodeOptions {
  /** @defaultValue `'RGB8'` */
  readonly format?: PixelFormat;
  /**
   * Bytes from a row to the next in `dst`, in each plane.
   *
   * @defaultValue the length of a row: no gaps
   */
  readonly pitch?: number;
  /** Where to enqueue the work of the device; see `decode`. */
  readonly stream?: Stream;
}

/**
 * Decodes JPEGs straight to device memory, by nvJPEG. One decoder decodes one picture at a time, the others wait their
 * turn; several decoders work side by side. It owns working memory on the device that grows with the largest picture.
 *
 * Baseline and progressive JPEGs with 8 bits are decoded, in grey and in YCbCr. Refused, on every version of the library,
 * are CMYK, RGB, other bit depths, arithmetic coding, lossless and hierarchical JPEGs, more than 100 scans, and pictures
 * of more than 2 GiB. An EXIF orientation is not applied.
 *
 * Where the device has JPEG engines (A100, H100 and newer of their kind), they decode baseline pictures of one scan in
 * grey, 4:4:4, 4:2:2 and 4:2:0; its processors decode the others, and what the engines refuse. The two may differ by some
 * levels in the same picture, and in what they make of damaged compressed data. The environment variable
 * `ZEROHOP_NVJPEG_HARDWARE=0`, read when a decoder is made, leaves the engines alone.
 */
export class JpegDecoder {
  readonly device: Device;
  readonly #handle: JpegDecoderHandle;
  readonly #resource: Resource;
  readonly #queue = new JpegQueue();

  static {
    identify(JpegDecoder, 'JpegDecoder', (decoder: JpegDecoder) => {
      decoder.#checkOpen();
      return decoder.#resource;
    });
  }

  private constructor(device: Device, handle: JpegDecoderHandle) {
    this.device = device;
    this.#handle = handle;
    this.#resource = new Resource('JpegDecoder', `A JpegDecoder on device ${device.ordinal}`, () =>
      binding().jpegDecoderDestroy(handle),
    );
  }

  /**
   * Makes a decoder, off the JS thread. The first one loads nvJPEG. The caller owns it.
   *
   * @throws TypeError for wrong arguments.
   * @throws NvjpegUnavailableError where there is no nvJPEG.
   * @throws JpegError `ERR_NVJPEG`
   * @throws CudaError
   */
  static async create(device: Device): Promise<JpegDecoder> {
    const [library, useEngines] = [nvjpegLibrary(), nvjpegHardware()];
    return new JpegDecoder(device, await binding().jpegDecoderCreate(await ownHandleOf(device), library, useEngines));
  }

  get closed(): boolean {
    return this.#resource.closed;
  }

  /**
   * Reads the header of a JPEG, off the JS thread, without nvJPEG or the device: also of one that can't be decoded here.
   * Leave `bytes` alone meanwhile.
   *
   * @throws TypeError for wrong arguments.
   * @throws DisposedError
   * @throws JpegError `ERR_JPEG_CORRUPT`, `ERR_JPEG_TRUNCATED`
   */
  async info(bytes: ArrayBufferView | PinnedMemory): Promise<JpegInfo> {
    this.#checkOpen();
    const input = hostBytes('bytes', bytes);
    // Not in turn: it takes nothing of the decoder's.
    return new JpegQueue().run(this.#uses(input), input.buffer, () => binding().jpegHeader(input));
  }

  /**
   * Decodes a JPEG to `dst`, which must have room for `height` rows of `pitch` bytes, in each plane. What the
   * device does not do itself of parsing and uncompressing runs on the addon's threads. Leave `bytes` alone until the
   * promise resolves.
   *
   * Without `stream`, the pixels are there when the promise resolves. With `stream`, they are written in that stream's
   * order: after what it had been given before the call, and before what it is given after the promise resolved, which is
   * as soon as the work is enqueued; how that ends `stream.done()` tells.
   *
   * @throws TypeError | RangeError for wrong arguments, also when `dst` or `pitch` is too small for the picture.
   * @throws DisposedError
   * @throws BusyError with `stream` during a capture.
   * @throws JpegError `ERR_JPEG_CORRUPT`, `ERR_JPEG_TRUNCATED`, `ERR_JPEG_UNSUPPORTED`, `ERR_NVJPEG`
   * @throws CudaError
   */
  async decode(
    bytes: ArrayBufferView | PinnedMemory,
    dst: DeviceMemory,
    options: DecodeOptions = {},
  ): Promise<DecodedImage> {
    this.#checkOpen();
    const input = hostBytes('bytes', bytes);
    const to = deviceMemoryParts('dst', dst);
    checkSameDevice('dst', this.device, to.allocation.device);
    checkOptions(options);
    const { format = 'RGB8', pitch, stream } = options;
    const number = formatNumber(format);
    if (pitch !== undefined) checkPositiveInteger('pitch', pitch);
    const on = stream === undefined ? undefined : streamParts('stream', stream);
    if (on !== undefined) checkSameDevice('stream', this.device, on.device);

    const native = binding();
    const decoder = this.#handle;
    const work = async (): Promise<DecodedImage> => {
      // The last one may have been enqueued on a stream and not be over; then nvJPEG's buffers are in use.
      await native.jpegDecoderWait(decoder);
      const { allocation, byteOffset, byteLength } = to;
      let decoded: DecodedImage;
      try {
        decoded = await native.jpegDecode(
          decoder,
          input,
          allocation.handle,
          byteOffset,
          byteLength,
          number,
          pitch ?? 0,
          on?.handle,
        );
      } catch (error) {
        // Something may have been enqueued before it failed.
        if (on === undefined) await ended(decoder).catch(warnOfCleanup);
        throw error;
      }
      if (on === undefined) await ended(decoder);
      return decoded;
    };
    const uses = [...this.#uses(input), to.resource];
    if (on === undefined) return this.#queue.run(uses, input.buffer, work);
    return on.work.stage(uses, input.buffer, () => this.#queue.run([], undefined, work));
  }

  /**
   * Waits for its work, then gives the decoder and its memory back. Closing twice is fine.
   *
   * @throws JpegError | CudaError when nvJPEG or the driver refuses.
   */
  close(): Promise<void> {
    return this.#resource.close();
  }

  /** Marks the decoder closed and gives it back once its work is over; a failure becomes a process warning. */
  [Symbol.dispose](): void {
    closeInBackground(this.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw new DisposedError('JpegDecoder');
  }

  #uses(input: Uint8Array): Resource[] {
    const pinned = pinnedMemoryOf('data', input.buffer);
    return pinned === undefined ? [this.#resource] : [this.#resource, pinned.resource];
  }
}
