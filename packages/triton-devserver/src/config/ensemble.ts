import type { DataType, ModelConfig, ModelEnsembling_Step } from '../grpc/gen/model_config.js';
import { invalid } from '../status.js';

/** What is known of a tensor that passes between an ensemble's steps, and from which model. */
interface Tensor {
  readonly model: string;
  readonly type: DataType;
  readonly dims: readonly bigint[];
  /** With the batch dimension. */
  readonly full: readonly bigint[];
}

/**
 * Holds an ensemble to the models that it is made of, in the server's order and words.
 *
 * @param parts - the completed configuration of each of its models, by name
 * @returns the ensemble's, which says whether it is decoupled: it is as soon as one of them is
 * @throws ServerError
 */
export function joinEnsemble(config: ModelConfig, parts: ReadonlyMap<string, ModelConfig>): ModelConfig {
  const tensors = new Map<string, Tensor>();
  for (const end of [...config.input, ...config.output]) {
    tensors.set(end.name, tensorOf(config, end.data_type, end.reshape?.shape ?? end.dims));
  }
  let decoupled = false;
  for (const step of config.ensemble_scheduling?.step ?? []) {
    const part = parts.get(step.model_name);
    if (part === undefined) throw new Error(`joinEnsemble needs the configuration of ${step.model_name}`);
    if (part.max_batch_size !== 0 && part.max_batch_size < config.max_batch_size) {
      const text = `ensemble ${config.name} allows maximum batch size ${config.max_batch_size}, but it contains model ${part.name}`;
      throw invalid(`${text} which only allows maximum batch size to be ${part.max_batch_size}`);
    }
    joinInputs(config.name, step, part, tensors);
    joinOutputs(config.name, step, part, tensors);
    decoupled ||= part.model_transaction_policy?.decoupled === true;
  }
  return { ...config, model_transaction_policy: { decoupled } };
}

function joinInputs(
  ensemble: string,
  step: ModelEnsembling_Step,
  part: ModelConfig,
  tensors: Map<string, Tensor>,
): void {
  for (const [input, tensor] of Object.entries(step.input_map)) {
    if (part.input.some(({ name }) => name === input)) continue;
    const text = `in ensemble ${ensemble}, ensemble tensor ${tensor} is mapping to non-existing input ${input}`;
    throw invalid(`${text} in model ${part.name}`);
  }
  for (const input of part.input) {
    const tensor = Object.hasOwn(step.input_map, input.name) ? step.input_map[input.name] : undefined;
    if (tensor !== undefined) join(ensemble, tensor, tensorOf(part, input.data_type, input.dims), tensors);
    else if (!input.optional) {
      const text = `in ensemble ${ensemble}, input ${input.name} in model ${part.name}`;
      throw invalid(`${text} is not mapped to any ensemble tensors`);
    }
  }
}

function joinOutputs(
  ensemble: string,
  step: ModelEnsembling_Step,
  part: ModelConfig,
  tensors: Map<string, Tensor>,
): void {
  for (const [name, tensor] of Object.entries(step.output_map)) {
    const output = part.output.find((candidate) => candidate.name === name);
    if (output === undefined) {
      const text = `in ensemble ${ensemble}, ensemble tensor ${tensor} is mapped from non-existing output ${name}`;
      throw invalid(`${text} in model ${part.name}`);
    }
    join(ensemble, tensor, tensorOf(part, output.data_type, output.dims), tensors);
  }
}

function tensorOf(model: ModelConfig, type: DataType, dims: readonly bigint[]): Tensor {
  return { model: model.name, type, dims, full: model.max_batch_size > 0 ? [-1n, ...dims] : dims };
}

/** Two models that name one tensor must mean the same by it. */
function join(ensemble: string, tensor: string, found: Tensor, tensors: Map<string, Tensor>): void {
  const known = tensors.get(tensor);
  if (known === undefined) {
    tensors.set(tensor, found);
    return;
  }
  const where = `in ensemble ${ensemble}, ensemble tensor ${tensor}: `;
  if (known.type !== found.type) {
    throw invalid(
      `${where}inconsistent data type: ${known.type} is inferred from model ${known.model} while ${found.type} is inferred from model ${found.model}`,
    );
  }
  if (!agree(known.dims, found.dims) && !agree(known.full, found.full)) {
    throw invalid(
      `${where}inconsistent shape: [${known.full}] is inferred from model ${known.model} while [${found.full}] is inferred from model ${found.model}`,
    );
  }
}

/** -1 agrees with everything. */
function agree(a: readonly bigint[], b: readonly bigint[]): boolean {
  return a.length === b.length && a.every((dim, index) => dim === -1n || b[index] === -1n || dim === b[index]);
}
