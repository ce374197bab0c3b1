/** Asking a server again and again, with a back-off. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isInUse, isTimeout, isUnreachable } from './server-texts.js';

/** Back-off between polls, in milliseconds: from 1, doubling, to 50. */
const nextDelay = (delayMs: number) => Math.min(delayMs * 2, 50);

/**
 * Asks until it is so, also after calls that met a request in flight or had no answer in time, and while a server is away
 * for no longer than `awayMs`.
 * @throws what the server refuses, or that it is away; `signal.reason` while it is there
 */
export async function poll(signal: AbortSignal, isSo: () => Promise<boolean>, awayMs: number): Promise<void> {
  let delayMs = 1;
  let away: { readonly until: number; readonly error: unknown } | undefined;
  for (;;) {
    try {
      if (await isSo()) return;
      away = undefined;
    } catch (error) {
      if (isInUse(error) || isTimeout(error)) away = undefined;
      else if (signal.aborted && away !== undefined) throw away.error;
      else {
        away = { until: away?.until ?? performance.now() + awayMs, error };
        if (!isUnreachable(error) || performance.now() >= away.until) throw error;
      }
    }
    delayMs = await pause(delayMs, signal);
    if (signal.aborted) throw away?.error ?? signal.reason;
  }
}

/** @returns the next delay */
export async function pause(delayMs: number, signal: AbortSignal): Promise<number> {
  // An abort ends the pause early; the caller looks at the signal.
  await sleep(delayMs, undefined, { signal }).catch(() => undefined);
  return nextDelay(delayMs);
}
