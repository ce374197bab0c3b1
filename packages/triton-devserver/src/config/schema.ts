/** The kinds of a field that holds no message. */
export type Scalar = 'string' | 'bool' | 'int32' | 'int64' | 'uint32' | 'uint64' | 'float' | 'double';

/** What a field of a message holds. */
export interface Field {
  readonly name: string;
  /** A scalar, or the name of a message or an enum of the tables below. */
  readonly type: string;
  readonly repeated: boolean;
  /** The type of a map's keys; `type` is then that of its values. */
  readonly key: 'string' | 'uint64' | undefined;
  /** At most one field of a group may be set, and one that is not set has no default. */
  readonly oneof: string | undefined;
}

/**
 * The messages of a model's configuration, in the order in which the server's JSON has their fields, which is neither that
 * of the numbers nor that of the client's proto file. `repeated T`, `map<K, V>` and `T of GROUP` mean what they say.
 */
const MESSAGES = {
  ModelConfig: {
    name: 'string',
    platform: 'string',
    backend: 'string',
    runtime: 'string',
    version_policy: 'ModelVersionPolicy',
    max_batch_size: 'int32',
    input: 'repeated ModelInput',
    output: 'repeated ModelOutput',
    batch_input: 'repeated BatchInput',
    batch_output: 'repeated BatchOutput',
    optimization: 'ModelOptimizationPolicy',
    dynamic_batching: 'ModelDynamicBatching of scheduling_choice',
    sequence_batching: 'ModelSequenceBatching of scheduling_choice',
    ensemble_scheduling: 'ModelEnsembling of scheduling_choice',
    instance_group: 'repeated ModelInstanceGroup',
    default_model_filename: 'string',
    cc_model_filenames: 'map<string, string>',
    metric_tags: 'map<string, string>',
    parameters: 'map<string, ModelParameter>',
    model_warmup: 'repeated ModelWarmup',
    model_operations: 'ModelOperations',
    model_transaction_policy: 'ModelTransactionPolicy',
    model_repository_agents: 'ModelRepositoryAgents',
    response_cache: 'ModelResponseCache',
    model_metrics: 'ModelMetrics',
  },
  ModelParameter: { string_value: 'string' },
  ModelInput: {
    name: 'string',
    data_type: 'DataType',
    format: 'ModelInput.Format',
    dims: 'repeated int64',
    reshape: 'ModelTensorReshape',
    is_shape_tensor: 'bool',
    allow_ragged_batch: 'bool',
    optional: 'bool',
    is_non_linear_format_io: 'bool',
  },
  ModelOutput: {
    name: 'string',
    data_type: 'DataType',
    dims: 'repeated int64',
    reshape: 'ModelTensorReshape',
    label_filename: 'string',
    is_shape_tensor: 'bool',
    is_non_linear_format_io: 'bool',
  },
  ModelTensorReshape: { shape: 'repeated int64' },
  BatchInput: {
    kind: 'BatchInput.Kind',
    target_name: 'repeated string',
    data_type: 'DataType',
    source_input: 'repeated string',
  },
  BatchOutput: { target_name: 'repeated string', kind: 'BatchOutput.Kind', source_input: 'repeated string' },
  ModelInstanceGroup: {
    name: 'string',
    kind: 'ModelInstanceGroup.Kind',
    count: 'int32',
    rate_limiter: 'ModelRateLimiter',
    gpus: 'repeated int32',
    secondary_devices: 'repeated ModelInstanceGroup.SecondaryDevice',
    profile: 'repeated string',
    passive: 'bool',
    host_policy: 'string',
  },
  'ModelInstanceGroup.SecondaryDevice': {
    kind: 'ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind',
    device_id: 'int64',
  },
  ModelRateLimiter: { resources: 'repeated ModelRateLimiter.Resource', priority: 'uint32' },
  'ModelRateLimiter.Resource': { name: 'string', global: 'bool', count: 'uint32' },
  ModelDynamicBatching: {
    preferred_batch_size: 'repeated int32',
    max_queue_delay_microseconds: 'uint64',
    preserve_ordering: 'bool',
    priority_levels: 'uint64',
    default_priority_level: 'uint64',
    default_queue_policy: 'ModelQueuePolicy',
    priority_queue_policy: 'map<uint64, ModelQueuePolicy>',
  },
  ModelSequenceBatching: {
    direct: 'ModelSequenceBatching.StrategyDirect of strategy_choice',
    oldest: 'ModelSequenceBatching.StrategyOldest of strategy_choice',
    max_sequence_idle_microseconds: 'uint64',
    control_input: 'repeated ModelSequenceBatching.ControlInput',
    state: 'repeated ModelSequenceBatching.State',
    iterative_sequence: 'bool',
  },
  'ModelSequenceBatching.Control': {
    kind: 'ModelSequenceBatching.Control.Kind',
    int32_false_true: 'repeated int32',
    fp32_false_true: 'repeated float',
    bool_false_true: 'repeated bool',
    data_type: 'DataType',
  },
  'ModelSequenceBatching.ControlInput': { name: 'string', control: 'repeated ModelSequenceBatching.Control' },
  'ModelSequenceBatching.InitialState': {
    data_type: 'DataType',
    dims: 'repeated int64',
    name: 'string',
    zero_data: 'bool of state_data',
    data_file: 'string of state_data',
  },
  'ModelSequenceBatching.State': {
    input_name: 'string',
    output_name: 'string',
    data_type: 'DataType',
    dims: 'repeated int64',
    initial_state: 'repeated ModelSequenceBatching.InitialState',
    use_same_buffer_for_input_output: 'bool',
    use_growable_memory: 'bool',
  },
  'ModelSequenceBatching.StrategyDirect': {
    max_queue_delay_microseconds: 'uint64',
    minimum_slot_utilization: 'float',
  },
  'ModelSequenceBatching.StrategyOldest': {
    max_candidate_sequences: 'int32',
    preferred_batch_size: 'repeated int32',
    max_queue_delay_microseconds: 'uint64',
    preserve_ordering: 'bool',
  },
  ModelEnsembling: { step: 'repeated ModelEnsembling.Step', max_inflight_requests: 'uint32' },
  'ModelEnsembling.Step': {
    model_name: 'string',
    model_version: 'int64',
    input_map: 'map<string, string>',
    output_map: 'map<string, string>',
    model_namespace: 'string',
  },
  ModelQueuePolicy: {
    timeout_action: 'ModelQueuePolicy.TimeoutAction',
    default_timeout_microseconds: 'uint64',
    allow_timeout_override: 'bool',
    max_queue_size: 'uint32',
  },
  ModelTransactionPolicy: { decoupled: 'bool' },
  ModelResponseCache: { enable: 'bool' },
  ModelVersionPolicy: {
    latest: 'ModelVersionPolicy.Latest of policy_choice',
    all: 'ModelVersionPolicy.All of policy_choice',
    specific: 'ModelVersionPolicy.Specific of policy_choice',
  },
  'ModelVersionPolicy.Latest': { num_versions: 'uint32' },
  'ModelVersionPolicy.All': {},
  'ModelVersionPolicy.Specific': { versions: 'repeated int64' },
  ModelOptimizationPolicy: {
    graph: 'ModelOptimizationPolicy.Graph',
    priority: 'ModelOptimizationPolicy.ModelPriority',
    cuda: 'ModelOptimizationPolicy.Cuda',
    execution_accelerators: 'ModelOptimizationPolicy.ExecutionAccelerators',
    input_pinned_memory: 'ModelOptimizationPolicy.PinnedMemoryBuffer',
    output_pinned_memory: 'ModelOptimizationPolicy.PinnedMemoryBuffer',
    gather_kernel_buffer_threshold: 'uint32',
    eager_batching: 'bool',
  },
  'ModelOptimizationPolicy.Graph': { level: 'int32' },
  'ModelOptimizationPolicy.Cuda': {
    graphs: 'bool',
    busy_wait_events: 'bool',
    graph_spec: 'repeated ModelOptimizationPolicy.Cuda.GraphSpec',
    output_copy_stream: 'bool',
  },
  'ModelOptimizationPolicy.Cuda.GraphSpec': {
    batch_size: 'int32',
    input: 'map<string, ModelOptimizationPolicy.Cuda.GraphSpec.Shape>',
    graph_lower_bound: 'ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound',
  },
  'ModelOptimizationPolicy.Cuda.GraphSpec.Shape': { dim: 'repeated int64' },
  'ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound': {
    batch_size: 'int32',
    input: 'map<string, ModelOptimizationPolicy.Cuda.GraphSpec.Shape>',
  },
  'ModelOptimizationPolicy.ExecutionAccelerators': {
    gpu_execution_accelerator: 'repeated ModelOptimizationPolicy.ExecutionAccelerators.Accelerator',
    cpu_execution_accelerator: 'repeated ModelOptimizationPolicy.ExecutionAccelerators.Accelerator',
  },
  'ModelOptimizationPolicy.ExecutionAccelerators.Accelerator': { name: 'string', parameters: 'map<string, string>' },
  'ModelOptimizationPolicy.PinnedMemoryBuffer': { enable: 'bool' },
  ModelWarmup: { name: 'string', batch_size: 'uint32', inputs: 'map<string, ModelWarmup.Input>', count: 'uint32' },
  'ModelWarmup.Input': {
    data_type: 'DataType',
    dims: 'repeated int64',
    zero_data: 'bool of input_data_type',
    random_data: 'bool of input_data_type',
    input_data_file: 'string of input_data_type',
  },
  ModelOperations: { op_library_filename: 'repeated string' },
  ModelRepositoryAgents: { agents: 'repeated ModelRepositoryAgents.Agent' },
  'ModelRepositoryAgents.Agent': { name: 'string', parameters: 'map<string, string>' },
  ModelMetrics: { metric_control: 'repeated ModelMetrics.MetricControl' },
  'ModelMetrics.MetricControl': {
    metric_identifier: 'ModelMetrics.MetricControl.MetricIdentifier',
    histogram_options: 'ModelMetrics.MetricControl.HistogramOptions of metric_options',
  },
  'ModelMetrics.MetricControl.MetricIdentifier': { family: 'string' },
  'ModelMetrics.MetricControl.HistogramOptions': { buckets: 'repeated double' },
} as const;

/** The names of each enum's values; a name's place is its number. */
const ENUMS: Readonly<Record<string, readonly string[]>> = {
  DataType:
    'TYPE_INVALID TYPE_BOOL TYPE_UINT8 TYPE_UINT16 TYPE_UINT32 TYPE_UINT64 TYPE_INT8 TYPE_INT16 TYPE_INT32 TYPE_INT64 TYPE_FP16 TYPE_FP32 TYPE_FP64 TYPE_STRING TYPE_BF16'.split(
      ' ',
    ),
  'ModelInput.Format': ['FORMAT_NONE', 'FORMAT_NHWC', 'FORMAT_NCHW'],
  'BatchInput.Kind': [
    'BATCH_ELEMENT_COUNT',
    'BATCH_ACCUMULATED_ELEMENT_COUNT',
    'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO',
    'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE',
    'BATCH_ITEM_SHAPE',
    'BATCH_ITEM_SHAPE_FLATTEN',
  ],
  'BatchOutput.Kind': ['BATCH_SCATTER_WITH_INPUT_SHAPE'],
  'ModelInstanceGroup.Kind': ['KIND_AUTO', 'KIND_GPU', 'KIND_CPU', 'KIND_MODEL'],
  'ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind': ['KIND_NVDLA'],
  'ModelSequenceBatching.Control.Kind': [
    'CONTROL_SEQUENCE_START',
    'CONTROL_SEQUENCE_READY',
    'CONTROL_SEQUENCE_END',
    'CONTROL_SEQUENCE_CORRID',
  ],
  'ModelQueuePolicy.TimeoutAction': ['REJECT', 'DELAY'],
  'ModelOptimizationPolicy.ModelPriority': ['PRIORITY_DEFAULT', 'PRIORITY_MAX', 'PRIORITY_MIN'],
};

function fieldOf(name: string, notation: string): Field {
  const [, map, repeated, type = '', oneof] =
    /^(?:map<(\w+), |(repeated) )?([\w.]+)>?(?: of (\w+))?$/.exec(notation) ?? [];
  return { name, type, repeated: repeated !== undefined, key: map as Field['key'], oneof };
}

const FIELDS: ReadonlyMap<string, ReadonlyMap<string, Field>> = new Map(
  Object.entries(MESSAGES).map(([message, fields]) => [
    message,
    new Map(Object.entries(fields).map(([name, notation]) => [name, fieldOf(name, notation)])),
  ]),
);

/** The fields of a message by their names, in the server's order; undefined for what is no message. */
export function fieldsOf(message: string): ReadonlyMap<string, Field> | undefined {
  return FIELDS.get(message);
}

/** The names of an enum's values; undefined for what is no enum. */
export function enumNames(type: string): readonly string[] | undefined {
  return ENUMS[type];
}

export const messageNames: readonly string[] = [...FIELDS.keys()];
export const enumTypes: readonly string[] = Object.keys(ENUMS);

/**
 * Fields that came late, with the last minor version of 2 that does not know them: there it refuses them, and its own
 * configurations have none. Seen on 2.48 and 2.51, in which of the releases between or after them a field came was not.
 */
const LATE: ReadonlyMap<string, number> = new Map([
  ['ModelInput.is_non_linear_format_io', 48],
  ['ModelOutput.is_non_linear_format_io', 48],
  ['ModelConfig.model_metrics', 51],
  ['ModelEnsembling.max_inflight_requests', 51],
]);

/** Whether a server of this version knows a field. @param serverVersion - such as '2.51.0' */
export function knows(serverVersion: string, message: string, field: string): boolean {
  return Number(serverVersion.split('.')[1]) > (LATE.get(`${message}.${field}`) ?? 0);
}
