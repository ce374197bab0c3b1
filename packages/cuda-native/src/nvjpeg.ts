export { type DecodeOptions, JpegDecoder } from './jpeg-decoder.js';
export { type EncodeOptions, JpegEncoder } from './jpeg-encoder.js';
export type { JpegSubsampling, PixelFormat } from './jpeg-format.js';
export type { DecodedImage, JpegInfo } from './jpeg-info.js';
export { type NvjpegAvailability, nvjpegAvailability } from './nvjpeg-availability.js';
export {
  JpegError,
  type JpegErrorCode,
  NvjpegUnavailableError,
  type NvjpegUnavailableReason,
} from './nvjpeg-errors.js';
