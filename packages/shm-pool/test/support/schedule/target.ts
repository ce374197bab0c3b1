/** A server that schedules run against, and what can be done to it. */
import type { PoolOptions, Shapes, TensorClient } from '../../../src/index.js';

/**
 * `'cut'`: every connection drops. `'delay'`: what the client sends arrives later. `'forget'`: another client's
 * unregister-all. `'restart'`: the server dies and comes back without regions. `'restart with memory'`: connections end,
 * the regions are still known. `'kill'`: SIGKILL, and another process on the same port. `'take over'`: another server has
 * the address, the one before still ends what it has begun.
 */
export type DisturbanceName = 'cut' | 'delay' | 'forget' | 'restart' | 'restart with memory' | 'kill' | 'take over';

export interface Target {
  /** Which server, for reports. */
  readonly name: string;
  readonly version: string;
  readonly client: TensorClient;
  readonly model: string;
  readonly input: string;
  readonly output: string;
  /** FP32 elements of the largest input: a request's are of the shape `[1, n]`, with n up to this. */
  readonly elements: number;
  /** The largest ones. */
  readonly shapes: Shapes;
  /**
   * With these the size of the output is told by nothing, and is less at first than what the model answers with. Only for
   * one that repeats the input as often as the parameter `repeat` says.
   */
  readonly growing?: Partial<PoolOptions>;
  /** Whether the server counts a region's users (2.50 on). */
  readonly countsUsers: boolean;
  /** How long a client may take to notice that its connection is gone, in milliseconds; infinite if it is lost at any time. */
  readonly noticeMs: number;
  readonly disturbances: Readonly<Partial<Record<DisturbanceName, () => Promise<void> | void>>>;
  /** Resolves when a server is there. */
  up(): Promise<void>;
  /** Names of the regions that the server of now has. */
  regionNames(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Which of them leave requests without an answer, and how often each comes, relative to the others. */
export const DISTURBANCES: Readonly<
  Record<DisturbanceName, { readonly weight: number; readonly losesConnections: boolean }>
> = {
  cut: { weight: 6, losesConnections: true },
  delay: { weight: 3, losesConnections: false },
  forget: { weight: 3, losesConnections: false },
  restart: { weight: 2, losesConnections: true },
  'restart with memory': { weight: 2, losesConnections: true },
  // As often as the schedule says, not by chance.
  kill: { weight: 0, losesConnections: true },
  'take over': { weight: 1, losesConnections: true },
};
