/** Waiting with limits, and how a refused request ended. */
import { MAX_TIMER_MS } from './check.js';
import type { ClientCall, Settlement } from './client.js';
import { PoolError } from './errors.js';

export interface Limits {
  readonly signal?: AbortSignal | undefined;
  /** On the clock of `performance.now()`. */
  readonly deadline?: number | undefined;
}

/**
 * Waits for `work`, but no longer than the limits allow. The work itself goes on.
 * @throws `signal.reason`, or PoolError ERR_POOL_TIMEOUT
 */
export function within<T>(work: Promise<T>, { signal, deadline }: Limits): Promise<T> {
  if (signal === undefined && deadline === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal?.reason as Error);
    const timer = deadline === undefined ? undefined : setTimeout(() => reject(tooLate()), remainingMs(deadline));
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    });
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

const remainingMs = (deadline: number) => Math.min(Math.max(0, deadline - performance.now()), MAX_TIMER_MS);

const tooLate = () =>
  new PoolError('ERR_POOL_TIMEOUT', 'The request was not sent: work on its blocks did not finish within timeoutMs');

/** Aborted with `signal`, if there is one, or when the time is over. */
export function limited(ms: number, signal: AbortSignal | undefined): AbortSignal {
  const limit = AbortSignal.timeout(ms);
  // Without a listener of its own, Node 20 collects it before its time.
  limit.addEventListener('abort', () => undefined);
  return signal === undefined ? limit : AbortSignal.any([signal, limit]);
}

/** @throws `signal.reason` when it is aborted */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw signal.reason;
}

const known = (settlement: unknown): Settlement =>
  settlement === 'answered' || settlement === 'not-sent' ? settlement : 'lost';

/** How a call ended for its memory. Never rejects: where a client does not say, or says what is none, nothing is known. */
export const settlementOf = (call: ClientCall): Promise<Settlement> =>
  Promise.resolve<unknown>(call.settled).then(known, () => 'lost');

/**
 * How a rejected call ended for its memory, or undefined when the server is still at it: a client settles a call before
 * or as it rejects, unless the call was detached.
 */
export function settlementNow(call: ClientCall): Promise<Settlement | undefined> {
  return Promise.race([settlementOf(call), new Promise<undefined>((resolve) => setImmediate(resolve, undefined))]);
}
