/** What a model's configuration says about the way of its tensors. Pure. */
import type { ClientModelConfig } from './client.js';

export interface ModelFacts {
  readonly model: string;
  /** Such as `python`, `onnxruntime`, `tensorrt`; empty for an ensemble. */
  readonly backend: string;
  readonly decoupled: boolean;
  readonly instances: readonly { readonly kind: string; readonly gpus: readonly number[] }[];
  /** A Python model that is handed host tensors: that backend's default. */
  readonly takesHostInputs: boolean;
  /** What only the whole configuration tells; undefined when the client does not hand it on. */
  readonly scheduling: Scheduling | undefined;
}

export interface Scheduling {
  readonly sequence: boolean;
  readonly ensemble: boolean;
  readonly dynamicBatching: boolean;
  readonly responseCache: boolean;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** The keys are those of Triton's model_config.proto. */
export function factsOf(model: string, config: ClientModelConfig): ModelFacts {
  const { backend, decoupled, instanceGroups, parameters, maxBatchSize, raw } = config;
  return {
    model,
    backend,
    decoupled,
    instances: instanceGroups,
    takesHostInputs: backend === 'python' && parameters.FORCE_CPU_ONLY_INPUT_TENSORS !== 'no',
    scheduling: raw && {
      sequence: isObject(raw.sequence_batching),
      ensemble: isObject(raw.ensemble_scheduling),
      dynamicBatching: maxBatchSize > 1 && isObject(raw.dynamic_batching),
      responseCache: isObject(raw.response_cache) && raw.response_cache.enable === true,
    },
  };
}

/** Whether every instance runs on the CPU. */
export const runsOnCpu = ({ instances }: ModelFacts): boolean =>
  instances.length > 0 && instances.every(({ kind }) => kind === 'KIND_CPU');

/** Whether every instance runs on a GPU. */
export const runsOnGpu = ({ instances }: ModelFacts): boolean =>
  instances.length > 0 && instances.every(({ kind }) => kind === 'KIND_GPU');
