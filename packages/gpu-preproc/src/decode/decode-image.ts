import type { Device, DeviceMemory } from '@zerohop/cuda-native';
import { checkFields, fieldsOf, wrongType } from '../arguments.js';
import { DeviceResources } from '../gpu/device-resources.js';
import { Image } from '../image.js';
import { decodeBySharp } from './by-sharp.js';
import { containerOf } from './container.js';
import { type DecodeSettings, readDecodeSettings } from './settings.js';
import { decodeToDevice } from './to-device.js';

export interface DecodeOptions {
  /** Turns the picture upright by its EXIF orientation. @defaultValue true */
  readonly exif?: boolean;
  /** A picture with more pixels is refused before it is decoded. @defaultValue 67108864 (8192 × 8192) */
  readonly limitInputPixels?: number;
  /** Decodes into memory of this GPU, JPEGs by nvJPEG where that is there. @defaultValue none: into host memory */
  readonly device?: Device;
}

const OPTIONS = fieldsOf<DecodeOptions>({ exif: true, limitInputPixels: true, device: true });

/**
 * Decodes a JPEG, PNG, WebP or TIFF into upright 8-bit RGB in memory of its own: of the host, or of `device`. Grey,
 * palette, CMYK and 16-bit pictures become RGB; transparency is blended over black; of an animation or of several pages
 * the first is taken. Embedded colour profiles are ignored and CMYK is converted by (1 − ink)·(1 − black), as OpenCV,
 * Pillow and (for the profiles) nvJPEG do: models were trained on such numbers. Tests compare with Pillow: within 2
 * levels. What the decoder notices is refused; a JPEG has no checksum, so changed bytes inside one may go unnoticed.
 * `image.decoder` says which one it was; they may differ by some levels in pixels of JPEGs with subsampled colours.
 *
 * By sharp the work runs on libuv's thread pool (4 threads unless `UV_THREADPOOL_SIZE` says otherwise), by nvJPEG on
 * threads of cuda-native and the device, never on the JS thread. What nvJPEG does not take sharp decodes, and it is
 * copied to the device. The bytes must not change until the promise settles.
 * @throws TypeError, RangeError
 * @throws PreprocError ERR_DECODER_UNAVAILABLE, ERR_IMAGE_UNSUPPORTED, ERR_IMAGE_CORRUPT, ERR_IMAGE_TOO_LARGE
 * @throws CudaError, JpegError `ERR_NVJPEG` with `device`
 */
export async function decodeImage(bytes: Uint8Array, options: DecodeOptions = {}): Promise<Image> {
  if (!(bytes instanceof Uint8Array)) throw wrongType('Uint8Array', 'bytes', bytes);
  checkFields('options', options, OPTIONS);
  const settings = readDecodeSettings(options);
  const { device } = options;
  if (device === undefined) return decodeBySharp(containerOf(bytes), bytes, settings);
  if (typeof device !== 'object' || device === null || !('createStream' in device))
    throw wrongType('Device', 'device', device);
  const resources = DeviceResources.hold(device);
  try {
    return await decodeOwned(bytes, settings, resources);
  } finally {
    resources.releaseSoon();
  }
}

/** Into an allocation of the picture's own. */
async function decodeOwned(bytes: Uint8Array, settings: DecodeSettings, resources: DeviceResources): Promise<Image> {
  const { device } = resources;
  const stream = resources.takeStream();
  const made: DeviceMemory[] = [];
  const free = (keep?: DeviceMemory) =>
    Promise.all(made.filter((memory) => memory !== keep).map((memory) => memory.close()));
  try {
    const picture = await decodeToDevice(bytes, settings, resources, stream, async (byteLength) => {
      const memory = await device.alloc(Math.ceil(byteLength / 4) * 4);
      made.push(memory);
      return memory;
    });
    await stream.done();
    await free(picture.memory);
    const { width, height, pitch, memory, decoder } = picture;
    return new Image({ width, height, format: 'RGB8', pitch, memory }, decoder);
  } catch (error) {
    // Closing waits for what was enqueued with it.
    await free();
    throw error;
  } finally {
    resources.giveStream(stream);
  }
}
