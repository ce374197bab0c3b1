import { CliError, codeOf, sentenceOf } from './errors.js';

/** Errors of the packages below in words that say what to do on the command line. What needs none comes back as it is. */

/** What the words name. */
export interface Context {
  readonly url: string;
  readonly model: string;
  readonly timeoutMs: number;
  /** Where the server's log is, as part of a sentence. */
  readonly serverLog: () => string;
}

/** For a server that does not describe itself as Triton does. */
export function noServer(url: string, cause?: unknown): unknown {
  // A server that does answer, but keeps this call behind a header.
  if (cause instanceof Error && /restricted, expecting header/.test(cause.message)) return cause;
  if (cause !== undefined && codeOf(cause)?.startsWith('TRITON_') !== true) return cause;
  return new CliError(
    'ERR_SERVER_UNREACHABLE',
    `No Triton server answers at ${url}; start it or correct --url, or leave --url out to have one started here.`,
    { cause },
  );
}

const unreachableCodes: ReadonlySet<string> = new Set([
  'TRITON_UNAVAILABLE',
  'TRITON_TIMEOUT',
  'TRITON_CONNECTION_LOST',
]);

/** For a model that could not be asked about. */
export function modelUnread(url: string, cause: unknown): unknown {
  return unreachableCodes.has(codeOf(cause) ?? '') ? noServer(url, cause) : cause;
}

/** For a pool that could not be opened. */
export function poolUnopened(cause: unknown, { model, serverLog }: Pick<Context, 'model' | 'serverLog'>): unknown {
  const code = codeOf(cause) ?? '';
  switch (code) {
    case 'ERR_IPC_REFUSED':
    case 'ERR_SHM_REFUSED':
      return new CliError(
        code,
        `The server can't use the memory of this run, look at ${serverLog()} or choose another --transport: ${sentenceOf(cause)}`,
        { cause },
      );
    case 'ERR_GPU_MISMATCH':
      return new CliError(
        'ERR_GPU_MISMATCH',
        "It is not settled which of the server's GPUs is this one; give the server's metrics address with --metrics-url, or use --transport system.",
        { cause },
      );
    case 'ERR_SHM_RESTRICTED':
      return new CliError(
        'ERR_SHM_RESTRICTED',
        'The server keeps its shared-memory calls behind a header; allow them with its --grpc-restricted-protocol, or use --transport bytes.',
        { cause },
      );
    case 'ERR_SHM_SYSTEM':
      return sharedMemoryClosed((cause as Error).message, cause);
    case 'ERR_TENSOR_SIZE':
      return new CliError(
        'ERR_TENSOR_SIZE',
        `Model "${model}" has a tensor that can't be held here (${withoutAdvice(cause)}); choose another with --model.`,
        { cause },
      );
    default:
      return cause;
  }
}

/** What the pool found, without the options that it would have its callers set. */
function withoutAdvice(cause: unknown): string {
  return (cause as Error).message.replace(/: (?:give|open|send) .*$/s, '');
}

/** For a /dev/shm in which nothing can be made. */
export function sharedMemoryClosed(why: string, cause: unknown): CliError {
  return new CliError(
    'ERR_SHM_SYSTEM',
    `This user can't make shared memory in /dev/shm (${why}); give it write permission there (chmod 1777 /dev/shm, or mount it for writing), or name a server with --url and use --transport bytes.`,
    { cause },
  );
}

/** For a request without a usable answer. */
export function requestFailed(cause: unknown, { model, url, timeoutMs, serverLog }: Context): unknown {
  const words = (cause as Error).message;
  switch (codeOf(cause) ?? '') {
    case 'TRITON_TIMEOUT':
      return new CliError(
        'ERR_TIMEOUT',
        `Model "${model}" did not answer within ${timeoutMs} ms; give it longer with --timeout, or look at ${serverLog()}.`,
        { cause },
      );
    case 'TRITON_CONNECTION_LOST':
      return new CliError(
        'ERR_SERVER_LOST',
        `The server at ${url} went away during a request; look at ${serverLog()} and run again.`,
        { cause },
      );
    case 'TRITON_INTERNAL':
    case 'TRITON_INVALID_ARGUMENT':
    case 'TRITON_UNKNOWN':
      return new CliError('ERR_MODEL_FAILED', `Model "${model}" failed, look at ${serverLog()}: ${sentenceOf(cause)}`, {
        cause,
      });
    case 'ERR_ANSWER_MISMATCH':
      return otherThanDeclared(model, words, cause);
    case 'ERR_OUTPUT_TOO_LARGE':
      return otherThanDeclared(model, 'an output is larger', cause);
    default:
      return cause;
  }
}

function otherThanDeclared(model: string, what: string, cause: unknown): CliError {
  return new CliError(
    'ERR_MODEL_FAILED',
    `Model "${model}" answers otherwise than it declares (${what}); correct its configuration, or choose another with --model.`,
    { cause },
  );
}

/** For an answer that no working model gives. */
export function answerUnusable({ model, serverLog }: Context, what: string): CliError {
  return new CliError(
    'ERR_MODEL_FAILED',
    `Model "${model}" gave an answer that can't be right (${what}); look at ${serverLog()} and at the model.`,
  );
}
