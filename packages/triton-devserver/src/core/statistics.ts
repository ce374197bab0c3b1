import type { Duration, ModelStatistics } from './core.js';

/** The label `reason` of nv_inference_request_failure, in the order in which the server lists them. */
export const FAILURE_REASONS = ['OTHER', 'BACKEND', 'CANCELED', 'REJECTED'] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

export interface ComputeTimes {
  readonly computeInputNs: bigint;
  readonly computeInferNs: bigint;
  readonly computeOutputNs: bigint;
}

export interface RequestTimes extends ComputeTimes {
  readonly queueNs: bigint;
}

/** What /metrics shows of a version; microseconds, of which each request counts the whole ones. */
export interface ModelCounters {
  readonly success: bigint;
  readonly failures: Readonly<Record<FailureReason, bigint>>;
  readonly inferences: bigint;
  readonly executions: bigint;
  readonly requestUs: bigint;
  readonly queueUs: bigint;
  readonly computeInputUs: bigint;
  readonly computeInferUs: bigint;
  readonly computeOutputUs: bigint;
}

/** A count and a sum of times. */
class Sum {
  count = 0n;
  ns = 0n;
  us = 0n;

  add(ns: bigint): void {
    this.count += 1n;
    this.ns += ns;
    this.us += ns / 1000n;
  }

  get duration(): Duration {
    return { count: this.count, ns: this.ns };
  }
}

class ComputeSums {
  readonly input = new Sum();
  readonly infer = new Sum();
  readonly output = new Sum();

  add(times: ComputeTimes): void {
    this.input.add(times.computeInputNs);
    this.infer.add(times.computeInferNs);
    this.output.add(times.computeOutputNs);
  }
}

const NOTHING: Duration = { count: 0n, ns: 0n };

/**
 * What one version of a model has done, as a real server counts (seen on 2.51). Its callers
 * decide what a request was:
 *
 * - Succeeded: it ran. A model's error as its answer, an output too large for its region, and a client that had cancelled make
 *   no difference.
 * - Failed: REJECTED by a time-out in the queue, CANCELED there, or BACKEND when the model's code threw.
 * - Neither: it was refused at once, because it did not pass the checks or the queue was full.
 */
export class StatisticsRecorder {
  readonly #success = new Sum();
  readonly #fail = new Sum();
  readonly #queue = new Sum();
  readonly #compute = new ComputeSums();
  readonly #batches = new Map<number, ComputeSums>();
  readonly #failures: Record<FailureReason, bigint> = { OTHER: 0n, BACKEND: 0n, CANCELED: 0n, REJECTED: 0n };
  #inferences = 0n;
  #executions = 0n;
  #lastInference = 0n;

  /** A request ran. `batchSize` is its own first dimension, 1 for models without batches. */
  succeeded(batchSize: number, times: RequestTimes): void {
    this.#inferences += BigInt(batchSize);
    this.#lastInference = BigInt(Date.now());
    const { queueNs, computeInputNs, computeInferNs, computeOutputNs } = times;
    this.#success.add(queueNs + computeInputNs + computeInferNs + computeOutputNs);
    this.#queue.add(queueNs);
    this.#compute.add(times);
  }

  /** An instance ran requests together, whose batches add up to `batchSize`. */
  executed(batchSize: number, times: ComputeTimes): void {
    this.#executions += 1n;
    let sums = this.#batches.get(batchSize);
    if (sums === undefined) {
      sums = new ComputeSums();
      this.#batches.set(batchSize, sums);
    }
    sums.add(times);
  }

  /** @param ns from the request's arrival to its answer */
  failed(reason: FailureReason, ns: bigint): void {
    this.#failures[reason] += 1n;
    this.#fail.add(ns);
  }

  /** As ModelStatistics gives it, for the version that this is the recorder of. */
  snapshot(name: string, version: string): ModelStatistics {
    const batches = [...this.#batches].sort(([a], [b]) => a - b);
    return {
      name,
      version,
      lastInference: this.#lastInference,
      inferenceCount: this.#inferences,
      executionCount: this.#executions,
      inference: {
        success: this.#success.duration,
        fail: this.#fail.duration,
        queue: this.#queue.duration,
        compute_input: this.#compute.input.duration,
        compute_infer: this.#compute.infer.duration,
        compute_output: this.#compute.output.duration,
        cache_hit: NOTHING,
        cache_miss: NOTHING,
      },
      batches: batches.map(([batchSize, { input, infer, output }]) => ({
        batchSize: BigInt(batchSize),
        computeInput: input.duration,
        computeInfer: infer.duration,
        computeOutput: output.duration,
      })),
    };
  }

  counters(): ModelCounters {
    return {
      success: this.#success.count,
      failures: { ...this.#failures },
      inferences: this.#inferences,
      executions: this.#executions,
      requestUs: this.#success.us,
      queueUs: this.#queue.us,
      computeInputUs: this.#compute.input.us,
      computeInferUs: this.#compute.infer.us,
      computeOutputUs: this.#compute.output.us,
    };
  }
}
