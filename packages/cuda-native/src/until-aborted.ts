import { checkOptions, invalid } from './check.js';

/**
 * Waits for what `wait` begins, or until the signal is aborted: then the promise rejects with its reason, while what was
 * begun goes on.
 */
export async function untilAborted(
  options: { readonly signal?: AbortSignal | undefined },
  wait: () => Promise<void>,
): Promise<void> {
  checkOptions(options);
  const { signal } = options;
  if (signal === undefined) return wait();
  if (!(signal instanceof AbortSignal)) throw invalid('signal', 'AbortSignal', signal);
  signal.throwIfAborted();
  const waiting = wait();
  await new Promise<void>((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    waiting.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
