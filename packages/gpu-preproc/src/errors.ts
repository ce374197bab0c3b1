/** The codes of {@link PreprocError}; match on these, not on the text. */
export type PreprocErrorCode =
  /** sharp, the optional decoder, is not installed or does not load. */
  | 'ERR_DECODER_UNAVAILABLE'
  /** The bytes are of no format that is decoded: JPEG, PNG, WebP or TIFF. */
  | 'ERR_IMAGE_UNSUPPORTED'
  /** The bytes are of a known format, but truncated or damaged. */
  | 'ERR_IMAGE_CORRUPT'
  /** More pixels than `limitInputPixels`. */
  | 'ERR_IMAGE_TOO_LARGE'
  /** `resize: 'none'` and an image that has not the target's size. */
  | 'ERR_IMAGE_SIZE'
  /** A tensor or block of another shape, datatype or size than is written here. */
  | 'ERR_TENSOR_MISMATCH'
  /** The file with the kernels' code is not in the package. */
  | 'ERR_KERNELS_MISSING'
  /** Used after `close()`. */
  | 'ERR_DISPOSED';

/** Every failure of this package that is not a wrong argument (those are `TypeError` and `RangeError`). */
export class PreprocError extends Error {
  readonly code: PreprocErrorCode;

  constructor(code: PreprocErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PreprocError';
    this.code = code;
  }
}
