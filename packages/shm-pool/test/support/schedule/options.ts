/** What a schedule is told, and what it tells. */
import type { PoolOptions, TensorPool, Transport } from '../../../src/index.js';
import type { Met } from './callers.js';
import type { Ledger } from './ledger.js';

export interface ScheduleOptions {
  readonly seed: number;
  /** How many requests at least. */
  readonly requests: number;
  readonly transport: Transport;
  readonly slots?: number;
  readonly callers?: number;
  /** Requests from one disturbance to the next, on average; 0 for none. */
  readonly disturbEvery?: number;
  /** Requests from one kill to the next; 0 for none. */
  readonly killEvery?: number;
  /** Whether connections may be lost. */
  readonly loseConnections?: boolean;
  /** Requests from one pool to the next; 0 for one pool. */
  readonly reopenEvery?: number;
  /** Requests from one `resize` to the next, on average; 0 for none. */
  readonly resizeEvery?: number;
  /** Whether outputs are larger than their blocks at first. Only for targets that have `growing`. */
  readonly growing?: boolean;
  readonly poolOptions?: Partial<PoolOptions>;
  /** Whose pools. */
  readonly open?: (typeof TensorPool)['open'];
  /** Without the end of any request for so long, the schedule is stuck, in milliseconds. */
  readonly stuckMs?: number;
}

export interface Outcomes {
  readonly requests: number;
  readonly answered: number;
  readonly timedOut: number;
  readonly cancelled: number;
  /** Before they had a slot, or before their request was sent. */
  readonly turnedAway: number;
  /** Requests that failed otherwise, by code. */
  readonly failed: Readonly<Record<string, number>>;
}

export interface ScheduleReport extends Outcomes {
  readonly seed: number;
  readonly target: string;
  readonly transport: Transport;
  /** What must not be, in words. */
  readonly violations: readonly string[];
  readonly disturbances: Readonly<Record<string, number>>;
  /** How often it met what is counted. */
  readonly met: Readonly<Partial<Record<Met, number>>>;
  readonly ledger: Readonly<Ledger['counts']>;
  /** Sums over all pools. */
  readonly pools: number;
  readonly retired: number;
  readonly registerCalls: number;
  readonly reregistrations: number;
}
