import { unreadable } from './answers.js';
import { countOf, type JsonObject, listOf, mapValues, objectOf, textOf } from './read.js';
import type { InstanceGroup, ModelConfig } from './types/server.js';

const METHOD = 'ModelConfig';
const KINDS: readonly string[] = ['KIND_AUTO', 'KIND_GPU', 'KIND_CPU', 'KIND_MODEL'];

/** A configuration in Triton's JSON spelling as what a client acts on. */
export function modelConfigOf(raw: JsonObject): ModelConfig {
  const text = (from: JsonObject, key: string) => textOf(METHOD, from[key], key);
  const count = (from: JsonObject, key: string) => countOf(METHOD, from[key], key);
  const list = (from: JsonObject, key: string) => listOf(METHOD, from[key], key);
  const objects = (from: JsonObject, key: string) =>
    list(from, key).map((entry) => objectOf(METHOD, entry, `an entry of ${key}`));
  const policy = objectOf(METHOD, raw.model_transaction_policy ?? {}, 'model_transaction_policy');
  return {
    name: text(raw, 'name'),
    platform: text(raw, 'platform'),
    backend: text(raw, 'backend'),
    maxBatchSize: count(raw, 'max_batch_size'),
    decoupled: policy.decoupled === true,
    instanceGroups: objects(raw, 'instance_group').map((group) => ({
      kind: kindOf(group.kind),
      count: count(group, 'count'),
      gpus: list(group, 'gpus').map((gpu) => countOf(METHOD, gpu, 'an entry of gpus')),
    })),
    parameters: mapValues(objectOf(METHOD, raw.parameters ?? {}, 'parameters'), (value, key) =>
      text(objectOf(METHOD, value, `parameter ${key}`), 'string_value'),
    ),
    optionalInputs: objects(raw, 'input')
      .filter(({ optional }) => optional === true)
      .map((input) => text(input, 'name')),
    raw,
  };
}

function kindOf(kind: unknown): InstanceGroup['kind'] {
  if (typeof kind === 'string' && KINDS.includes(kind)) return kind as InstanceGroup['kind'];
  throw unreadable(METHOD, `an instance group has the kind ${String(kind)}`);
}
