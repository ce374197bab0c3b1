import { datatypeOfConfig } from '../datatype.js';
import type { ModelConfig, ModelSequenceBatching } from '../grpc/gen/model_config.js';
import { invalid } from '../status.js';
import { LONGEST_MS } from '../within.js';
import type { CheckedInput } from './checks.js';
import { type Job, type RunBatch, type Scheduler, sameShapes } from './job.js';
import { controlsOf } from './sequence-controls.js';

type SequenceId = bigint | string;

interface Sequence {
  readonly id: SequenceId;
  readonly waiting: Job[];
  /** What has its slot; undefined while it waits for one. */
  instance: Instance | undefined;
  ended: boolean;
  idle: NodeJS.Timeout | undefined;
}

/** Runs one batch at a time, of at most one request of each of its sequences. */
interface Instance {
  /** By the order in which they got their slots. */
  readonly sequences: Set<Sequence>;
  busy: boolean;
}

/**
 * The sequence batcher: the requests of a sequence go to one slot of one instance, in order. An instance has as many slots as
 * its batch has items, or candidates for its batch with the strategy "oldest", which takes those first that wait longest.
 * Sequences beyond the slots wait for one. One that says nothing for `max_sequence_idle_microseconds` is forgotten. An id is
 * free again with its END, though requests of that sequence still wait (all seen on 2.51).
 */
export class SequenceBatcher implements Scheduler {
  readonly #config: ModelConfig;
  readonly #batching: ModelSequenceBatching;
  readonly #run: RunBatch;
  readonly #slots: number;
  readonly #maxBatch: number;
  readonly #instances: readonly Instance[];
  /** Those that have begun and not ended, which alone a request without START can mean. */
  readonly #open = new Map<SequenceId, Sequence>();
  /** Those that have no slot yet, in order. */
  readonly #backlog = new Set<Sequence>();

  constructor(config: ModelConfig, batching: ModelSequenceBatching, instances: number, run: RunBatch) {
    this.#config = config;
    this.#batching = batching;
    this.#run = run;
    this.#maxBatch = Math.max(1, config.max_batch_size);
    this.#slots = Math.max(1, batching.oldest?.max_candidate_sequences ?? config.max_batch_size);
    this.#instances = Array.from({ length: instances }, () => ({ sequences: new Set<Sequence>(), busy: false }));
  }

  get pending(): number {
    const all = [...this.#backlog, ...this.#instances.flatMap(({ sequences }) => [...sequences])];
    return all.reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  enqueue(job: Job): void {
    const { id, start, end } = job.request.sequence;
    const model = this.#config.name;
    if (job.checked.batchSize > 1) {
      throw invalid(
        `inference request to model '${model}' must specify batch-size 1 due to requirements of sequence batcher`,
      );
    }
    if (id === 0n || id === '') {
      throw invalid(`inference request to model '${model}' must specify a non-zero or non-empty correlation ID`);
    }
    const sequence = this.#open.get(id) ?? (start ? this.#begin(id) : undefined);
    if (sequence === undefined) {
      throw invalid(
        `inference request for sequence ${id} to model '${model}' must specify the START flag on the first request of the sequence`,
      );
    }
    clearTimeout(sequence.idle);
    job.controls = this.#controls(job, start, end);
    sequence.waiting.push(job);
    if (end) {
      sequence.ended = true;
      this.#open.delete(id);
    }
    if (sequence.instance !== undefined) this.#next(sequence.instance);
  }

  close(): void {
    for (const { idle } of this.#open.values()) clearTimeout(idle);
  }

  /** START of a sequence that is open silently begins it anew, in the same slot. */
  #begin(id: SequenceId): Sequence {
    const sequence: Sequence = { id, waiting: [], instance: undefined, ended: false, idle: undefined };
    this.#open.set(id, sequence);
    this.#backlog.add(sequence);
    this.#fillSlots();
    return sequence;
  }

  /** Gives free slots to those that wait for one, of the instance that has most. */
  #fillSlots(): void {
    for (const sequence of this.#backlog) {
      const instance = this.#instances.reduce((a, b) => (b.sequences.size < a.sequences.size ? b : a));
      if (instance.sequences.size >= this.#slots) return;
      this.#backlog.delete(sequence);
      instance.sequences.add(sequence);
      sequence.instance = instance;
      this.#next(instance);
    }
  }

  #controls(job: Job, start: boolean, end: boolean): readonly CheckedInput[] {
    const { inputs, batchSize } = job.checked;
    const shape = this.#config.max_batch_size > 0 ? [batchSize, 1] : [1];
    const taken = new Set(inputs.map(({ name }) => name));
    return controlsOf(this.#batching, { id: job.request.sequence.id, start, end }, shape, datatypeOfConfig).filter(
      ({ name }) => !taken.has(name),
    );
  }

  #next(instance: Instance): void {
    if (instance.busy) return;
    const batch = this.#ready(instance);
    if (batch.length === 0) return;
    instance.busy = true;
    void this.#run(batch.map(({ waiting }) => waiting.shift() as Job)).then(() => {
      for (const sequence of batch) {
        if (sequence.waiting.length > 0) continue;
        if (sequence.ended) this.#leave(sequence);
        else this.#watch(sequence);
      }
      // Not before: what is to leave must not run again.
      instance.busy = false;
      this.#next(instance);
    });
  }

  /** Sequences whose next requests fit together. */
  #ready({ sequences }: Instance): Sequence[] {
    const ready = [...sequences].filter(({ waiting }) => waiting.length > 0);
    const queuedAt = ({ waiting: [job] }: Sequence) => job?.queuedAt ?? 0n;
    if (this.#batching.oldest !== undefined) ready.sort((a, b) => (queuedAt(a) < queuedAt(b) ? -1 : 1));
    const first = ready[0]?.waiting[0];
    let size = 0;
    return ready.filter(({ waiting: [job] }) => {
      if (job === undefined || first === undefined) return false;
      const fits = size + job.checked.batchSize <= this.#maxBatch && sameShapes(first, job);
      if (job !== first && !fits) return false;
      size += job.checked.batchSize;
      return true;
    });
  }

  #watch(sequence: Sequence): void {
    const us = Number(this.#batching.max_sequence_idle_microseconds) || 1_000_000;
    clearTimeout(sequence.idle);
    sequence.idle = setTimeout(
      () => {
        this.#open.delete(sequence.id);
        this.#leave(sequence);
      },
      Math.min(us / 1000, LONGEST_MS),
    );
    sequence.idle.unref();
  }

  /** Its slot is another's. */
  #leave(sequence: Sequence): void {
    sequence.instance?.sequences.delete(sequence);
    this.#fillSlots();
  }
}
