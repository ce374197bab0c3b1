import { NativeUnavailableError } from './errors.js';
import { binding } from './native/load.js';
import { NvjpegUnavailableError, type NvjpegUnavailableReason, nvjpegUnavailableMessage } from './nvjpeg-errors.js';

/** Whether nvJPEG is here, and if not, why and what to do. */
export type NvjpegAvailability =
  | {
      readonly available: true;
      /** The library's own version, such as `13.0.4`. */
      readonly version: string;
      /** The file that was loaded. */
      readonly library: string;
    }
  | {
      readonly available: false;
      readonly code: 'ERR_NVJPEG_UNAVAILABLE';
      readonly reason: NvjpegUnavailableReason;
      /** One sentence that says what is missing and what to do. */
      readonly message: string;
      /** One line for each library that did not load. */
      readonly tried: readonly string[];
    };

/** The library to load instead of the system's, from the environment variable `ZEROHOP_LIBNVJPEG`. */
export function nvjpegLibrary(): string {
  return process.env.ZEROHOP_LIBNVJPEG ?? '';
}

/** Whether decoders may use the device's JPEG engines, from the environment variable `ZEROHOP_NVJPEG_HARDWARE`. */
export function nvjpegHardware(): boolean {
  return process.env.ZEROHOP_NVJPEG_HARDWARE !== '0';
}

/**
 * Says whether the nvJPEG library is here; whether CUDA is, `availability()` says. Never throws. The first call loads the
 * library on the calling thread, which takes some milliseconds; `JpegDecoder.create` does it off the JS thread. What was
 * found stays until the process ends.
 */
export function nvjpegAvailability(): NvjpegAvailability {
  try {
    const { version, path } = binding().nvjpegLoad(nvjpegLibrary());
    return { available: true, version, library: path };
  } catch (error) {
    const code = 'ERR_NVJPEG_UNAVAILABLE';
    if (error instanceof NvjpegUnavailableError) {
      const { reason, message, tried } = error;
      return { available: false, code, reason, message, tried };
    }
    const reason = error instanceof NativeUnavailableError ? 'no-prebuild' : 'no-library';
    const what = error instanceof Error ? error.message : String(error);
    return { available: false, code, reason, message: nvjpegUnavailableMessage(reason, what), tried: [] };
  }
}
