import { logSettings, traceSettings, unreadable } from '../answers.js';
import { isDatatype } from '../datatype.js';
import { bigintOf, countOf, type JsonObject, listOf, mapValues, objectOf, textOf } from '../read.js';
import type {
  DurationStatistic,
  LogSettings,
  ModelMetadata,
  ModelStatistics,
  RepositoryModel,
  ServerMetadata,
  TensorMetadata,
  TraceSettings,
} from '../types/server.js';

/** The JSON answers of the control calls in the public shapes. */

const texts = (method: string, value: unknown, what: string): string[] =>
  listOf(method, value, what).map((element) => textOf(method, element, `an entry of ${what}`));

export function toServerMetadata(json: JsonObject): ServerMetadata {
  const method = 'ServerMetadata';
  return {
    name: textOf(method, json.name, 'name'),
    version: textOf(method, json.version, 'version'),
    extensions: texts(method, json.extensions, 'extensions'),
  };
}

export function toModelMetadata(json: JsonObject): ModelMetadata {
  const method = 'ModelMetadata';
  const tensor = (entry: unknown): TensorMetadata => {
    const { name, datatype, shape } = objectOf(method, entry, 'a tensor');
    if (!isDatatype(datatype)) {
      throw unreadable(method, `tensor '${String(name)}' has the datatype '${String(datatype)}'`);
    }
    const what = `a dimension of '${String(name)}'`;
    return {
      name: textOf(method, name, 'the name of a tensor'),
      datatype,
      shape: listOf(method, shape, 'a shape').map((dimension) => countOf(method, dimension, what)),
    };
  };
  return {
    name: textOf(method, json.name, 'name'),
    versions: texts(method, json.versions, 'versions'),
    platform: textOf(method, json.platform, 'platform'),
    inputs: listOf(method, json.inputs, 'inputs').map(tensor),
    outputs: listOf(method, json.outputs, 'outputs').map(tensor),
  };
}

const STATISTICS = 'ModelStatistics';

function duration(json: JsonObject, key: string): DurationStatistic {
  const { count, ns } = objectOf(STATISTICS, json[key] ?? {}, key);
  return {
    count: countOf(STATISTICS, count, `the count of ${key}`),
    totalNs: bigintOf(STATISTICS, ns, `the time of ${key}`),
  };
}

const compute = (json: JsonObject) => ({
  computeInput: duration(json, 'compute_input'),
  computeInfer: duration(json, 'compute_infer'),
  computeOutput: duration(json, 'compute_output'),
});

export function toModelStatistics(entry: unknown): ModelStatistics {
  const json = objectOf(STATISTICS, entry, 'an entry');
  const count = (from: JsonObject, key: string) => countOf(STATISTICS, from[key], key);
  const text = (from: JsonObject, key: string) => textOf(STATISTICS, from[key], key);
  const list = (key: string) =>
    listOf(STATISTICS, json[key], key).map((element) => objectOf(STATISTICS, element, `an entry of ${key}`));
  const infer = objectOf(STATISTICS, json.inference_stats ?? {}, 'inference_stats');
  return {
    name: text(json, 'name'),
    version: text(json, 'version'),
    inferenceCount: count(json, 'inference_count'),
    executionCount: count(json, 'execution_count'),
    lastInferenceMs: count(json, 'last_inference'),
    success: duration(infer, 'success'),
    fail: duration(infer, 'fail'),
    queue: duration(infer, 'queue'),
    ...compute(infer),
    cacheHit: duration(infer, 'cache_hit'),
    cacheMiss: duration(infer, 'cache_miss'),
    batches: list('batch_stats').map((batch) => ({ batchSize: count(batch, 'batch_size'), ...compute(batch) })),
    memoryUsage: list('memory_usage').map((usage) => ({
      type: text(usage, 'type'),
      id: count(usage, 'id'),
      byteSize: count(usage, 'byte_size'),
    })),
    responses: mapValues(objectOf(STATISTICS, json.response_stats ?? {}, 'response_stats'), (value, key) => {
      const response = objectOf(STATISTICS, value, `response ${key}`);
      return {
        computeInfer: duration(response, 'compute_infer'),
        computeOutput: duration(response, 'compute_output'),
        success: duration(response, 'success'),
        fail: duration(response, 'fail'),
        emptyResponse: duration(response, 'empty_response'),
        cancel: duration(response, 'cancel'),
      };
    }),
  };
}

export function toRepositoryModel(entry: unknown): RepositoryModel {
  const method = 'RepositoryIndex';
  const json = objectOf(method, entry, 'an entry');
  // A model that was never loaded has a name alone.
  return {
    name: textOf(method, json.name, 'name'),
    version: textOf(method, json.version, 'version'),
    state: textOf(method, json.state, 'state'),
    reason: textOf(method, json.reason, 'reason'),
  };
}

/** A value is a text, or a list of them. */
export function toTraceSettings(json: JsonObject): TraceSettings {
  const method = 'TraceSetting';
  return traceSettings(mapValues(json, (value, key) => texts(method, Array.isArray(value) ? value : [value], key)));
}

export function toLogSettings(json: JsonObject): LogSettings {
  return logSettings(json);
}
