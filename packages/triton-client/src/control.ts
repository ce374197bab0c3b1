import { exactNumber, unreadable } from './answers.js';
import { isDatatype } from './datatype.js';
import type {
  InferStatistics,
  ModelMetadataResponse,
  StatisticDuration,
  ModelStatistics as WireStatistics,
} from './gen/grpc_service.js';
import { ModelInstanceGroup_Kind as Kind, type ModelConfig as WireModelConfig } from './gen/model_config.js';
import type { DurationStatistic, InstanceGroup, ModelConfig, ModelMetadata, ModelStatistics } from './types.js';

/** The answers of the control calls in the public shapes. */

export function toModelMetadata(answer: ModelMetadataResponse): ModelMetadata {
  const tensors = (list: ModelMetadataResponse['inputs']) =>
    list.map(({ name, datatype, shape }) => {
      if (!isDatatype(datatype)) throw unreadable('ModelMetadata', `tensor '${name}' has the datatype '${datatype}'`);
      return {
        name,
        datatype,
        shape: shape.map((dimension) => exactNumber('ModelMetadata', `a dimension of '${name}'`, dimension)),
      };
    });
  return {
    name: answer.name,
    versions: answer.versions,
    platform: answer.platform,
    inputs: tensors(answer.inputs),
    outputs: tensors(answer.outputs),
  };
}

const KINDS: Readonly<Record<number, InstanceGroup['kind']>> = {
  [Kind.KIND_AUTO]: 'KIND_AUTO',
  [Kind.KIND_GPU]: 'KIND_GPU',
  [Kind.KIND_CPU]: 'KIND_CPU',
  [Kind.KIND_MODEL]: 'KIND_MODEL',
};

export function toModelConfig(config: WireModelConfig | undefined): ModelConfig {
  if (config === undefined) throw unreadable('ModelConfig', 'the answer holds no configuration');
  return {
    name: config.name,
    platform: config.platform,
    backend: config.backend,
    maxBatchSize: config.maxBatchSize,
    decoupled: config.modelTransactionPolicy?.decoupled ?? false,
    instanceGroups: config.instanceGroup.map(({ kind, count, gpus }) => {
      const name = KINDS[kind];
      if (name === undefined) throw unreadable('ModelConfig', `an instance group has the kind ${kind}`);
      return { kind: name, count, gpus };
    }),
    parameters: Object.fromEntries(
      Object.entries(config.parameters).map(([key, { stringValue }]) => [key, stringValue]),
    ),
  };
}

const NONE: StatisticDuration = { count: 0n, ns: 0n };

export function toModelStatistics(statistics: WireStatistics): ModelStatistics {
  const durations = statistics.inferenceStats;
  const of = (key: keyof InferStatistics): DurationStatistic => {
    const { count, ns } = durations?.[key] ?? NONE;
    return { count: exactNumber('ModelStatistics', `the count of ${key}`, count), totalNs: ns };
  };
  return {
    name: statistics.name,
    version: statistics.version,
    inferenceCount: exactNumber('ModelStatistics', 'inference_count', statistics.inferenceCount),
    executionCount: exactNumber('ModelStatistics', 'execution_count', statistics.executionCount),
    lastInferenceMs: exactNumber('ModelStatistics', 'last_inference', statistics.lastInference),
    success: of('success'),
    fail: of('fail'),
    queue: of('queue'),
    computeInput: of('computeInput'),
    computeInfer: of('computeInfer'),
    computeOutput: of('computeOutput'),
  };
}
