import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const INPUT = 'input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1, -1 ] } ]\n';
const OUTPUT = 'output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1, -1 ] } ]\n';
const PYTHON = `backend: "python"\n`;
const CPU = 'instance_group [ { kind: KIND_CPU } ]\n';
/** What most configurations have. */
export const PLAIN: string = PYTHON + INPUT + OUTPUT + CPU;
const tensors = (from: string, to: string) => PYTHON + CPU + INPUT.replace(from, to) + OUTPUT;

/** An ensemble of one step. */
export function ensembleOf(
  part: string,
  { version = -1, from = 'INPUT0', to = 'OUTPUT0', type = 'TYPE_FP32', dims = '-1, -1' } = {},
): string {
  return `platform: "ensemble"
input [ { name: "A" data_type: ${type} dims: [ ${dims} ] } ]
output [ { name: "Z" data_type: TYPE_FP32 dims: [ -1, -1 ] } ]
ensemble_scheduling {
  step { model_name: "${part}" model_version: ${version} input_map { key: "${from}" value: "A" } output_map { key: "${to}" value: "Z" } }
}
`;
}

/** An ensemble with the input A and such outputs, in which `policy_all` does each step: from its input to its output. */
function flowOf(outputs: readonly string[], ...steps: readonly (readonly [takes: string, makes: string])[]): string {
  const [input, ...rest] = ['A', ...outputs].map((name) => `{ name: "${name}" data_type: TYPE_FP32 dims: [ -1, -1 ] }`);
  const parts = steps.map(
    ([takes, makes]) =>
      `{ model_name: "policy_all" model_version: -1 input_map { key: "INPUT0" value: "${takes}" } output_map { key: "OUTPUT0" value: "${makes}" } }`,
  );
  return `platform: "ensemble" input [ ${input} ] output [ ${rest.join(', ')} ] ensemble_scheduling { step [ ${parts.join(', ')} ] }`;
}

/** Configurations by the names of their folders: what a server takes. */
export const ACCEPTED: Readonly<Record<string, string>> = {
  no_instance_group: PYTHON + INPUT + OUTPUT,
  no_backend: INPUT + OUTPUT + CPU,
  platform_too: `${PLAIN}platform: "python"`,
  filename: `${PLAIN}default_model_filename: "model.py"`,
  dynamic: `${PLAIN}max_batch_size: 4 dynamic_batching {}`,
  dynamic_without_batch: `${PLAIN}dynamic_batching {}`,
  dynamic_policies: `${PLAIN}max_batch_size: 4 dynamic_batching {
    preferred_batch_size: [ 2, 4 ] priority_levels: 3 default_priority_level: 2
    default_queue_policy { timeout_action: DELAY } priority_queue_policy { key: 1 value { max_queue_size: 3 } } }`,
  sequence_plain: `${PLAIN}sequence_batching {}`,
  sequence_direct: `${PLAIN}sequence_batching { direct { minimum_slot_utilization: 0.3 } }`,
  sequence_oldest: `${PLAIN}max_batch_size: 8 sequence_batching { oldest { max_candidate_sequences: 4 } }`,
  sequence_controls: `${PLAIN}sequence_batching {
    control_input [
      { name: "START" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] },
      { name: "READY" control [ { kind: CONTROL_SEQUENCE_READY bool_false_true: [ false, true ] } ] }
    ]
    state [ { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: [ 1 ]
      initial_state { data_type: TYPE_FP32 dims: [ 1 ] zero_data: true name: "n" } } ] }`,
  policy_all: `${PLAIN}version_policy { all {} }`,
  policy_specific: `${PLAIN}version_policy { specific { versions: [ 1, 7 ] } }`,
  policy_empty: `${PLAIN}version_policy {}`,
  policy_latest_two: `${PLAIN}version_policy { latest { num_versions: 2 } }`,
  groups: `${PYTHON}${INPUT}${OUTPUT}instance_group [ { count: 2 }, { name: "x" kind: KIND_CPU count: -1 }, { kind: KIND_MODEL } ]`,
  rate_limiter: `${PYTHON}${INPUT}${OUTPUT}instance_group [ { kind: KIND_CPU rate_limiter { resources [ { name: "a" count: 1 } ] priority: 2 } } ]`,
  parameter: `${PLAIN}parameters { key: "b" value { string_value: "x\\n\\"q\\\\ \\303\\251/<>\\001\\037\\177" } }`,
  tag: `${PLAIN}metric_tags { key: "b" value: "é" }`,
  optimization: `${PLAIN}optimization {
    graph { level: 1 } priority: PRIORITY_MAX
    cuda { graphs: true busy_wait_events: 1 graph_spec { batch_size: 1 input { key: "INPUT0" value { dim: [ 1, 2 ] } }
      graph_lower_bound { batch_size: 1 input { key: "INPUT0" value { dim: [ 1, 2 ] } } } } }
    execution_accelerators { cpu_execution_accelerator: [ { name: "openvino" parameters { key: "a" value: "b" } } ] }
    input_pinned_memory { enable: false } eager_batching: true gather_kernel_buffer_threshold: 0x10 }`,
  warmup: `${PLAIN}model_warmup [ { name: "w" inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 1, 2 ] zero_data: true } } } ]`,
  cached: `${PLAIN}response_cache { enable: true }`,
  not_cached: `${PLAIN}response_cache {}`,
  transaction: `${PLAIN}model_transaction_policy {}`,
  operations: `${PLAIN}model_operations { op_library_filename: [ "a" ] }`,
  cc_filenames: `${PLAIN}cc_model_filenames { key: "7.5" value: "m" }`,
  reshaped: `${PYTHON}${CPU}max_batch_size: 2
    input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [] } } ]
    output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1 ] reshape: { shape: [ 1, 1 ] } label_filename: "labels.txt" } ]`,
  odd_text: `backend : 'py' "thon";
    input < name: "INPUT0", data_type: 11; dims: -1 dims: 0xA >, # a comment
    output: { name: 'OUTPUT0' data_type: TYPE_FP32 dims: [ 010 ] } instance_group { kind: 2 }`,
  no_inputs: PYTHON + CPU + OUTPUT,
  no_tensors: PYTHON + CPU,
  input_twice: PYTHON + CPU + INPUT + INPUT + OUTPUT,
  ragged: `${PYTHON}${CPU}max_batch_size: 2 batch_input [ { kind: BATCH_ELEMENT_COUNT target_name: "X" data_type: TYPE_FP32 source_input: "INPUT0" } ]
    batch_output [ { target_name: "OUTPUT0" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "INPUT0" } ]
    ${INPUT.replace('name:', 'allow_ragged_batch: true name:')}${OUTPUT}`,
  ensemble_plain: ensembleOf('policy_all'),
  ensemble_decoupled: ensembleOf('decoupled'),
  ensemble_input_too: flowOf(['Z', 'A'], ['A', 'Z']),
  ensemble_backwards: flowOf(['Z'], ['M', 'Z'], ['A', 'M']),
  ensemble_space: ensembleOf('policy_all').replace('model_name', 'model_namespace: "x" model_name'),
  decoupled: `${PLAIN}model_transaction_policy { decoupled: true }`,
  zero_version: PLAIN,
};

/** What a server refuses, and some that it loads in part. */
export const REFUSED: Readonly<Record<string, string>> = {
  other_name: `name: "other"\n${PLAIN}`,
  unknown_field: `${PLAIN}foo: 1`,
  newer_field: `${PLAIN}model_metrics {}`,
  newer_ensemble_field: `${PLAIN}ensemble_scheduling { max_inflight_requests: 1 }`,
  syntax: `${PLAIN}max_batch_size: [`,
  negative_batch: `${PLAIN}max_batch_size: -1`,
  batch_text: `${PLAIN}max_batch_size: "1"`,
  backend_twice: PYTHON + PLAIN,
  unknown_type: tensors('TYPE_FP32', 'TYPE_FOO'),
  two_schedulers: `${PLAIN}max_batch_size: 4 dynamic_batching {} sequence_batching {}`,
  no_priority: `${PLAIN}max_batch_size: 4 dynamic_batching { priority_levels: 3 }`,
  priority_range: `${PLAIN}max_batch_size: 4 dynamic_batching { priority_levels: 3 default_priority_level: 4 }`,
  preferred_range: `${PLAIN}max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 8 ] }`,
  preferred_zero: `${PLAIN}max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 0 ] }`,
  ordered_priorities: `${PLAIN}max_batch_size: 4 dynamic_batching { preserve_ordering: true priority_levels: 2 default_priority_level: 1 }`,
  control_without_pair: `${PLAIN}sequence_batching { control_input [ { name: "S" control [ { kind: CONTROL_SEQUENCE_START } ] } ] }`,
  control_twice: `${PLAIN}sequence_batching { control_input [
    { name: "S" control [ { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } ] },
    { name: "T" control [ { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } ] } ] }`,
  control_type: `${PLAIN}sequence_batching { control_input [ { name: "C" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32 } ] } ] }`,
  utilization: `${PLAIN}sequence_batching { direct { minimum_slot_utilization: 1.5 } }`,
  cached_decoupled: `${PLAIN}model_transaction_policy { decoupled: true } response_cache { enable: true }`,
  cached_sequence: `${PLAIN}sequence_batching {} response_cache { enable: true }`,
  zero_dimension: tensors('-1, -1', '0'),
  negative_dimension: tensors('-1, -1', '-2'),
  no_dimensions: tensors('-1, -1', ''),
  no_type: tensors('data_type: TYPE_FP32', ''),
  no_tensor_name: tensors('name: "INPUT0"', ''),
  output_dimension: PYTHON + CPU + INPUT + OUTPUT.replace('-1, -1', '0'),
  shape_tensor: tensors('name:', 'is_shape_tensor: true name:'),
  non_linear: tensors('name:', 'is_non_linear_format_io: true name:'),
  image_format: tensors('name:', 'format: FORMAT_NHWC name:'),
  reshape_size: PYTHON + CPU + INPUT.replace('-1, -1 ]', '2 ] reshape { shape: [ 3 ] }') + OUTPUT,
  reshape_empty: PYTHON + CPU + INPUT.replace('-1, -1 ]', '1 ] reshape { shape: [] }') + OUTPUT,
  reshape_zero: PYTHON + CPU + INPUT.replace('-1, -1 ]', '1 ] reshape { shape: [ 0 ] }') + OUTPUT,
  no_labels: PYTHON + CPU + INPUT + OUTPUT.replace('name:', 'label_filename: "nope.txt" name:'),
  gpu: `${PYTHON}${INPUT}${OUTPUT}instance_group [ { kind: KIND_GPU } ]`,
  cpu_with_gpus: `${PYTHON}${INPUT}${OUTPUT}instance_group [ { kind: KIND_CPU gpus: [ 0 ] } ]`,
  model_with_gpus: `${PYTHON}${INPUT}${OUTPUT}instance_group [ { kind: KIND_MODEL gpus: [ 0 ] } ]`,
  latest_none: `${PLAIN}version_policy { latest {} }`,
  specific_none: `${PLAIN}version_policy { specific {} }`,
  specific_missing: `${PLAIN}version_policy { specific { versions: [ 9 ] } }`,
  no_version: PLAIN,
  broken: PLAIN,
  broken_in_part: `${PLAIN}version_policy { all {} }`,
  ensemble_missing: ensembleOf('nowhere'),
  ensemble_unread: ensembleOf('syntax'),
  ensemble_broken: ensembleOf('broken'),
  ensemble_input: ensembleOf('policy_all', { from: 'NONE' }),
  ensemble_output: ensembleOf('policy_all', { to: 'NONE' }),
  ensemble_type: ensembleOf('policy_all', { type: 'TYPE_INT32' }),
  ensemble_shape: ensembleOf('policy_all', { dims: '-1' }),
  ensemble_version: ensembleOf('policy_all', { version: 7 }),
  ensemble_batch: `max_batch_size: 9 ${ensembleOf('dynamic')}`,
  ensemble_without: `platform: "ensemble"\n${INPUT}${OUTPUT}`,
  ensemble_empty: `platform: "ensemble"\n${INPUT}${OUTPUT}ensemble_scheduling {}`,
  ensemble_itself: ensembleOf('ensemble_itself', { from: 'A', to: 'Z' }),
  ensemble_backend: PYTHON + ensembleOf('policy_all'),
  ensemble_group: CPU + ensembleOf('policy_all'),
  ensemble_unused: `input { name: "B" data_type: TYPE_FP32 dims: 1 }\n${ensembleOf('policy_all')}`,
  ensemble_left_over: flowOf(['Z'], ['A', 'Z'], ['A', 'MORE']),
  ensemble_input_only: flowOf(['A'], ['A', 'Z']),
  ensemble_loop: flowOf(['Z'], ['A', 'Z'], ['LOOP', 'LOOP']),
  ensemble_loop_to_output: flowOf(['Z', 'Y'], ['A', 'Z'], ['Y', 'Y']),
  ensemble_unconnected: flowOf(['Z', 'Y'], ['A', 'Z'], ['NOWHERE', 'M'], ['M', 'Y']),
  ensemble_unconnected_and_left_over: flowOf(['Z', 'Y'], ['NOWHERE', 'Z'], ['A', 'Y'], ['A', 'MORE']),
  ensemble_idle_and_left_over: flowOf(['Z'], ['NOWHERE', 'Z'], ['NOWHERE', 'MORE']),
  ensemble_sourceless: `output { name: "Y" data_type: TYPE_FP32 dims: 1 }\n${ensembleOf('policy_all')}`,
};

/** A model for Python's backend that does nothing yet. */
export const PYTHON_MODEL = 'class TritonPythonModel:\n    def execute(self, requests):\n        return []\n';
export const JAVASCRIPT_MODEL = 'export default () => ({});\n';

/** Writes the same model for both servers. */
export function writeModel(folder: string, config: string | undefined, versions: readonly string[] = ['1']): void {
  for (const version of versions) {
    mkdirSync(join(folder, version), { recursive: true });
    writeFileSync(join(folder, version, 'model.py'), PYTHON_MODEL);
    writeFileSync(join(folder, version, 'model.mjs'), JAVASCRIPT_MODEL);
    // A file, so that Python leaves nothing in its place: that counts as a change, and the next load would start it anew.
    writeFileSync(join(folder, version, '__pycache__'), '');
  }
  if (config !== undefined) writeFileSync(join(folder, 'config.pbtxt'), config);
}

/** Makes a version fail on both servers, with an error of which both say no more than "Internal: …Error: boom". */
export function breakModel(folder: string, version = '1'): void {
  writeFileSync(join(folder, version, 'model.py'), 'raise ValueError("boom")\n');
  writeFileSync(join(folder, version, 'model.mjs'), 'throw new RangeError("boom");\n');
}

/** Fills a repository with all of the above and copies of other repositories, ready for both servers; gives the names. */
export function writeRepository(path: string, copies: readonly string[]): string[] {
  for (const [name, config] of Object.entries({ ...ACCEPTED, ...REFUSED })) writeModel(join(path, name), config);
  for (const name of ['policy_all', 'policy_specific', 'policy_empty', 'policy_latest_two', 'broken_in_part']) {
    writeModel(join(path, name), undefined, ['2', '10', 'x']);
  }
  writeModel(join(path, 'no_config'), undefined);
  rmSync(join(path, 'no_version', '1'), { recursive: true });
  renameSync(join(path, 'zero_version', '1'), join(path, 'zero_version', '0'));
  writeFileSync(join(path, 'reshaped', 'labels.txt'), 'a\nb\n');
  breakModel(join(path, 'broken'));
  breakModel(join(path, 'broken_in_part'), '2');
  const copied = copies.flatMap((repository) =>
    readdirSync(repository, { withFileTypes: true }).flatMap((entry) => {
      if (!entry.isDirectory()) return [];
      cpSync(join(repository, entry.name), join(path, entry.name), { recursive: true });
      writeFileSync(join(path, entry.name, '1', 'model.mjs'), JAVASCRIPT_MODEL);
      return [entry.name];
    }),
  );
  return [...Object.keys(ACCEPTED), ...Object.keys(REFUSED), 'no_config', ...copied];
}
