import { fieldsOf, integer, milliseconds, typeError } from './check.js';
import type { RetryOptions } from './types/request.js';

/** Checked retry options. */
export interface RetryPolicy {
  /** At least 1: the first. */
  readonly attempts: number;
  readonly delayMs: number;
  readonly onUnknownRegion: RetryOptions['onUnknownRegion'];
}

export const RETRY_FIELDS = fieldsOf<RetryOptions>({ attempts: true, delayMs: true, onUnknownRegion: true });
const ONCE: RetryPolicy = { attempts: 1, delayMs: 200, onUnknownRegion: undefined };

/**
 * @param base - what an option that is absent means
 * @throws TypeError or RangeError for wrong options
 */
export function resolveRetry(options: RetryOptions, base: RetryPolicy = ONCE): RetryPolicy {
  if (typeof options !== 'object' || options === null) throw typeError('object', 'retry', options);
  const { onUnknownRegion = base.onUnknownRegion } = options;
  if (onUnknownRegion !== undefined && typeof onUnknownRegion !== 'function') {
    throw typeError('function', 'retry.onUnknownRegion', onUnknownRegion);
  }
  return {
    attempts: integer(options.attempts ?? base.attempts, 'retry.attempts', 1),
    delayMs: milliseconds(options.delayMs ?? base.delayMs, 'retry.delayMs'),
    onUnknownRegion,
  };
}
