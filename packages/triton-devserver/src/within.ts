import { setTimeout as pause } from 'node:timers/promises';

/** What a timer of node takes; it ends a longer one at once. */
export const LONGEST_MS: number = 2 ** 31 - 1;

/** Resolves when `work` has ended, or after `ms`, which keep the process alive. Rejects if `work` does, in time. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const late = pause(Math.min(ms, LONGEST_MS), undefined, { signal: over.signal }).catch(() => undefined);
  try {
    await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

/** What `work` comes to, unless the signal comes first. @throws the signal's reason */
export function unless<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const over = () => reject(signal.reason as Error);
    signal.addEventListener('abort', over);
    if (signal.aborted) over();
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', over));
  });
}
