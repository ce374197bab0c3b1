/** Work that ends with a caller's signal, or when its time is over. */

export interface TimeLimit {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** What the signal is aborted with when the time is over. */
  tooLate(): unknown;
}

/**
 * Runs `work` with a signal of its own. Not by `AbortSignal.any`: Node 20 collects the signals that it was made of, those of
 * `AbortSignal.timeout` above all, and then it is never aborted.
 */
export async function withTimeLimit<T>(
  { timeoutMs, signal, tooLate }: TimeLimit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const end = new AbortController();
  const onAbort = () => end.abort(signal?.reason);
  const timer = setTimeout(() => end.abort(tooLate()), timeoutMs);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await work(end.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}
