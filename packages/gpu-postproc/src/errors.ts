/** The codes of {@link PostprocError}; match on these, not on the text. */
export type PostprocErrorCode =
  /** A tensor or block of another shape, datatype or size than the head needs. */
  | 'ERR_TENSOR_MISMATCH'
  /** Used after `close()`. */
  | 'ERR_DISPOSED';

/** Every failure of this package that is not a wrong argument (those are `TypeError` and `RangeError`). */
export class PostprocError extends Error {
  readonly code: PostprocErrorCode;

  constructor(code: PostprocErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PostprocError';
    this.code = code;
  }
}
