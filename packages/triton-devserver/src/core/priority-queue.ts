import { ServerError, unavailable } from '../status.js';
import { Chain, type Link } from './chain.js';
import { requestIdPrefix } from './checks.js';
import type { Job } from './job.js';
import { expiryOf, type QueuePolicy } from './queue-policy.js';

interface Level {
  /** 0 comes first. */
  readonly rank: number;
  readonly policy: QueuePolicy;
  readonly waiting: Chain<Waiting>;
  /** Those whose time is over and that the policy delays. */
  readonly delayed: Chain<Waiting>;
}

/** A job in the queue. */
export interface Waiting extends Link<Waiting> {
  readonly job: Job;
  readonly level: Level;
  /** See `expiryOf`. */
  readonly expiry: bigint | undefined;
  isDelayed: boolean;
}

/** The queue of a dynamic batcher (scheduler_utils.cc): levels of priority, each with its limits of size and time. */
export class PriorityQueue implements Iterable<Waiting> {
  /** In the order of priority. */
  readonly #levels: ReadonlyMap<number, Level>;
  readonly #defaultLevel: number;

  /** @param defaultLevel - for requests without a level, or with one that there is not */
  constructor(policies: ReadonlyMap<number, QueuePolicy>, defaultLevel: number) {
    this.#levels = new Map(
      Array.from(policies, ([level, policy], rank): [number, Level] => [
        level,
        { rank, policy, waiting: new Chain(), delayed: new Chain() },
      ]),
    );
    this.#defaultLevel = defaultLevel;
  }

  get size(): number {
    let count = 0;
    for (const { waiting, delayed } of this.#levels.values()) count += waiting.size + delayed.size;
    return count;
  }

  /** @throws ServerError when its level is full */
  add(job: Job): Waiting {
    const level = this.#levelOf(job);
    const { policy, waiting, delayed } = level;
    if (policy.maxSize !== 0 && waiting.size + delayed.size >= policy.maxSize) {
      throw unavailable(`${requestIdPrefix(job.request.id)}Exceeds maximum queue size`);
    }
    const added: Waiting = { job, level, expiry: expiryOf(job, policy), isDelayed: false };
    waiting.add(added);
    return added;
  }

  take(waiting: Waiting): void {
    const { level, isDelayed } = waiting;
    (isDelayed ? level.delayed : level.waiting).delete(waiting);
  }

  /**
   * Whether a job may run now. What was cancelled or is too late is taken out, or goes behind the others of its level.
   *
   * @param refusals - gets what tells its client
   */
  admits(waiting: Waiting, now: bigint, refusals: (() => void)[]): boolean {
    const { job, level, expiry, isDelayed } = waiting;
    if (isDelayed) return true;
    if (job.request.signal.aborted) {
      this.take(waiting);
      const error = new ServerError('CANCELLED', `${requestIdPrefix(job.request.id)}Request cancelled`);
      refusals.push(() => job.refuse(error, 'CANCELED'));
      return false;
    }
    if (expiry === undefined || now <= expiry) return true;
    this.take(waiting);
    if (level.policy.delays) {
      waiting.isDelayed = true;
      level.delayed.add(waiting);
    } else refusals.push(() => refuseLate(job));
    return false;
  }

  /** Refuses all that are too late and whose policy says so. */
  refuseLate(): void {
    const now = process.hrtime.bigint();
    const late: Job[] = [];
    for (const { policy, waiting } of this.#levels.values()) {
      if (policy.delays) continue;
      for (const each of waiting) {
        if (each.expiry === undefined || now <= each.expiry) continue;
        waiting.delete(each);
        late.push(each.job);
      }
    }
    for (const job of late) refuseLate(job);
  }

  /** In the order in which they run. One may be taken out as soon as it was given. */
  *[Symbol.iterator](): Generator<Waiting, void> {
    for (const { waiting, delayed } of this.#levels.values()) {
      yield* waiting;
      yield* delayed;
    }
  }

  /** Priorities beyond the last level are taken for the default (seen on 2.51: 4 and 99 of 3 accepted). */
  #levelOf(job: Job): Level {
    const asked = this.#levels.get(Number(job.request.priority));
    const level = asked ?? this.#levels.get(this.#defaultLevel);
    if (level === undefined) throw new Error(`The model has no priority level ${this.#defaultLevel}`);
    return level;
  }
}

const refuseLate = (job: Job) => job.refuse(unavailable('Request timeout expired'), 'REJECTED');
