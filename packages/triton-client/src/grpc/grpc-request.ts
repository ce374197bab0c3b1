import { typeError } from '../check.js';
import { checkHeaders } from '../headers.js';
import { PendingRequest } from '../pending-request.js';
import { type RetryPolicy, resolveRetry } from '../retry.js';
import type { SubmitOptions } from '../transport.js';
import type { CallHeaders } from '../types/request.js';
import type { Carrier } from './carrier.js';
import type { Compression } from './channel-options.js';
import type { EncodedRequest } from './encode.js';

/** Why a request goes as a unary call: a lane's headers and compression are fixed when it opens. */
export type UnaryReason = 'headers' | 'compression' | 'trace' | 'forbidden';

/** A request on its way over gRPC. */
export class GrpcRequest extends PendingRequest<EncodedRequest, Carrier> {
  declare next: GrpcRequest | undefined;
  declare previous: GrpcRequest | undefined;
  /** Undefined for one that goes on a lane. */
  unary: UnaryReason | undefined;
  readonly headers: CallHeaders | undefined;
  readonly compression: Compression | undefined;
  readonly retry: RetryPolicy;
  /** How often it may still be sent. */
  attemptsLeft: number;

  /** @throws TypeError or RangeError for wrong options */
  constructor(encoded: EncodedRequest, options: SubmitOptions | undefined, retry: RetryPolicy) {
    super(encoded, options);
    this.unary = undefined;
    this.headers = undefined;
    this.compression = undefined;
    this.retry = retry;
    if (options !== undefined) {
      const { headers, traceHeaders } = options;
      if (options.retry !== undefined) this.retry = resolveRetry(options.retry, retry);
      this.compression = checkCompression(options.compression);
      if (headers !== undefined && Object.keys(checkHeaders(headers, 'headers')).length > 0) this.unary = 'headers';
      else if (this.compression !== undefined) this.unary = 'compression';
      else if (traceHeaders !== undefined) this.unary = 'trace';
      if (this.unary !== undefined) this.headers = { ...headers, ...traceHeaders };
    }
    this.attemptsLeft = this.retry.attempts;
  }

  protected override get unsent(): boolean {
    return this.carrier?.sent !== true;
  }
}

/** @throws TypeError for another value than the protocol has */
export function checkCompression(compression: unknown): Compression | undefined {
  if (compression === undefined || compression === 'none') return undefined;
  if (compression === 'gzip' || compression === 'deflate') return compression;
  throw typeError("'none', 'gzip' or 'deflate'", 'compression', compression);
}
