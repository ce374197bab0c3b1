import type { ModelDynamicBatching, ModelQueuePolicy } from '../grpc/gen/model_config.js';
import type { Job } from './job.js';

/** A priority level's rules. */
export interface QueuePolicy {
  /** 0: no limit. */
  readonly maxSize: number;
  /** Nanoseconds; 0n: none. */
  readonly timeoutNs: bigint;
  readonly mayOverride: boolean;
  /** REJECT answers a request whose time is over; DELAY puts it behind all others. */
  readonly delays: boolean;
}

/** The policies of a dynamic batcher, by level: 1 is the highest; a model without levels has the one level 0. */
export function policiesOf(config: ModelDynamicBatching): ReadonlyMap<number, QueuePolicy> {
  const levels = Number(config.priority_levels);
  const byDefault = policyOf(config.default_queue_policy);
  if (levels === 0) return new Map([[0, byDefault]]);
  const own = (level: number): QueuePolicy => {
    const policy = config.priority_queue_policy.get(BigInt(level));
    return policy === undefined ? byDefault : policyOf(policy);
  };
  return new Map(Array.from({ length: levels }, (_, index) => [index + 1, own(index + 1)]));
}

function policyOf(policy: ModelQueuePolicy | undefined): QueuePolicy {
  return {
    maxSize: policy?.max_queue_size ?? 0,
    timeoutNs: BigInt(policy?.default_timeout_microseconds ?? 0n) * 1000n,
    mayOverride: policy?.allow_timeout_override ?? false,
    delays: policy?.timeout_action === 'DELAY',
  };
}

/**
 * When a job's time in the queue is over, in process.hrtime; undefined: never. A request's own limit counts only where it
 * is the shorter one (seen on 2.51: with a default of 0 it was ignored).
 */
export function expiryOf(job: Job, policy: QueuePolicy): bigint | undefined {
  const own = job.request.timeoutUs * 1000n;
  const limit = policy.mayOverride && own !== 0n && own < policy.timeoutNs ? own : policy.timeoutNs;
  return limit === 0n ? undefined : job.queuedAt + limit;
}
