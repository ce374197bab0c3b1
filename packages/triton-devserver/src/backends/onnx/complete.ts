import { configFromJson } from '../../config/from-json.js';
import type { ModelConfig } from '../../grpc/gen/model_config.js';
import { invalid, ServerError } from '../../status.js';
import type { Described, DescribedTensor } from './messages.js';
import { sessionOptions } from './session-options.js';
import { OnnxThread } from './thread.js';
import { datatypeOf, dimsOf } from './types.js';

/** `--backend-config=default-max-batch-size` of a server that was given none. */
const DEFAULT_MAX_BATCH_SIZE = 4;

/**
 * Completes a configuration as the real ONNX Runtime backend does (AutoCompleteConfig of its onnxruntime.cc): the backend's
 * name, and where inputs or outputs are missing, those of the file, which is opened for it, and batching.
 *
 * @param name the model's
 * @returns what is wrong with the file or does not fit it; a real server finds it when it starts a version
 */
export async function completeFromOnnx(
  config: ModelConfig,
  path: string,
  { name, serverVersion }: { readonly name: string; readonly serverVersion: string },
): Promise<Error | undefined> {
  if (config.backend === '' && config.platform === '') config.backend = 'onnxruntime';
  if (config.input.length + config.batch_input.length > 0 && config.output.length > 0) return undefined;
  try {
    const thread = await OnnxThread.open(path, sessionOptions(config));
    await thread.close();
    complete(config, thread.tensors, name, serverVersion);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function complete(config: ModelConfig, { inputs, outputs }: Described, name: string, serverVersion: string): void {
  for (const tensor of [...inputs, ...outputs]) {
    if (tensor.isTensor) continue;
    throw new ServerError(
      'UNSUPPORTED',
      `Unsupported ONNX Type for I/O '${tensor.name}', expected 'ONNX_TYPE_TENSOR'.`,
    );
  }
  const batches = [...inputs, ...outputs].every((tensor) => dimsOf(tensor)[0] === -1);
  if (!batches && config.max_batch_size !== 0) {
    throw invalid(
      `autofill failed for model '${name}': model does not support batching while non-zero max_batch_size is specified`,
    );
  }
  if (batches && config.max_batch_size === 0) config.max_batch_size = DEFAULT_MAX_BATCH_SIZE;
  const tensors = (described: readonly DescribedTensor[]) =>
    described.map((tensor) => tensorConfig(tensor, config.max_batch_size > 0));
  const found = configFromJson(
    { input: tensors(inputs), output: tensors(outputs), dynamic_batching: {} },
    serverVersion,
  );
  if (config.input.length + config.batch_input.length === 0) config.input = found.input;
  if (config.output.length === 0) config.output = found.output;
  const scheduled = config.dynamic_batching !== undefined || config.sequence_batching !== undefined;
  if (config.max_batch_size > 1 && !scheduled) config.dynamic_batching = found.dynamic_batching;
}

function tensorConfig(tensor: DescribedTensor, batched: boolean) {
  const datatype = datatypeOf(tensor.type);
  const type = datatype === 'BYTES' ? 'STRING' : (datatype ?? 'INVALID');
  const dims = batched ? dimsOf(tensor).slice(1) : dimsOf(tensor);
  const base = { name: tensor.name, data_type: `TYPE_${type}` };
  // A configuration can't say that there are no dimensions.
  if (dims.length > 0) return { ...base, dims };
  return { ...base, dims: [1], ...(batched ? { reshape: { shape: [] } } : {}) };
}
