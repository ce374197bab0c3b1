/** Ends pools when the process is told to end. */
import { constants } from 'node:os';
import { checkedMs, checkFields, fieldsOf } from './check.js';
import { outOfRange, wrongType } from './errors.js';
import type { TensorPool } from './pool.js';
import { within } from './settle.js';

export interface ShutdownOptions {
  /** @defaultValue ['SIGINT', 'SIGTERM'] */
  readonly signals?: readonly NodeJS.Signals[];
  /** How long leases may take to come back before they are revoked, in milliseconds. @defaultValue 5000 */
  readonly timeoutMs?: number;
}

const FIELDS = fieldsOf<ShutdownOptions>({ signals: true, timeoutMs: true });

interface Installation {
  readonly pool: TensorPool;
  readonly signals: readonly NodeJS.Signals[];
  readonly timeoutMs: number;
}

/** After the leases are revoked, how long a server that does not answer may hold up the end, in milliseconds. */
const GRACE_MS = 3000;

/** Of the whole process: the first pool to be closed must not end it under the others. */
const installations = new Set<Installation>();

/**
 * Closes the pool on a signal, then lets the signal end the process as it would have. With several pools installed, one
 * signal closes all, and the process ends when the last is closed. A second signal ends it at once.
 * The only thing in this package that installs signal handlers; returns what removes them again.
 * @throws TypeError, RangeError
 */
export function installShutdown(pool: TensorPool, options: ShutdownOptions = {}): () => void {
  // By its shape: it may be of another copy of this package.
  const { close, destroy } = Object(pool) as Partial<TensorPool>;
  if (typeof close !== 'function' || typeof destroy !== 'function') throw wrongType('pool', 'TensorPool', pool);
  checkFields('options', options, FIELDS);
  const { signals = ['SIGINT', 'SIGTERM'] } = options;
  if (!Array.isArray(signals)) throw wrongType('signals', 'array of signal names', signals);
  for (const signal of signals as unknown[]) checkCatchable(signal);
  const timeoutMs = checkedMs('timeoutMs', options.timeoutMs, 0, 5000);
  const installation = { pool, signals: [...new Set(signals)] as NodeJS.Signals[], timeoutMs };
  for (const signal of installation.signals) if (!isWanted(signal)) process.on(signal, onSignal);
  installations.add(installation);
  return () => remove(installation);
}

/** No handler is ever called for these. */
const NEVER_CAUGHT: readonly string[] = ['SIGKILL', 'SIGSTOP'];

function checkCatchable(signal: unknown): void {
  if (typeof signal !== 'string') throw wrongType('signals', 'array of signal names', signal);
  if (!Object.hasOwn(constants.signals, signal) || NEVER_CAUGHT.includes(signal)) {
    throw outOfRange('signals', 'names of signals that a process can catch', signal);
  }
}

const isWanted = (signal: NodeJS.Signals) => [...installations].some(({ signals }) => signals.includes(signal));

function remove(installation: Installation): void {
  installations.delete(installation);
  for (const signal of installation.signals) if (!isWanted(signal)) process.removeListener(signal, onSignal);
}

function onSignal(signal: NodeJS.Signals): void {
  const ending = [...installations];
  // From here on the signal has its default effect again.
  ending.forEach(remove);
  void Promise.all(ending.map(end)).then(() => process.kill(process.pid, signal));
}

/** Resolves when the pool is closed, or when it has had its time. */
async function end({ pool, timeoutMs }: Installation): Promise<void> {
  const closed = pool.close({ timeoutMs });
  // A close that was under way before may have been given more time.
  const revoke = setTimeout(() => void pool.destroy(), timeoutMs);
  await within(closed, { deadline: performance.now() + timeoutMs + GRACE_MS }).catch(() => undefined);
  clearTimeout(revoke);
}
