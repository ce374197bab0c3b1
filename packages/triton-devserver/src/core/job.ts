import type { ModelConfig } from '../grpc/gen/model_config.js';
import { internal, type ServerError } from '../status.js';
import type { CheckedInput, CheckedRequest } from './checks.js';
import type { InferenceRequest, Responder } from './inference.js';

/** A request on its way through a model: from the queue to its last answer. */
export interface Job {
  readonly request: InferenceRequest;
  readonly checked: CheckedRequest;
  readonly respond: Responder;
  /** process.hrtime, nanoseconds. */
  readonly queuedAt: bigint;
  /** What a sequence's scheduler adds to the inputs, such as START. */
  controls: readonly CheckedInput[];
  /** Answers with an error, before the model saw the request. */
  refuse(error: ServerError, reason: RefusalReason): void;
}

/** The label `reason` of nv_inference_request_failure. */
export type RefusalReason = 'CANCELED' | 'REJECTED' | 'OTHER';

/** Runs jobs together, as one execution of an instance. Resolves when the instance is free again; never rejects. */
export type RunBatch = (jobs: readonly Job[]) => Promise<void>;

/** Where jobs wait for an instance. */
export interface Scheduler {
  /** @throws ServerError when the job is refused at once */
  enqueue(job: Job): void;
  /** Jobs that wait. */
  readonly pending: number;
  /** Stops timers; jobs that wait still run. */
  close(): void;
}

/** Only requests whose tensors are alike but for the batch go into one execution. */
export function sameShapes(first: Job, other: Job): boolean {
  const shapes = (job: Job) =>
    job.checked.inputs
      .map(({ name, shape }) => `${name}:${shape.slice(1).join()}`)
      .sort()
      .join();
  return shapes(first) === shapes(other);
}

/**
 * What backends say of more than a batch may hold. They take the first dimension of a request's first input for its size,
 * which is another one where the batch size is 0 (seen on 2.51).
 */
export function tooLarge(jobs: readonly Job[], { name, max_batch_size: most }: ModelConfig): ServerError | undefined {
  const sizeOf = ({ checked }: Job) => (most > 0 ? (checked.inputs[0]?.shape[0] ?? 0) : 1);
  const size = jobs.reduce((sum, job) => sum + sizeOf(job), 0);
  if (size <= Math.max(1, most)) return undefined;
  return internal(`batch size ${size} for '${name}_0_0', max allowed is ${most}`);
}
