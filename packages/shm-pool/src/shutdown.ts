/** Ends a pool when the process is told to end. */
import type { TensorPool } from './pool.js';

export interface ShutdownOptions {
  /** @defaultValue ['SIGINT', 'SIGTERM'] */
  readonly signals?: readonly NodeJS.Signals[];
  /** How long leases may take to come back before they are revoked, in milliseconds. @defaultValue 5000 */
  readonly timeoutMs?: number;
}

/**
 * Closes the pool on a signal, then lets the signal end the process as it would have. A second signal ends it at once.
 * The only thing in this package that installs signal handlers; returns what removes them again.
 */
export function installShutdown(pool: TensorPool, options: ShutdownOptions = {}): () => void {
  const { signals = ['SIGINT', 'SIGTERM'], timeoutMs = 5000 } = options;
  const remove = () => {
    for (const signal of signals) process.removeListener(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    // From here on the signal has its default effect again.
    remove();
    const end = () => process.kill(process.pid, signal);
    pool.close({ timeoutMs }).then(end, end);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return remove;
}
