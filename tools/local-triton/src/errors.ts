/** What can go wrong with a local server; the message says what is wrong and what to do. */
export type LocalTritonErrorCode =
  /** No server here: `npm run setup` has not run, or `ZEROHOP_TRITON_HOME` names a folder without one. */
  | 'ERR_TRITON_NOT_INSTALLED'
  /** The server ended, or was not ready in time. `log` holds the end of what it printed. */
  | 'ERR_TRITON_START'
  /** /dev/shm is too small or too full for what the server and its models need. */
  | 'ERR_SHM_FULL';

export class LocalTritonError extends Error {
  readonly code: LocalTritonErrorCode;
  /** The end of the server's log, when it got as far as writing one. */
  readonly log: string;

  constructor(code: LocalTritonErrorCode, message: string, options: { cause?: unknown; log?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'LocalTritonError';
    this.code = code;
    this.log = options.log ?? '';
  }
}
