import {
  BatchInput_Kind,
  BatchOutput_Kind,
  DataType,
  ModelInput_Format,
  ModelInstanceGroup_Kind,
  ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind,
  ModelOptimizationPolicy_ModelPriority,
  ModelQueuePolicy_TimeoutAction,
  ModelSequenceBatching_Control_Kind,
  type ModelConfig as WireModelConfig,
} from './gen/model_config.js';

type Enum = Readonly<Record<string, number>>;

/** The enums by the fields that hold them; `parent.field` where several kinds share a field's name. */
const ENUMS: ReadonlyMap<string, Enum> = new Map<string, Enum>([
  ['data_type', DataType],
  ['format', ModelInput_Format],
  ['timeout_action', ModelQueuePolicy_TimeoutAction],
  ['optimization.priority', ModelOptimizationPolicy_ModelPriority],
  ['instance_group.kind', ModelInstanceGroup_Kind],
  ['secondary_devices.kind', ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind],
  ['control.kind', ModelSequenceBatching_Control_Kind],
  ['batch_input.kind', BatchInput_Kind],
  ['batch_output.kind', BatchOutput_Kind],
]);

/** Fields that are maps: their keys are the user's and stay as they are. */
const MAPS: ReadonlySet<string> = new Set([
  'cc_model_filenames',
  'metric_tags',
  'parameters',
  'priority_queue_policy',
  'input_map',
  'output_map',
  'inputs',
  'graph_spec.input',
  'graph_lower_bound.input',
]);

/** A configuration in the spelling of config.pbtxt and of Triton's own JSON: snake_case, enums by name. */
export function toConfigJson(config: WireModelConfig): Record<string, unknown> {
  return messageToJson(config, '');
}

function messageToJson(message: object, field: string): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(message)) {
    if (value === undefined) continue;
    if (isChoice(value)) json[snakeCase(value.$case)] = toJson(value.value, snakeCase(value.$case), field);
    else json[snakeCase(name)] = toJson(value, snakeCase(name), field);
  }
  return json;
}

function toJson(value: unknown, field: string, parent: string): unknown {
  const names = ENUMS.get(field) ?? ENUMS.get(`${parent}.${field}`);
  if (typeof value === 'number' && names !== undefined) {
    return Object.keys(names).find((name) => names[name] === value) ?? value;
  }
  // Exact in all that a configuration counts: dimensions, microseconds, bytes.
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map((element) => toJson(element, field, parent));
  if (typeof value !== 'object' || value === null) return value;
  if (MAPS.has(field) || MAPS.has(`${parent}.${field}`)) {
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    return Object.fromEntries(entries.map(([key, element]) => [String(key), toJson(element, '', field)]));
  }
  return messageToJson(value, field);
}

/** A oneof as ts-proto has it. */
function isChoice(value: unknown): value is { $case: string; value: unknown } {
  return typeof value === 'object' && value !== null && '$case' in value;
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
