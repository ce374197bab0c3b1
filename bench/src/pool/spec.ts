/** What a process that measures a pool is told, and what it tells. */
import type { Interval, Spread } from '../statistics.js';

export interface PoolSpec {
  readonly grpcUrl: string;
  readonly transport: 'system' | 'cuda';
  readonly model: string;
  /** FP32, of INPUT0 and OUTPUT0. */
  readonly inputShape: readonly number[];
  readonly outputShape: readonly number[];
  readonly rounds: number;
  /** In each block of a round. */
  readonly requests: number;
}

export interface PoolFigures {
  /** acquire, infer, release, one at a time: p50 in each block. */
  readonly requestUs: Spread;
  /** The same request, prepared by the client alone. */
  readonly bareRequestUs: Spread;
  /** Of `acquire()` awaited and `release()`: p50 of a hundred at a time, in each block. */
  readonly acquireReleaseUs: Spread;
  /** The same by `tryAcquire()`, with the loop's own await. */
  readonly tryAcquireReleaseUs: Spread;
  /** The loop that measures them. */
  readonly loopUs: Spread;
  /** Bytes of JavaScript's memory that one turn leaves to the collector. */
  readonly garbageBytes: {
    readonly acquireRelease: Spread;
    /** acquire, infer, release: the client's share included. */
    readonly request: Spread;
    readonly bareRequest: Spread;
    /** Of the two of one round, the difference. */
    readonly ofThePool: Interval;
  };
  readonly cpuUs: {
    readonly request: Spread;
    readonly bareRequest: Spread;
    /** Of the two of one round, the difference, on the real server. */
    readonly ofThePool: Interval;
    /** The same over a client that answers at once, so that nothing else is in the figure. */
    readonly ofThePoolAlone: Interval;
  };
  /** Register calls in all these requests, after the pool was open. */
  readonly registerCalls: number;
  /** 32 callers that wait for one slot: the order in which they were served. */
  readonly servedInOrder: { readonly callers: number; readonly outOfOrder: number };
}

export const byteLengthOf = (shape: readonly number[]): number => shape.reduce((product, each) => product * each, 4);
