import { abortSignal, fieldsOf, integer, milliseconds, object, onlyFields, typeError } from './check.js';
import type { Compression } from './grpc/channel-options.js';
import { checkCompression } from './grpc/grpc-request.js';
import { checkHeaders } from './headers.js';
import { type RetryPolicy, resolveRetry } from './retry.js';
import type { SubmitOptions } from './transport.js';
import type { CallHeaders, StreamOptions } from './types/request.js';

/** The options of a stream, checked. */
export interface CheckedStreamOptions {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
  /** Undefined: `'detach'` when a request names a region. */
  readonly onAbort: 'detach' | 'cancel' | undefined;
  readonly detachLimitMs: number;
  readonly headers: CallHeaders;
  readonly compression: Compression | undefined;
  readonly retry: RetryPolicy;
  readonly maxOutstanding: number;
  readonly onError: 'throw' | 'yield';
}

const FIELDS = fieldsOf<StreamOptions>({
  signal: true,
  timeoutMs: true,
  onAbort: true,
  detachLimitMs: true,
  headers: true,
  compression: true,
  retry: true,
  maxOutstanding: true,
  onError: true,
});

/** @throws TypeError or RangeError for wrong options */
export function checkStreamOptions(options: StreamOptions & SubmitOptions, retry: RetryPolicy): CheckedStreamOptions {
  const { traceHeaders, ...given } = object(options, 'options');
  onlyFields(given, 'options', FIELDS);
  const { signal, timeoutMs, onAbort, onError = 'throw' } = given;
  if (timeoutMs !== undefined) integer(milliseconds(timeoutMs, 'timeoutMs'), 'timeoutMs', 1);
  if (signal !== undefined) abortSignal(signal, 'signal');
  if (onAbort !== undefined && onAbort !== 'detach' && onAbort !== 'cancel') {
    throw typeError("'detach' or 'cancel'", 'onAbort', onAbort);
  }
  if (onError !== 'throw' && onError !== 'yield') throw typeError("'throw' or 'yield'", 'onError', onError);
  return {
    signal,
    timeoutMs,
    onAbort,
    detachLimitMs: milliseconds(options.detachLimitMs ?? 60_000, 'detachLimitMs'),
    headers: { ...checkHeaders(options.headers ?? {}, 'headers'), ...traceHeaders },
    compression: checkCompression(options.compression),
    retry: options.retry === undefined ? retry : resolveRetry(options.retry, retry),
    maxOutstanding: integer(options.maxOutstanding ?? 16, 'maxOutstanding', 1),
    onError,
  };
}
