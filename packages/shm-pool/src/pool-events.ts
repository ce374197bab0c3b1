/** What a pool tells its user: while it is open, and when it closes. */
import type { TransportChoice } from './auto-choice.js';
import type { Unproven } from './region-counters.js';
import type { Retirement } from './retirements.js';

export interface PoolEvents {
  /** The server had lost our regions (a restart, someone's unregister-all); idle slots are registered anew. */
  restart: [{ readonly region: string }];
  /** A connection was lost with a request unanswered. */
  quarantine: [{ readonly region: string }];
  /** A region was given up for good. */
  retire: [Retirement];
  /** What `'auto'` would choose has changed since it was last asked. The pool itself does not change. */
  transport: [TransportChoice];
}

export interface CloseReport {
  /** Regions, since the pool was opened, that the server was not proven to be done with, and why. */
  readonly unproven: readonly Unproven[];
}
