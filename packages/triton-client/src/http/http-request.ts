import { PendingRequest } from '../pending-request.js';
import { type RetryPolicy, resolveRetry } from '../retry.js';
import { checkSending, type Sending } from '../sending.js';
import type { SubmitOptions } from '../transport.js';
import type { EncodedHttpRequest } from './encode.js';
import type { Exchange } from './exchange.js';

/** An inference request on its way over HTTP. */
export class HttpRequest extends PendingRequest<EncodedHttpRequest, Exchange> {
  declare next: HttpRequest | undefined;
  declare previous: HttpRequest | undefined;
  readonly sending: Sending;
  readonly retry: RetryPolicy;
  /** How often it may still be sent. */
  attemptsLeft: number;

  /** @throws TypeError or RangeError for wrong options */
  constructor(encoded: EncodedHttpRequest, options: SubmitOptions | undefined, retry: RetryPolicy) {
    super(encoded, options);
    this.sending = checkSending(options);
    this.retry = options?.retry === undefined ? retry : resolveRetry(options.retry, retry);
    this.attemptsLeft = this.retry.attempts;
  }

  protected override get unsent(): boolean {
    return this.carrier?.sent !== true;
  }
}
