import type { DeviceMemory, Stream } from '@zerohop/cuda-native';
import { JpegError } from '@zerohop/cuda-native/nvjpeg';
import { PreprocError } from '../errors.js';
import type { DeviceResources } from '../gpu/device-resources.js';
import type { Decoder } from '../image.js';
import { decodeBySharp } from './by-sharp.js';
import { containerOf, tooLarge } from './container.js';
import { exifOrientation } from './exif.js';
import type { DecodeSettings } from './settings.js';

/** An upright RGB8 picture in device memory that may be larger than it. */
export interface DevicePicture {
  readonly memory: DeviceMemory;
  readonly width: number;
  readonly height: number;
  readonly pitch: number;
  readonly decoder: Decoder;
}

type Take = (byteLength: number) => Promise<DeviceMemory>;

/**
 * Decodes into memory that `take` gives (in whole words of 4 bytes), upright. When it resolves, the pixels are there in
 * the order of `stream`; when it rejects, some work with that memory may be enqueued.
 *
 * @throws PreprocError as `decodeImage`; CudaError; JpegError `ERR_NVJPEG`
 */
export async function decodeToDevice(
  bytes: Uint8Array,
  settings: DecodeSettings,
  resources: DeviceResources,
  stream: Stream,
  take: Take,
): Promise<DevicePicture> {
  const container = containerOf(bytes);
  let refused: JpegError | undefined;
  if (container === 'JPEG') {
    const picture = await decodeByNvjpeg(bytes, settings, resources, stream, take).catch((error: unknown) => {
      if (!(error instanceof JpegError) || error.code === 'ERR_NVJPEG') throw error;
      refused = error;
    });
    if (picture !== undefined) return picture;
  }
  const image = await decodeBySharp(container, bytes, settings).catch((error: unknown) => {
    throw withoutSharp(error, refused);
  });
  const { width, height, pitch, data } = image;
  const memory = await take(data.byteLength);
  await stream.copyToDevice(memory.slice(0, data.byteLength), data);
  return { memory, width, height, pitch, decoder: 'sharp' };
}

/** Where only nvJPEG looked at a damaged picture, what it said. */
function withoutSharp(error: unknown, refused: JpegError | undefined): unknown {
  const missing = error instanceof PreprocError && error.code === 'ERR_DECODER_UNAVAILABLE';
  if (!missing || refused === undefined || refused.code === 'ERR_JPEG_UNSUPPORTED') return error;
  return new PreprocError('ERR_IMAGE_CORRUPT', `The JPEG image is truncated or damaged: ${refused.message}`, {
    cause: refused,
  });
}

/** Undefined where nvJPEG is missing. @throws JpegError, also for what nvJPEG takes on no version */
function decodeByNvjpeg(
  bytes: Uint8Array,
  { exif, limitInputPixels }: DecodeSettings,
  resources: DeviceResources,
  stream: Stream,
  take: Take,
): Promise<DevicePicture | undefined> {
  return resources.decoders.with(async (decoder) => {
    const { width, height } = await decoder.info(bytes);
    if (width * height > limitInputPixels) throw tooLarge('JPEG', limitInputPixels);
    // No room can be made for it: a height of 0 is allowed where a later segment (DNL) has it.
    if (width * height === 0) return undefined;
    const stored = await take(3 * width * height);
    await decoder.decode(bytes, stored, { stream });
    const orientation = exif ? exifOrientation(bytes) : 1;
    if (orientation === 1) return { memory: stored, width, height, pitch: 3 * width, decoder: 'nvjpeg' };
    const upright = await take(3 * width * height);
    const orienter = await resources.orienter();
    const size = orienter.enqueue(stream, { memory: stored, width, height }, orientation, upright);
    return { memory: upright, ...size, pitch: 3 * size.width, decoder: 'nvjpeg' };
  });
}
