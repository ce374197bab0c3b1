import type {
  ModelConfig,
  ModelInput,
  ModelOutput,
  ModelSequenceBatching_Control_Kind,
} from '../grpc/gen/model_config.js';
import { invalid } from '../status.js';
import { isEnsemble } from './complete.js';
import { ConfigError } from './config-error.js';
import { checkFlow } from './ensemble-flow.js';

/**
 * What a server refuses while it reads the repository: the client then hears no more than that the model could not be
 * polled, and only the log has the text.
 *
 * @param name - the model's own, which is its folder's
 * @throws ConfigError
 */
export function checkConfig(config: ModelConfig, name: string): void {
  const wrong = (message: string) => new ConfigError('', message);
  if (config.name !== name) {
    throw wrong(`unexpected directory name '${name}' for model '${config.name}', directory name must equal model name`);
  }
  if (config.max_batch_size < 0) throw wrong(`'max_batch_size' must be non-negative value for ${name}`);
  if (isEnsemble(config) && config.backend !== '') {
    throw wrong(`Ensemble model '${name}' must have platform type 'ensemble' and empty backend type`);
  }
  if (!isEnsemble(config) && config.backend === '') {
    throw wrong(`unexpected platform type '${config.platform}' for ${name}`);
  }
  checkDynamic(config);
  checkSequence(config);
  checkEnsemble(config);
  const cached = config.response_cache?.enable === true;
  if (cached && config.model_transaction_policy?.decoupled === true) {
    throw wrong(`Response Cache does not currently support model ${name} with 'decoupled' transaction policy.`);
  }
}

function checkSizes(sizes: readonly number[], what: string, config: ModelConfig): void {
  for (const size of sizes) {
    if (size <= 0) throw new ConfigError('', `${what} must be positive for ${config.name}`);
    if (size > config.max_batch_size) throw new ConfigError('', `${what} must be <= max batch size for ${config.name}`);
  }
}

function checkDynamic(config: ModelConfig): void {
  const batching = config.dynamic_batching;
  if (batching === undefined) return;
  checkSizes(batching.preferred_batch_size, 'dynamic batching preferred size', config);
  const levels = batching.priority_levels;
  const inRange = (level: bigint) => level >= 1n && level <= levels;
  if (levels !== 0n && !inRange(batching.default_priority_level)) {
    throw new ConfigError('', `default priority level must be in range [1, ${levels}] for ${config.name}`);
  }
  if (levels !== 0n && ![...batching.priority_queue_policy.keys()].every(inRange)) {
    throw new ConfigError(
      '',
      `priority queue policy must have priority level in range [1, ${levels}] for ${config.name}`,
    );
  }
  if (!batching.preserve_ordering) return;
  if (levels > 1n) {
    throw new ConfigError('', `Only one priority level is allowed when 'preserve_ordering' is true for ${config.name}`);
  }
  const policies = [batching.default_queue_policy, ...batching.priority_queue_policy.values()];
  if (policies.some((policy) => policy?.timeout_action === 'DELAY' && policy.default_timeout_microseconds !== 0n)) {
    const text = `Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for ${config.name}`;
    throw new ConfigError('', text);
  }
}

const CORRELATION_TYPES = ['TYPE_UINT64', 'TYPE_INT64', 'TYPE_UINT32', 'TYPE_INT32', 'TYPE_STRING'];

function checkSequence(config: ModelConfig): void {
  const batching = config.sequence_batching;
  if (batching === undefined) return;
  const { name } = config;
  if (config.response_cache?.enable === true) {
    throw new ConfigError(
      '',
      `Response Cache does not currently support model ${name} with sequence batching scheduler.`,
    );
  }
  const seen = new Set<ModelSequenceBatching_Control_Kind>();
  for (const input of batching.control_input) {
    if (input.name === '') throw new ConfigError('', `sequence batching control tensor must have a name for ${name}`);
    for (const control of input.control) {
      const { kind } = control;
      if (seen.has(kind)) throw new ConfigError('', `sequence batching specifies multiple ${kind} tensors for ${name}`);
      seen.add(kind);
      if (kind === 'CONTROL_SEQUENCE_CORRID') {
        if (CORRELATION_TYPES.includes(control.data_type)) continue;
        const text = `unexpected data type for control ${kind} for ${name}. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING`;
        throw new ConfigError('', text);
      }
      const pairs = [control.int32_false_true, control.fp32_false_true, control.bool_false_true];
      const given = pairs.filter((pair) => pair.length > 0);
      if (given.length !== 1 || given[0]?.length !== 2) {
        const text = `sequence batching must have exactly one pair of int32_false_true, fp32_false_true or bool_false_true for ${kind} of ${name}`;
        throw new ConfigError('', text);
      }
    }
  }
  checkSizes(batching.oldest?.preferred_batch_size ?? [], 'sequence batching preferred batch size', config);
  const utilization = batching.direct?.minimum_slot_utilization ?? 0;
  if (!(utilization >= 0 && utilization <= 1)) {
    throw new ConfigError('', `sequence batching minimum slot utilization must be in range (0.0, 1.0] for ${name}`);
  }
}

function checkEnsemble(config: ModelConfig): void {
  const { name, ensemble_scheduling: scheduling } = config;
  const wrong = (message: string) => new ConfigError('', message);
  if (scheduling === undefined) {
    if (!isEnsemble(config)) return;
    throw wrong(`ensemble scheduling must be set for ensemble ${name} whose platform is ensemble`);
  }
  if (!isEnsemble(config)) {
    throw wrong(`ensemble scheduling cannot be set for model '${name}' whose platform is not ensemble`);
  }
  const refused = {
    'instance group should not be specified': config.instance_group.length > 0,
    'optimization should not be specified': config.optimization !== undefined,
    'model_warmup can not be specified': config.model_warmup.length > 0,
  };
  for (const [text, is] of Object.entries(refused)) if (is) throw wrong(`${text} for ensemble '${name}'`);
  if (scheduling.step.length === 0) throw wrong(`must specify 'step' for ensemble '${name}'`);
  const made = new Set(config.input.map((input) => input.name));
  scheduling.step.forEach((step, index) => {
    const empty = {
      model_name: step.model_name === '',
      input_map: !filled(step.input_map),
      output_map: !filled(step.output_map),
    };
    for (const [field, is] of Object.entries(empty)) {
      if (is) throw wrong(`must specify '${field}' in step ${index} of ensemble '${name}'`);
    }
    for (const tensor of Object.values(step.output_map)) {
      if (made.has(tensor)) throw wrong(`ensemble tensor '${tensor}' is written more than once in ensemble '${name}'`);
      made.add(tensor);
    }
  });
  checkFlow(config);
}

function filled(map: object): boolean {
  return Object.keys(map).length > 0;
}

/**
 * What a server refuses while it starts a version: that version is then unavailable, with this text as its reason.
 *
 * @throws ServerError
 */
export function checkStart(config: ModelConfig, gpus: number): void {
  for (const input of config.input) {
    checkTensor(config, input, 'model input');
    if (input.format !== 'FORMAT_NONE' && input.dims.length !== 3) {
      throw invalid(`model input NHWC/NCHW require 3 dims for ${config.name}`);
    }
    checkTensorRt(config, input);
  }
  for (const output of config.output) {
    checkTensor(config, output, 'model output');
    checkTensorRt(config, output);
  }
  checkInstances(config, gpus);
}

function checkTensor(config: ModelConfig, tensor: ModelInput | ModelOutput, what: string): void {
  const wrong = (message: string) => invalid(`${message} for ${config.name}`);
  if (tensor.name === '') throw wrong(`${what} must specify 'name'`);
  const named = `${what} '${tensor.name}'`;
  if (tensor.data_type === 'TYPE_INVALID') throw wrong(`${named} must specify 'data_type'`);
  if (tensor.dims.length === 0) throw wrong(`${named} must specify 'dims'`);
  if (!tensor.dims.every(isDimension)) {
    throw wrong(`${named} dimension must be integer >= 1, or -1 to indicate a variable-size dimension`);
  }
  const shape = tensor.reshape?.shape;
  if (shape === undefined) return;
  if (shape.length === 0 && config.max_batch_size === 0) {
    throw wrong(`${named} cannot have empty reshape for non-batching model as scalar tensors are not supported`);
  }
  if (!shape.every(isDimension)) {
    throw wrong(`${named} reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension`);
  }
  const [from, to] = [sizesAround(tensor.dims), sizesAround(shape)];
  if ((from.length === 1) !== (to.length === 1)) throw wrong(`${named} has different size for dims and reshape`);
  if (from.length !== to.length) {
    throw wrong(`${named} has different number of variable-size dimensions for dims and reshape`);
  }
  if (from.some((size, index) => size !== to[index])) {
    throw wrong(`${named} has different size for dims and reshape`);
  }
}

/** The numbers of elements before, between and after the dimensions that are free (ValidateIOShape). */
function sizesAround(dims: readonly bigint[]): bigint[] {
  const sizes = [1n];
  for (const dim of dims) {
    if (dim === -1n) sizes.push(1n);
    else sizes.push((sizes.pop() ?? 1n) * dim);
  }
  return sizes;
}

function isDimension(dim: bigint): boolean {
  return dim >= 1n || dim === -1n;
}

function checkTensorRt(config: ModelConfig, tensor: ModelInput | ModelOutput): void {
  if (config.platform === 'tensorrt_plan') return;
  if (tensor.is_shape_tensor)
    throw invalid(`shape tensors are only supported for TensorRT platform for ${config.name}`);
  if (tensor.is_non_linear_format_io) {
    throw invalid(`Non-linear IO format is only supported for the TensorRT platform for ${config.name}`);
  }
}

function checkInstances(config: ModelConfig, gpus: number): void {
  for (const group of config.instance_group) {
    const named = `instance group ${group.name} of model ${config.name}`;
    if (group.kind === 'KIND_GPU' && gpus === 0) throw invalid(`${named} has kind KIND_GPU but no GPUs are available`);
    const unknown = group.kind === 'KIND_GPU' ? group.gpus.find((gpu) => gpu < 0 || gpu >= gpus) : undefined;
    if (unknown !== undefined) throw invalid(`${named} specifies invalid or unsupported gpu id ${unknown}`);
    if (group.kind !== 'KIND_GPU' && group.gpus.length > 0) {
      throw invalid(`${named} has kind ${group.kind} but specifies one or more GPUs`);
    }
  }
}
