import { status as Grpc } from '@grpc/grpc-js';

/** Triton's own codes of an error (tritonserver.h). */
export type StatusCode =
  | 'UNKNOWN'
  | 'INTERNAL'
  | 'NOT_FOUND'
  | 'INVALID_ARG'
  | 'UNAVAILABLE'
  | 'UNSUPPORTED'
  | 'ALREADY_EXISTS'
  | 'CANCELLED';

/** What each code is on the wire: verified with a model that gives each of them, on 2.51 over gRPC and HTTP. */
const ON_THE_WIRE: Readonly<Record<StatusCode, { readonly grpc: number; readonly http: number }>> = {
  UNKNOWN: { grpc: Grpc.UNKNOWN, http: 400 },
  INTERNAL: { grpc: Grpc.INTERNAL, http: 500 },
  NOT_FOUND: { grpc: Grpc.NOT_FOUND, http: 404 },
  INVALID_ARG: { grpc: Grpc.INVALID_ARGUMENT, http: 400 },
  UNAVAILABLE: { grpc: Grpc.UNAVAILABLE, http: 503 },
  UNSUPPORTED: { grpc: Grpc.UNIMPLEMENTED, http: 501 },
  ALREADY_EXISTS: { grpc: Grpc.ALREADY_EXISTS, http: 400 },
  CANCELLED: { grpc: Grpc.CANCELLED, http: 400 },
};

/** All of them. */
export const STATUS_CODES: readonly string[] = Object.keys(ON_THE_WIRE);

/** An error that the server answers with. A model throws one to choose its code; anything else it throws is INTERNAL. */
export class ServerError extends Error {
  readonly code: StatusCode;

  /** @param options - `cause` is what the client does not hear, such as why a configuration could not be read */
  constructor(code: StatusCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ServerError';
    this.code = code;
  }

  get grpcStatus(): number {
    return ON_THE_WIRE[this.code].grpc;
  }

  get httpStatus(): number {
    return ON_THE_WIRE[this.code].http;
  }
}

/**
 * An error of a model as a ServerError, when it has one of Triton's codes as its `code`: models in a folder need not import
 * this package for it.
 */
export function serverErrorOf(error: unknown): ServerError | undefined {
  const code = attempt(() => (error instanceof Error ? (error as { readonly code?: unknown }).code : undefined));
  if (typeof code !== 'string' || !Object.hasOwn(ON_THE_WIRE, code)) return undefined;
  return new ServerError(code as StatusCode, textOf(error));
}

/**
 * What whatever was thrown says, in well-formed Unicode: of half a surrogate pair grpc-js can make no header. Never throws.
 *
 * @param named - whether an error's name stands before it
 */
export function textOf(error: unknown, named = false): string {
  const text = attempt(() => {
    if (!(error instanceof Error)) return String(error);
    return named ? `${error.name}: ${error.message}` : `${error.message}`;
  });
  return Buffer.from(text ?? 'an error without a text', 'utf8').toString('utf8');
}

/** For values of models, whose getters and traps may throw: undefined when they do. */
export function attempt<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

export const invalid = (message: string) => new ServerError('INVALID_ARG', message);
export const internal = (message: string) => new ServerError('INTERNAL', message);
export const notFound = (message: string) => new ServerError('NOT_FOUND', message);
export const unavailable = (message: string) => new ServerError('UNAVAILABLE', message);
export const unsupported = (message: string) => new ServerError('UNSUPPORTED', message);
