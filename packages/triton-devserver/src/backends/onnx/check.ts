import { type Datatype, datatypeOfConfig } from '../../datatype.js';
import type { ModelConfig, ModelInput, ModelOutput } from '../../grpc/gen/model_config.js';
import { internal, invalid, ServerError } from '../../status.js';
import type { Described, DescribedTensor } from './messages.js';
import { datatypeOf, dimsOf, onnxType } from './types.js';

const shapeText = (dims: readonly (number | bigint)[]) => `[${dims.join(',')}]`;

/**
 * Whether a configuration fits its file, as the real ONNX Runtime backend checks it when an instance starts (ValidateInputs,
 * ValidateOutputs of its onnxruntime.cc, CompareDimsSupported of onnxruntime_utils.cc), in its words.
 *
 * @throws ServerError
 */
export function checkAgainst({ inputs, outputs }: Described, config: ModelConfig): void {
  const { name } = config;
  refuseUnable(config);
  const controls = config.sequence_batching?.control_input ?? [];
  for (const control of controls) checkControl(control.name, inputs, config);
  const required = config.input.filter(({ optional }) => !optional).length;
  if (inputs.length !== required + controls.length) {
    throw invalid(
      `unable to load model '${name}', configuration expects ${required + controls.length} inputs, ` +
        `model provides ${inputs.length}`,
    );
  }
  for (const input of config.input) checkTensor('input', input, inputs, config);
  for (const output of config.output) checkTensor('output', output, outputs, config);
}

/** What a real server has and nobody gives the model here. */
function refuseUnable(config: ModelConfig): void {
  const wanted = {
    'inputs made of the batch (batch_input)': config.batch_input.length > 0,
    'outputs scattered over the batch (batch_output)': config.batch_output.length > 0,
    'ragged batches': config.input.some((input) => input.allow_ragged_batch),
    'the state of a sequence': (config.sequence_batching?.state.length ?? 0) > 0,
    'optional inputs, which onnxruntime-node has no way to give': config.input.some(({ optional }) => optional),
  };
  for (const [what, is] of Object.entries(wanted)) {
    if (is) throw new ServerError('UNSUPPORTED', `model '${config.name}': the devserver's ONNX models have no ${what}`);
  }
}

function checkControl(control: string, inputs: readonly DescribedTensor[], config: ModelConfig): void {
  const found = inputs.find((input) => input.name === control);
  if (found === undefined) {
    throw internal(`configuration specified sequence control '${control}', but model does not provide that input`);
  }
  const dims = dimsOf(found).slice(config.max_batch_size > 0 ? 1 : 0);
  if (dims.length === 1 && dims[0] === 1) return;
  throw invalid(
    `unable to load model '${config.name}', sequence control '${control}' in model has dims ${shapeText(dims)} ` +
      'but dims [1] is expected',
  );
}

function checkTensor(
  kind: 'input' | 'output',
  tensor: ModelInput | ModelOutput,
  provided: readonly DescribedTensor[],
  config: ModelConfig,
): void {
  const { name } = tensor;
  const unable = `unable to load model '${config.name}'`;
  const found = provided.find((each) => each.name === name);
  if (found === undefined) {
    const allowed = provided.map((each) => each.name).sort();
    throw invalid(`unexpected inference ${kind} '${name}', allowed ${kind}s are: ${allowed.join(', ')}`);
  }
  const datatype: Datatype = datatypeOfConfig(tensor.data_type);
  if (onnxType(datatype) === undefined) {
    throw internal(`unsupported datatype ${tensor.data_type} for ${kind} '${name}' for model '${config.name}'`);
  }
  const provides = datatypeOf(found.type);
  if (provides !== datatype) {
    throw invalid(
      `${unable}, configuration expects datatype ${tensor.data_type} for ${kind} '${name}', ` +
        `model provides TYPE_${provides ?? '<invalid>'}`,
    );
  }
  const dims = (tensor.reshape?.shape ?? tensor.dims).map(Number);
  const shape = dimsOf(found);
  if (shape.length > 0) {
    checkDims(name, { shape, dims, exact: kind === 'output' }, config);
  } else if (dims.some((dim) => dim !== 1)) {
    throw invalid(
      `${unable}, scalar tensor '${name}', should only provide 1 in the model configuration when the model doesn't ` +
        `support batching. Model configuration provided: ${shapeText(dims)}.`,
    );
  }
}

interface Dims {
  /** The file's. */
  readonly shape: readonly number[];
  /** The configuration's, without the batch. */
  readonly dims: readonly number[];
  /** Whether a dimension that is free in the file must be so in the configuration. */
  readonly exact: boolean;
}

function checkDims(name: string, { shape, dims, exact }: Dims, config: ModelConfig): void {
  const where = `model '${config.name}', tensor '${name}'`;
  const batched = config.max_batch_size > 0;
  if (batched && shape[0] !== -1) {
    throw invalid(
      `${where}: for the model to support batching the shape should have at least 1 dimension and the first dimension ` +
        `must be -1; but shape expected by the model is ${shapeText(shape)}`,
    );
  }
  const full = batched ? [-1, ...dims] : dims;
  const fits = (dim: number, at: number) => (!exact && dim === -1) || dim === full[at];
  if (shape.length === full.length && shape.every(fits)) return;
  const said = batched
    ? ` dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, ` +
      `making complete shape ${shapeText(full)})`
    : ` dimensions (shape ${shapeText(full)})`;
  throw invalid(
    `${where}: the model expects ${shape.length} dimensions (shape ${shapeText(shape)}) but the model configuration ` +
      `specifies ${full.length}${said}`,
  );
}
