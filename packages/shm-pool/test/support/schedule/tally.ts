/** How requests end, and which ends are allowed when. */
import { ABORTED } from './callers.js';
import { TOO_SMALL } from './ledger.js';
import type { Outcomes } from './options.js';

/** What is going on, for what it allows. */
export interface Circumstances {
  /** A disturbance that loses connections, or what follows from it, is under way or was a moment ago. */
  readonly connectionsMayBeLost: boolean;
  /** The same, of one that does not. */
  readonly disturbed: boolean;
  /** A pool was, or is being, closed under its callers. */
  readonly poolMayBeClosed: boolean;
}

export const LOST: readonly string[] = ['TRITON_CONNECTION_LOST', 'TRITON_UNAVAILABLE'];
/** Of a pool that is closed under its callers. */
const CLOSED: readonly string[] = ['ERR_POOL_CLOSED', 'ERR_DISPOSED', 'ERR_LEASE_DETACHED', 'ERR_LEASE_RELEASED'];
/** Forgotten again before the request was repeated; a server that has no model yet, or none any more. */
const DISTURBED = /Unable to find shared memory region|has no available versions/;
/** Of memory whose registration was forgotten before it was looked at. */
const FORGOTTEN = 'ERR_SEVERAL_SERVERS';

type Changing<T> = { -readonly [K in keyof T]: T[K] };

export class Tally implements Changing<Omit<Outcomes, 'failed'>> {
  requests = 0;
  answered = 0;
  timedOut = 0;
  cancelled = 0;
  turnedAway = 0;
  readonly failed: Record<string, number> = {};
  /** When the last one ended, on the clock of `performance.now()`. */
  lastEnd = performance.now();
  readonly #circumstances: () => Circumstances;
  readonly #violated: (text: string) => void;

  constructor(circumstances: () => Circumstances, violated: (text: string) => void) {
    this.#circumstances = circumstances;
    this.#violated = violated;
  }

  /** @returns whether the server or its connection made it fail */
  ended(error?: unknown): boolean {
    this.lastEnd = performance.now();
    this.requests += 1;
    const code = codeOf(error);
    if (error === undefined) this.answered += 1;
    else if (code === 'TRITON_TIMEOUT' || code === 'ERR_POOL_TIMEOUT') this.timedOut += 1;
    else if (error === ABORTED) this.cancelled += 1;
    else {
      this.failed[code] = (this.failed[code] ?? 0) + 1;
      this.#mustBeAllowed(code, error);
      return true;
    }
    return false;
  }

  refused(error: unknown): void {
    this.lastEnd = performance.now();
    this.turnedAway += 1;
    const code = codeOf(error);
    if (code !== 'ERR_POOL_TIMEOUT' && error !== ABORTED) this.#mustBeAllowed(code, error);
  }

  /** A resize that did not come to its end. @param closed - whether its pool was */
  notResized(error: unknown, closed: boolean): void {
    const cause = codeOf((error as { cause?: unknown }).cause);
    const code = codeOf(error);
    if (closed && CLOSED.includes(code)) return;
    // The server, or its registration, was gone again before the slot was ready.
    this.#mustBeAllowed(code === 'ERR_POOL_RESIZE' ? cause : code, error);
  }

  #mustBeAllowed(code: string, error: unknown): void {
    const { connectionsMayBeLost, disturbed, poolMayBeClosed } = this.#circumstances();
    if (connectionsMayBeLost && (LOST.includes(code) || code === 'ERR_POOL_EXHAUSTED')) return;
    if (disturbed && (code === FORGOTTEN || DISTURBED.test(String(error)))) return;
    // An answer that does not fit is worth no second run to a pool that has ended.
    if (poolMayBeClosed && (CLOSED.includes(code) || TOO_SMALL.test(String(error)))) return;
    this.#violated(`unexpected: ${code} ${String(error)}`);
  }
}

export const codeOf = (error: unknown): string =>
  String((error as { code?: unknown } | undefined)?.code ?? (error instanceof Error ? error.message : error));
