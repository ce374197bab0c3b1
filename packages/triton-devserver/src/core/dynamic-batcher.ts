import type { ModelConfig, ModelDynamicBatching } from '../grpc/gen/model_config.js';
import { LONGEST_MS } from '../within.js';
import { type Job, type RunBatch, type Scheduler, sameShapes } from './job.js';
import { PriorityQueue, type Waiting } from './priority-queue.js';
import { policiesOf } from './queue-policy.js';

/** A batch on its way to an instance: it grows until one takes it, or nothing may be added. */
interface Batch {
  readonly jobs: Job[];
  size: number;
  isFull: boolean;
  /** What came next has other shapes: it is not joined with another batch, either. */
  isClosed: boolean;
  isTaken: boolean;
}

/** What a look at the queue found for a batch. */
interface Found {
  readonly taken: readonly Waiting[];
  /** In process.hrtime: when to look again, although nothing comes. */
  readonly until?: bigint;
}

/** How often it looks for what is too late while all instances are busy, in milliseconds (dynamic_batch_scheduler.cc). */
const LOOK_MS = 500;

/**
 * The dynamic batcher (dynamic_batch_scheduler.cc, scheduler_utils.cc, instance_queue.cc): levels of priority, limits of size
 * and time, batches of a preferred size or up to the model's.
 *
 * Where the queue has neither levels nor limits, batches are made as requests come, two ahead for each instance, and what is
 * cancelled later runs all the same. Otherwise they are made when an instance is free; until then only what is too late is
 * refused, every half second. Whether a request was cancelled is noticed when a batch is made that could have it.
 *
 * A look costs what it finds, not what waits: tens of thousands may.
 */
export class DynamicBatcher implements Scheduler {
  readonly #run: RunBatch;
  readonly #maxBatch: number;
  readonly #queue: PriorityQueue;
  readonly #delayNs: bigint;
  readonly #preferred: ReadonlySet<number>;
  readonly #largest: number;
  /** How many batches are made ahead; 0: none. */
  readonly #ahead: number;
  #free: number;
  /** Made, and not taken by an instance yet. */
  readonly #ready: Batch[] = [];
  #current: Batch = emptyBatch();
  /** What waits for more of its batch, and is not looked at before the first of it is too late. */
  #held: ReadonlySet<Waiting> = new Set();
  #heldUntil: bigint | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(config: ModelConfig, batching: ModelDynamicBatching, instances: number, run: RunBatch) {
    this.#run = run;
    this.#free = instances;
    this.#maxBatch = Math.max(1, config.max_batch_size);
    const policies = policiesOf(batching);
    this.#queue = new PriorityQueue(policies, policies.has(0) ? 0 : Number(batching.default_priority_level));
    this.#delayNs = BigInt(batching.max_queue_delay_microseconds) * 1000n;
    this.#preferred = new Set(batching.preferred_batch_size.map(Number));
    this.#largest = Math.max(0, ...this.#preferred);
    const { maxSize = 0, timeoutNs = 0n, mayOverride = false } = policies.get(0) ?? {};
    this.#ahead = policies.has(0) && maxSize === 0 && timeoutNs === 0n && !mayOverride ? 2 * instances : 0;
  }

  get pending(): number {
    return this.#ready.reduce((sum, { jobs }) => sum + jobs.length, this.#queue.size);
  }

  enqueue(job: Job): void {
    const { level } = this.#queue.add(job);
    // It may come before what waits for more.
    const isBehind = ({ level: { rank }, isDelayed }: Waiting) =>
      rank > level.rank || (rank === level.rank && isDelayed);
    if ([...this.#held].some(isBehind)) this.#held = new Set();
    this.#look();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Makes the batches that may be made now, and gives them to free instances. */
  #look(): void {
    // After the queues are whole again: who is refused may come back at once.
    const refusals: (() => void)[] = [];
    let until: bigint | undefined;
    while (this.#queue.size > 0) {
      if (this.#current.isFull || this.#current.isTaken) this.#current = emptyBatch();
      if (!this.#hasPlace()) {
        // An instance takes what is ready first, which makes room.
        if (this.#give()) continue;
        break;
      }
      const found = this.#grow(this.#current, refusals);
      until = found.until;
      if (found.taken.length === 0 && !this.#current.isFull && !this.#give()) break;
    }
    while (this.#give());
    this.#wake(until);
    for (const refuse of refusals) refuse();
  }

  #hasPlace(): boolean {
    const isReady = this.#ready.includes(this.#current);
    if (this.#ahead > 0) return this.#ready.length < this.#ahead;
    return this.#ready.length - (isReady ? 1 : 0) < this.#free;
  }

  #wake(until: bigint | undefined): void {
    const busy = this.#ahead === 0 && this.#free === 0;
    if (until === undefined && busy && this.#timer !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#queue.size === 0 || (until === undefined && !busy)) return;
    const ms = until === undefined ? LOOK_MS : Number((until - process.hrtime.bigint()) / 1_000_000n) + 1;
    this.#timer = setTimeout(() => this.#tick(), Math.min(LONGEST_MS, Math.max(1, ms)));
    // What waits behind a model that never ends keeps no process alive; who waits for an answer has a connection.
    this.#timer.unref();
  }

  #tick(): void {
    this.#timer = undefined;
    if (this.#ahead === 0 && this.#free === 0) this.#queue.refuseLate();
    this.#look();
  }

  /** Gives a free instance the first batch that is ready; false when there is none. */
  #give(): boolean {
    const [batch] = this.#ready;
    if (batch === undefined || this.#free === 0) return false;
    this.#ready.shift();
    batch.isTaken = true;
    this.#join(batch);
    this.#free -= 1;
    void this.#run(batch.jobs).then(() => {
      this.#free += 1;
      this.#look();
    });
    return true;
  }

  /** With a delay, batches behind it that have waited longer than that go with it. */
  #join(batch: Batch): void {
    if (this.#delayNs === 0n || batch.isClosed) return;
    const now = process.hrtime.bigint();
    for (let [next] = this.#ready; next !== undefined; [next] = this.#ready) {
      const first = next.jobs[0] as Job;
      const isLate = now - first.queuedAt > this.#delayNs;
      if (next.isClosed || !isLate || batch.size + next.size > this.#maxBatch) return;
      this.#ready.shift();
      next.isTaken = true;
      batch.jobs.push(...next.jobs);
      batch.size += next.size;
    }
  }

  /** Puts into a batch what fits it now. */
  #grow(batch: Batch, refusals: (() => void)[]): Found {
    const found = this.#find(batch, refusals);
    for (const waiting of found.taken) {
      this.#queue.take(waiting);
      batch.jobs.push(waiting.job);
      batch.size += waiting.job.checked.batchSize;
    }
    if (found.taken.length > 0) {
      this.#held = new Set();
      if (!this.#ready.includes(batch)) this.#ready.push(batch);
    }
    return found;
  }

  /** GetDynamicBatch. */
  #find(batch: Batch, refusals: (() => void)[]): Found {
    const now = process.hrtime.bigint();
    const held = this.#heldUntil !== undefined && now < this.#heldUntil ? this.#held : new Set<Waiting>();
    const pending: Waiting[] = [];
    let [size, best, marked] = [0, 0, 0];
    let isOver = false;
    for (const waiting of this.#queue) {
      if (!held.has(waiting) && !this.#queue.admits(waiting, now, refusals)) continue;
      const { batchSize } = waiting.job.checked;
      const next = batch.size + size + batchSize;
      const first = batch.jobs[0] ?? pending[0]?.job;
      if (first !== undefined) {
        if (next > this.#largest && best === 0) {
          [best, marked] = [size, pending.length];
          batch.isFull = true;
        }
        if (next > this.#maxBatch) isOver = true;
        else if (!sameShapes(first, waiting.job)) {
          batch.isClosed = true;
          isOver = true;
        }
        if (isOver) break;
      }
      size += batchSize;
      pending.push(waiting);
      if (this.#preferred.has(batch.size + size)) [best, marked] = [size, pending.length];
    }
    const oldest = leastOf(pending.map(({ job }) => job.queuedAt)) ?? now;
    const hasWaited = this.#delayNs !== 0n && now >= oldest + this.#delayNs;
    if (best !== 0 && !hasWaited) {
      if (this.#delayNs === 0n) batch.isFull = true;
      return { taken: pending.slice(0, marked) };
    }
    if (pending.length === 0) return { taken: [] };
    if (isOver || batch.size + size >= this.#largest) {
      batch.isFull = true;
      return { taken: pending };
    }
    if (hasWaited || this.#delayNs === 0n) return { taken: pending };
    if (!batch.isFull && batch.size !== 0 && !this.#preferred.has(batch.size)) return { taken: pending };
    const expiry = leastOf(pending.flatMap((each) => (each.isDelayed ? [] : (each.expiry ?? []))));
    [this.#held, this.#heldUntil] = [new Set(pending), expiry];
    const end = oldest + this.#delayNs;
    return { taken: [], until: expiry !== undefined && expiry < end ? expiry : end };
  }
}

const emptyBatch = (): Batch => ({ jobs: [], size: 0, isFull: false, isClosed: false, isTaken: false });

function leastOf(numbers: readonly bigint[]): bigint | undefined {
  let least = numbers[0];
  for (const number of numbers) if (least !== undefined && number < least) least = number;
  return least;
}
