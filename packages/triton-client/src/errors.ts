import { status as Status } from '@grpc/grpc-js';

/**
 * The stable code of a {@link TritonError}. Most name the gRPC status of the server's answer. The others:
 * `TRITON_TIMEOUT`, a time limit of this client ran out; `TRITON_CONNECTION_LOST`, the connection or the stream ended
 * before the answer; `TRITON_MALFORMED_RESPONSE`, the answer cannot be read; `TRITON_UNKNOWN`, the server gave a text
 * that this client has no code for.
 */
export type TritonErrorCode =
  | 'TRITON_ABORTED'
  | 'TRITON_ALREADY_EXISTS'
  | 'TRITON_CANCELLED'
  | 'TRITON_CONNECTION_LOST'
  | 'TRITON_DATA_LOSS'
  | 'TRITON_FAILED_PRECONDITION'
  | 'TRITON_INTERNAL'
  | 'TRITON_INVALID_ARGUMENT'
  | 'TRITON_MALFORMED_RESPONSE'
  | 'TRITON_NOT_FOUND'
  | 'TRITON_OUT_OF_RANGE'
  | 'TRITON_PERMISSION_DENIED'
  | 'TRITON_RESOURCE_EXHAUSTED'
  | 'TRITON_TIMEOUT'
  | 'TRITON_UNAUTHENTICATED'
  | 'TRITON_UNAVAILABLE'
  | 'TRITON_UNIMPLEMENTED'
  | 'TRITON_UNKNOWN';

export interface TritonErrorFields {
  readonly code: TritonErrorCode;
  readonly method: string;
  readonly details: string;
  readonly grpcStatus?: number | undefined;
  readonly model?: string | undefined;
  readonly requestId?: string | undefined;
  readonly region?: string | undefined;
  readonly output?: string | undefined;
  readonly requiredByteLength?: number | undefined;
  readonly cause?: unknown;
}

const TRITON_ERROR = Symbol.for('@zerohop/triton-client/TritonError');

/**
 * A request that the server refused, or that got no answer. `message` is for people; act on `code`.
 */
export class TritonError extends Error {
  declare readonly code: TritonErrorCode;
  /** The gRPC status number, where the answer had one: an error on a stream has a text only. */
  declare readonly grpcStatus?: number;
  /** The RPC, such as `ModelInfer`. */
  declare readonly method: string;
  /** The server's own text, or what this client saw. */
  declare readonly details: string;
  declare readonly model?: string;
  declare readonly requestId?: string;
  /** The shared-memory region that the text names. */
  declare readonly region?: string;
  /** The output that did not fit its region; its needed size is `requiredByteLength`. */
  declare readonly output?: string;
  declare readonly requiredByteLength?: number;

  constructor(message: string, fields: TritonErrorFields) {
    const { cause, ...facts } = fields;
    super(message, cause === undefined ? undefined : { cause });
    for (const [name, value] of Object.entries(facts)) {
      // A field that is not known is not there at all.
      if (value !== undefined) Object.defineProperty(this, name, { value, enumerable: true });
    }
  }

  static {
    Object.defineProperty(TritonError.prototype, 'name', { value: 'TritonError' });
    Object.defineProperty(TritonError.prototype, TRITON_ERROR, { value: true });
  }

  /** True for errors of another copy of this package too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && TRITON_ERROR in value;
  }
}

const DISPOSED_ERROR = Symbol.for('@zerohop/triton-client/DisposedError');

/** A call after `close()`. */
export class DisposedError extends Error {
  readonly code = 'ERR_DISPOSED';

  constructor(what: string) {
    super(`${what} is closed`);
  }

  static {
    Object.defineProperty(DisposedError.prototype, 'name', { value: 'DisposedError' });
    Object.defineProperty(DisposedError.prototype, DISPOSED_ERROR, { value: true });
  }

  /** True for errors of another copy of this package too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && DISPOSED_ERROR in value;
  }
}

const CODES: Readonly<Record<number, TritonErrorCode>> = {
  [Status.CANCELLED]: 'TRITON_CANCELLED',
  [Status.UNKNOWN]: 'TRITON_UNKNOWN',
  [Status.INVALID_ARGUMENT]: 'TRITON_INVALID_ARGUMENT',
  [Status.DEADLINE_EXCEEDED]: 'TRITON_TIMEOUT',
  [Status.NOT_FOUND]: 'TRITON_NOT_FOUND',
  [Status.ALREADY_EXISTS]: 'TRITON_ALREADY_EXISTS',
  [Status.PERMISSION_DENIED]: 'TRITON_PERMISSION_DENIED',
  [Status.RESOURCE_EXHAUSTED]: 'TRITON_RESOURCE_EXHAUSTED',
  [Status.FAILED_PRECONDITION]: 'TRITON_FAILED_PRECONDITION',
  [Status.ABORTED]: 'TRITON_ABORTED',
  [Status.OUT_OF_RANGE]: 'TRITON_OUT_OF_RANGE',
  [Status.UNIMPLEMENTED]: 'TRITON_UNIMPLEMENTED',
  [Status.INTERNAL]: 'TRITON_INTERNAL',
  [Status.UNAVAILABLE]: 'TRITON_UNAVAILABLE',
  [Status.DATA_LOSS]: 'TRITON_DATA_LOSS',
  [Status.UNAUTHENTICATED]: 'TRITON_UNAUTHENTICATED',
};

/** What `UNAVAILABLE` means when the connection went away under a call; Triton also uses that status for its queues. */
const CONNECTION_LOST = /connection dropped|stream removed|GOAWAY|socket closed|ECONNRESET|EPIPE/i;
/** What `UNAVAILABLE` says when there was no connection to begin with. */
const NOT_CONNECTED = /no connection established|name resolution failed|ECONNREFUSED|ENOENT|failed to connect/i;

/** The code of a gRPC status; its text decides between a busy server and a lost connection. */
export function codeOfStatus(status: number, details: string): TritonErrorCode {
  if (status === Status.UNAVAILABLE && CONNECTION_LOST.test(details) && !NOT_CONNECTED.test(details)) {
    return 'TRITON_CONNECTION_LOST';
  }
  return CODES[status] ?? 'TRITON_UNKNOWN';
}

/** A status of a call to `address` as the error that the caller sees. */
export function errorOfStatus(
  status: { readonly code: number; readonly details: string },
  context: { readonly method: string; readonly address: string; readonly model?: string; readonly cause?: unknown },
): TritonError {
  const { code: grpcStatus, details } = status;
  const { method, address, model, cause } = context;
  const code = codeOfStatus(grpcStatus, details);
  let message = `${method}: ${details}`;
  if (code === 'TRITON_TIMEOUT') {
    message = `Triton at ${address} did not answer ${method} in time`;
  } else if (code === 'TRITON_CONNECTION_LOST') {
    message = `The connection to Triton at ${address} was lost during ${method}: ${details}`;
  } else if (grpcStatus === Status.UNAVAILABLE && NOT_CONNECTED.test(details)) {
    message = `No Triton server answers at ${address} (${reasonOf(details)}); start it there or give its gRPC address`;
  }
  return new TritonError(message, { code, grpcStatus, method, details, model, ...partsOfText(details), cause });
}

/** The operating system's part of grpc-js's text. */
function reasonOf(details: string): string {
  return /Last error: (?:Error: )?(.*?)\.?(?: Resolution note:.*)?$/.exec(details)?.[1] ?? details;
}

/** The names and sizes that Triton's texts carry. */
export function partsOfText(text: string): { region?: string; output?: string; requiredByteLength?: number } {
  const size = /for output '(.*?)' \(\d+ bytes\) should be at least (\d+) bytes/.exec(text);
  if (size?.[1] !== undefined) return { output: size[1], requiredByteLength: Number(size[2]) };
  const region = /(?:shared memory region:? |region named |for region )'([^']*)'/i.exec(text)?.[1];
  return region === undefined ? {} : { region };
}
