import { status as Status } from '@grpc/grpc-js';
import { withAdvice } from './advice.js';
import { tlsAdvice } from './tls-errors.js';

/**
 * The stable code of a {@link TritonError}. Most name the gRPC status of the server's answer. The others:
 * `TRITON_TIMEOUT`, a time limit of this client ran out; `TRITON_CONNECTION_LOST`, the connection or the stream ended
 * before the answer; `TRITON_MALFORMED_RESPONSE`, the answer cannot be read; `TRITON_REGION_OVERWRITTEN`, a request
 * whose outputs lie in regions got several answers; `TRITON_TLS`, the TLS handshake failed; `TRITON_UNKNOWN`, the server
 * gave a text that this client has no code for; `TRITON_SHM_KEY_IN_USE` and `TRITON_UNSAFE_REQUEST`, this client did not
 * send it, since servers are harmed by it.
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
  | 'TRITON_REGION_OVERWRITTEN'
  | 'TRITON_RESOURCE_EXHAUSTED'
  | 'TRITON_SHM_KEY_IN_USE'
  | 'TRITON_TIMEOUT'
  | 'TRITON_TLS'
  | 'TRITON_UNAUTHENTICATED'
  | 'TRITON_UNAVAILABLE'
  | 'TRITON_UNIMPLEMENTED'
  | 'TRITON_UNKNOWN'
  | 'TRITON_UNSAFE_REQUEST';

export interface TritonErrorFields {
  readonly code: TritonErrorCode;
  readonly method: string;
  readonly details: string;
  readonly grpcStatus?: number | undefined;
  readonly httpStatus?: number | undefined;
  readonly model?: string | undefined;
  readonly requestId?: string | undefined;
  readonly region?: string | undefined;
  readonly output?: string | undefined;
  readonly requiredByteLength?: number | undefined;
  readonly didNotRun?: true | undefined;
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
  /** The HTTP status, where the call went over HTTP and was answered. */
  declare readonly httpStatus?: number;
  /** The RPC, such as `ModelInfer`; over HTTP the RPC that does the same. */
  declare readonly method: string;
  /** The server's own text, or what this client saw. */
  declare readonly details: string;
  declare readonly model?: string;
  declare readonly requestId?: string;
  /** The name of the shared-memory region that the text is about, or else the call. */
  declare readonly region?: string;
  /** The output that did not fit its region; its needed size is `requiredByteLength`. */
  declare readonly output?: string;
  declare readonly requiredByteLength?: number;
  /** There where it is proven that the model did not run, so that the request may be sent again. */
  declare readonly didNotRun?: true;

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

/** How grpc-js begins what it says of a call whose stream ended without a status, as that of a dying server may. */
const STREAM_ENDED = /^Received RST_STREAM with code \d/;

/** The code of a gRPC status; its text decides between a busy server and a lost connection. */
export function codeOfStatus(status: number, details: string): TritonErrorCode {
  if (status === Status.UNAVAILABLE && CONNECTION_LOST.test(details) && !NOT_CONNECTED.test(details)) {
    return 'TRITON_CONNECTION_LOST';
  }
  if (status === Status.INTERNAL && STREAM_ENDED.test(details)) return 'TRITON_CONNECTION_LOST';
  return CODES[status] ?? 'TRITON_UNKNOWN';
}

/** A status of a call to `address` as the error that the caller sees. */
export function errorOfStatus(
  status: { readonly code: number; readonly details: string },
  context: {
    readonly method: string;
    readonly address: string;
    readonly model?: string | undefined;
    readonly region?: string | undefined;
    readonly cause?: unknown;
  },
): TritonError {
  const { code: grpcStatus, details } = status;
  const { method, address, model, region, cause } = context;
  let code = codeOfStatus(grpcStatus, details);
  let message = `${method}: ${withAdvice(details)}`;
  let didNotRun: true | undefined;
  if (code === 'TRITON_TIMEOUT') {
    message = `Triton at ${address} did not answer ${method} in time`;
  } else if (code === 'TRITON_CONNECTION_LOST') {
    message = `The connection to Triton at ${address} was lost during ${method}: ${details}`;
  } else if (grpcStatus === Status.UNAVAILABLE && NOT_CONNECTED.test(details)) {
    didNotRun = true;
    const reason = reasonOf(details);
    const advice = address.startsWith('grpcs:') ? tlsAdvice(reason) : undefined;
    if (advice !== undefined) {
      code = 'TRITON_TLS';
      message = `No TLS connection to Triton at ${address} (${reason}): ${advice}`;
    } else if (reason.startsWith('Failed to connect')) {
      message = `What answers at ${address} ends the connection: no gRPC server, or one that wants TLS (grpcs://)`;
    } else {
      message = `No Triton server answers at ${address} (${reason}); start it there or give its gRPC address`;
    }
  }
  return new TritonError(message, {
    code,
    grpcStatus,
    method,
    details,
    model,
    region,
    ...partsOfText(details),
    didNotRun,
    cause,
  });
}

/** OpenSSL's texts end with a line break. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** The operating system's part of grpc-js's text. */
function reasonOf(details: string): string {
  const line = oneLine(details);
  return /Last error: (?:Error: )?(.*?)\s?\.?(?: Resolution note:.*)?$/.exec(line)?.[1] ?? line;
}

/** It opens or measures the object, and names that: its key. */
const OF_KEY = /^(?:Unable to open|Invalid) shared memory region: '/;
const OUTPUT_SIZE = /for output '(.*?)' \(\d+ bytes\) should be at least (\d+) bytes/s;
/** A name may have any characters, so that its end is where the server's own words go on. */
const REGION =
  /(?:shared memory region:? |region named |for region )'(.*?)'(?=$|:|,| - | already in | is registered as | with key ')/is;

/** The names and sizes that Triton's texts carry. */
export function partsOfText(text: string): { region?: string; output?: string; requiredByteLength?: number } {
  const size = OUTPUT_SIZE.exec(text);
  if (size?.[1] !== undefined) return { output: size[1], requiredByteLength: Number(size[2]) };
  const region = OF_KEY.test(text) ? undefined : REGION.exec(text)?.[1];
  return region === undefined ? {} : { region };
}
