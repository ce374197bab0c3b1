import { ExitCode } from './exit-codes.js';

export type CliErrorCode =
  | 'ERR_CUDA_UNAVAILABLE'
  | 'ERR_FILE_NOT_FOUND'
  | 'ERR_FILE_UNREADABLE'
  | 'ERR_GPU_MISMATCH'
  | 'ERR_IMAGE_CORRUPT'
  | 'ERR_IMAGE_TOO_LARGE'
  | 'ERR_IMAGE_UNSUPPORTED'
  | 'ERR_OUTPUT'
  | 'ERR_IPC_REFUSED'
  | 'ERR_LABELS'
  | 'ERR_MODEL_FAILED'
  | 'ERR_MODEL_NOT_FOUND'
  | 'ERR_MODEL_SHAPE'
  | 'ERR_REGION_LEFT'
  | 'ERR_SELF_CHECK'
  | 'ERR_SERVER_LOST'
  | 'ERR_SERVER_UNREACHABLE'
  | 'ERR_SHM_REFUSED'
  | 'ERR_SHM_RESTRICTED'
  | 'ERR_SHM_SYSTEM'
  | 'ERR_TENSOR_SIZE'
  | 'ERR_TIMEOUT';

/** A failure in the app's own words: the message is the one sentence that the user reads. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: CliErrorCode;

  constructor(code: CliErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Codes, of this app and of the packages below it, that mean: this machine or server lacks what was demanded. */
const environmentCodes: ReadonlySet<string> = new Set([
  'ERR_CUDA_UNAVAILABLE',
  'ERR_NATIVE_UNAVAILABLE',
  'ERR_DECODER_UNAVAILABLE',
  'ERR_GPU_MISMATCH',
  'ERR_IPC_REFUSED',
  'ERR_IPC_UNSUPPORTED',
  'ERR_PID_COLLISION',
  'ERR_SHM_DISABLED',
  'ERR_SHM_FULL',
  'ERR_SHM_NAMESPACE',
  'ERR_SHM_PERMISSION',
  'ERR_SHM_RESTRICTED',
  'ERR_SHM_SYSTEM',
  'ERR_TRITON_NOT_INSTALLED',
  'ERR_SERVER_UNREACHABLE',
]);

export interface Failure {
  readonly code: string;
  /** One line: what is wrong and what to do. */
  readonly sentence: string;
  readonly exitCode: ExitCode;
}

/** What the user is told about an error, and what the process ends with. */
export function describeError(error: unknown): Failure {
  const code = codeOf(error);
  if (code === undefined) {
    return {
      code: 'ERR_INTERNAL',
      sentence: `This is a fault of zerohop, run again with ZEROHOP_DEBUG=1 and report what it prints: ${sentenceOf(error)}`,
      exitCode: ExitCode.failed,
    };
  }
  return {
    code,
    sentence: sentenceOf(error),
    exitCode: environmentCodes.has(code) ? ExitCode.environment : ExitCode.failed,
  };
}

/** The stacks of an error and of all its causes, for `ZEROHOP_DEBUG=1`. */
export function debugTrace(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at !== undefined && parts.length < 10; at = at instanceof Error ? at.cause : undefined) {
    parts.push(at instanceof Error ? (at.stack ?? at.message) : String(at));
  }
  return parts.join('\ncaused by: ');
}

/** The stable `code` of an error, if it has one. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** The message as one line that ends like a sentence. */
export function sentenceOf(error: unknown): string {
  const text = (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ').trim();
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
