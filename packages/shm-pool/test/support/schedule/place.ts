/** What a ledger keeps of a slot's memory, and of what passes between a pool and its client. */
import type { Lease, Settlement } from '../../../src/index.js';
import type { View } from '../views.js';

/** One slot's memory: a shm object, a device allocation, or the buffer that goes into the messages. */
export interface Place {
  readonly id: string;
  readonly kind: 'system' | 'cuda' | 'message';
  /** Calls that have not settled. */
  readonly open: Set<WatchedCall>;
  /** A call whose connection was lost: since when, on the clock of `performance.now()`. */
  lostAt: number | undefined;
  /** The server was seen to be done with a name of it after the loss. */
  proven: boolean;
  /** The server that answers was seen not to know it: one that still writes has a mapping of its own. */
  forgotten: boolean;
  /** The pool has told that it gave the memory up. */
  retired: boolean;
  /** Work of callers on its blocks that has not ended. */
  holds: number;
  lease: Lease | undefined;
  /** Those that its lease gave out, where they have to end with it. */
  views: readonly View[];
}

export function newPlace(id: string, kind: Place['kind']): Place {
  return {
    id,
    kind,
    open: new Set(),
    lostAt: undefined,
    proven: false,
    forgotten: false,
    retired: false,
    holds: 0,
    lease: undefined,
    views: [],
  };
}

/** What a caller asked for; the calls that a pool makes for it are found by it. */
export interface CallerRequest {
  readonly id: number;
  /** How long the model takes, in milliseconds. */
  readonly ms: number;
  readonly lease: Lease;
  readonly calls: WatchedCall[];
}

export interface WatchedCall {
  readonly region: string | undefined;
  error: unknown;
  settlement: Settlement | undefined;
  /** Its caller has been told that it failed, in an earlier turn. */
  told: boolean;
}

export interface Registration {
  readonly place: Place;
  sent: boolean;
  /** Steps of the second proof, all on one connection: listed, unregistered, listed no more. */
  proof: { readonly epoch: number; readonly step: 'listed' | 'unregistered' } | undefined;
}
