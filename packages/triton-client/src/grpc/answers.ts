import { exactNumber, logSettings, traceSettings, unreadable } from '../answers.js';
import { isDatatype } from '../datatype.js';
import { modelConfigOf } from '../model-config.js';
import type {
  DurationStatistic,
  LogSettings,
  ModelConfig,
  ModelMetadata,
  ModelStatistics,
  TraceSettings,
} from '../types/server.js';
import type {
  LogSettingsResponse,
  ModelMetadataResponse,
  StatisticDuration,
  TraceSettingResponse,
  ModelStatistics as WireStatistics,
} from './gen/grpc_service.js';
import type { ModelConfig as WireModelConfig } from './gen/model_config.js';
import { toConfigJson } from './model-config-json.js';

/** The answers of the control RPCs in the public shapes. */

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

export function toModelConfig(config: WireModelConfig | undefined): ModelConfig {
  if (config === undefined) throw unreadable('ModelConfig', 'the answer holds no configuration');
  return modelConfigOf(toConfigJson(config));
}

const METHOD = 'ModelStatistics';
const exact = (name: string, value: bigint): number => exactNumber(METHOD, name, value);

/** What the server leaves out has not happened. */
function toDuration(name: string, duration: StatisticDuration | undefined): DurationStatistic {
  return { count: exact(`the count of ${name}`, duration?.count ?? 0n), totalNs: duration?.ns ?? 0n };
}

type Durations<Key extends string> = Partial<Record<Key, StatisticDuration | undefined>>;

function toDurations<Key extends string>(
  keys: readonly Key[],
  durations: Durations<Key> | undefined,
): Record<Key, DurationStatistic> {
  return Object.fromEntries(keys.map((key) => [key, toDuration(key, durations?.[key])])) as Record<
    Key,
    DurationStatistic
  >;
}

const INFER = [
  'success',
  'fail',
  'queue',
  'computeInput',
  'computeInfer',
  'computeOutput',
  'cacheHit',
  'cacheMiss',
] as const;
const BATCH = ['computeInput', 'computeInfer', 'computeOutput'] as const;
const RESPONSE = ['computeInfer', 'computeOutput', 'success', 'fail', 'emptyResponse', 'cancel'] as const;

export function toModelStatistics(statistics: WireStatistics): ModelStatistics {
  return {
    name: statistics.name,
    version: statistics.version,
    inferenceCount: exact('inference_count', statistics.inferenceCount),
    executionCount: exact('execution_count', statistics.executionCount),
    lastInferenceMs: exact('last_inference', statistics.lastInference),
    ...toDurations(INFER, statistics.inferenceStats),
    batches: statistics.batchStats.map((batch) => ({
      batchSize: exact('batch_size', batch.batchSize),
      ...toDurations(BATCH, batch),
    })),
    memoryUsage: statistics.memoryUsage.map(({ type, id, byteSize }) => ({
      type,
      id: exact('the id of a memory', id),
      byteSize: exact('the size of a memory', byteSize),
    })),
    responses: Object.fromEntries(
      Object.entries(statistics.responseStats).map(([key, response]) => [key, toDurations(RESPONSE, response)]),
    ),
  };
}

export function toTraceSettings({ settings }: TraceSettingResponse): TraceSettings {
  return traceSettings(Object.fromEntries(Object.entries(settings).map(([key, { value }]) => [key, value])));
}

export function toLogSettings({ settings }: LogSettingsResponse): LogSettings {
  return logSettings(
    Object.fromEntries(Object.entries(settings).map(([key, { parameterChoice }]) => [key, parameterChoice?.value])),
  );
}
