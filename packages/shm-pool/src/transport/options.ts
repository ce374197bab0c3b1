/** What opening a transport needs. */
import type { TensorClient } from '../client.js';
import type { GpuOptions } from '../gpu-choice.js';
import type { ModelFacts } from '../model-facts.js';
import type { PoolPlan } from '../pool-plan.js';
import type { RegionCounters } from '../region-counters.js';
import type { SlotMemoryFactory } from '../slot-memory.js';

export interface TransportOptions extends GpuOptions {
  readonly client: TensorClient;
  readonly facts: ModelFacts;
  readonly plan: PoolPlan;
  /** How many there must be room for. */
  readonly slots: number;
  /** Whether kernels are to reach slots of transport `'system'`. */
  readonly deviceAccess: boolean;
  readonly counters: RegionCounters;
  readonly signal: AbortSignal | undefined;
  /** `'auto'` chooses, and takes only what the model gains by. */
  readonly auto: boolean;
}

/**
 * Finds out what can be known before memory is made.
 * @throws PoolError with the reason against this transport
 */
export type OpenTransport = (options: TransportOptions) => SlotMemoryFactory | Promise<SlotMemoryFactory>;
