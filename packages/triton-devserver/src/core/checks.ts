import { serializeElements } from '../bytes-elements.js';
import { type Datatype, datatypeOfConfig, elementByteLength, elementCount } from '../datatype.js';
import type { ModelConfig, ModelInput } from '../grpc/gen/model_config.js';
import type { Personality } from '../personality.js';
import { invalid } from '../status.js';
import { checkElements } from './bytes-check.js';
import type { InferenceRequest, TensorSource } from './inference.js';
import { inMapOrder } from './map-order.js';

/** What Triton's core checks of a request before it is queued (InferenceRequest::Normalize), in its order and words. */

export interface CheckedInput {
  readonly name: string;
  readonly datatype: Datatype;
  /** With the batch dimension, unless that is 0: a model then gets the tensor without it (seen on 2.51 and 2.48). */
  readonly shape: readonly number[];
  readonly source: TensorSource;
}

export interface CheckedRequest {
  readonly inputs: readonly CheckedInput[];
  /** The names of the outputs to be answered, in the model's order. */
  readonly outputs: readonly string[];
  /** At least 1: what the statistics count. */
  readonly batchSize: number;
}

/** What stands before the text of most errors of the core. */
export const requestIdPrefix = (id: string) => `[request id: ${id === '' ? '<id_unknown>' : id}] `;

/** A size may be too large to be shown as the number that it is. */
const dimensions = (shape: readonly number[]) => `[${shape.map(BigInt).join(',')}]`;
/** The server takes the last character of its list away, be it a comma or the bracket. */
const nameList = (names: readonly string[]) =>
  names.length === 0 ? ']' : `[${names.map((name) => `'${name}'`).join(',')}]`;

/** @throws ServerError for an input that is there twice; front ends call it while they read a request */
export function refuseTwice(id: string, names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw invalid(`${requestIdPrefix(id)}input '${name}' already exists in request`);
    seen.add(name);
  }
}

/** @throws ServerError for a request that doesn't fit its model */
export function checkRequest(request: InferenceRequest, config: ModelConfig, personality: Personality): CheckedRequest {
  const prefix = requestIdPrefix(request.id);
  const model = config.name;
  const inputs =
    request.rawInput === undefined ? inMapOrder(request.inputs) : [rawInput(request.rawInput, config, prefix)];
  const outputs = requestedOutputs(request, config);
  checkCount(inputs, config, prefix);

  const batched = config.max_batch_size > 0;
  let batchSize = 0;
  const byName = new Map(config.input.map((input) => [input.name, input]));
  const configOf = (name: string): ModelInput => {
    const found = byName.get(name);
    if (found === undefined) throw invalid(`unexpected inference input '${name}' for model '${model}'`);
    return found;
  };
  if (!batched && personality.looksUpInputsFirst) for (const { name } of inputs) configOf(name);
  if (batched) {
    for (const { name, shape } of inputs) {
      configOf(name);
      const [first] = shape;
      if (first === undefined) {
        throw invalid(`${prefix}input '${name}' has no shape but model requires batch dimension for '${model}'`);
      }
      // The server keeps 32 bits of it, and takes the next input's where it is 0.
      if (batchSize === 0) batchSize = Number(BigInt.asUintN(32, BigInt(first)));
      else if (first !== batchSize) {
        throw invalid(`${prefix}input '${name}' batch size does not match other inputs for '${model}'`);
      }
    }
    // Compared as a number with a sign: from 2^31 on it passes.
    if ((batchSize | 0) > config.max_batch_size) {
      throw invalid(`${prefix}inference request batch-size must be <= ${config.max_batch_size} for '${model}'`);
    }
  }

  const checked = inputs.map((input): CheckedInput => {
    const { name, source } = input;
    const expected = configOf(name);
    const datatype = datatypeOfConfig(expected.data_type);
    if (input.datatype !== datatype) {
      const got = input.datatype ?? '<invalid>';
      throw invalid(
        `${prefix}inference input '${name}' data-type is '${got}', but model '${model}' expects '${datatype}'`,
      );
    }
    const own = batched ? input.shape.slice(1) : input.shape;
    checkShape(expected, own, input.shape, config, prefix);
    const shape = batchSize > 0 ? [batchSize, ...own] : own;
    checkSize(input.name, datatype, shape, source, prefix, model, personality);
    return { name, datatype, shape, source };
  });
  return { inputs: checked, outputs, batchSize: Math.max(1, batchSize) };
}

function requestedOutputs(request: InferenceRequest, config: ModelConfig): string[] {
  const names = config.output.map(({ name }) => name);
  // The server keeps them in a std::set.
  const wanted = request.outputs.map(({ name }) => Buffer.from(name)).sort((a, b) => Buffer.compare(a, b));
  for (const name of wanted.map(String)) {
    if (!names.includes(name)) {
      throw invalid(`unexpected inference output '${name}' for model '${config.name}'`);
    }
  }
  if (request.outputs.length === 0) return names;
  return names.filter((name) => request.outputs.some((output) => output.name === name));
}

function checkCount(inputs: readonly { name: string }[], config: ModelConfig, prefix: string): void {
  const required = config.input.filter(({ optional }) => !optional);
  const known = config.input.length;
  if (inputs.length <= known && inputs.length >= required.length) return;
  const missing = required.filter(({ name }) => !inputs.some((input) => input.name === name));
  const got = inputs.map(({ name }) => `'${name}'`);
  const rest =
    `inputs but got ${inputs.length} inputs for model '${config.name}'. Got input(s) [${got.join(',')}], ` +
    `but missing required input(s) ${nameList(missing.map(({ name }) => name))}. Please provide all required input(s).`;
  throw invalid(
    required.length === known
      ? `${prefix}expected ${known} ${rest}`
      : `${prefix}expected number of inputs between ${required.length} and ${known} ${rest.slice('inputs '.length)}`,
  );
}

function checkShape(
  expected: ModelInput,
  shape: readonly number[],
  original: readonly number[],
  config: ModelConfig,
  prefix: string,
): void {
  const dims = expected.dims.map(Number);
  const { name } = expected;
  const fits =
    dims.length === shape.length &&
    dims.every((dim, index) => {
      if (shape[index] === -1) {
        throw invalid(
          `${prefix}All input dimensions should be specified for input '${name}' for model '${config.name}', got ${dimensions(original)}`,
        );
      }
      return dim === -1 || dim === shape[index];
    });
  if (fits) return;
  const batched = config.max_batch_size > 0;
  const note = batched
    ? 'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.'
    : '';
  throw invalid(
    `${prefix}unexpected shape for input '${name}' for model '${config.name}'. ` +
      `Expected ${dimensions(batched ? [-1, ...dims] : dims)}, got ${dimensions(original)}. ${note}`,
  );
}

function checkSize(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  source: TensorSource,
  prefix: string,
  model: string,
  personality: Personality,
): void {
  const size = elementByteLength(datatype);
  const count = elementCount(shape);
  if (size === undefined) {
    // What is on a GPU is left to the model, as on the real server.
    if ('region' in source && source.region.kind === 'cuda') return;
    const bytes = 'bytes' in source ? source.bytes : (source.region.read() as Uint8Array);
    checkElements(bytes, count, { prefix, input: name, model }, personality);
    return;
  }
  const got = 'bytes' in source ? source.bytes.byteLength : source.region.byteLength;
  // The server's product is of 64 bits, and wraps.
  const expected = shape.reduce((product, length) => BigInt.asIntN(64, product * BigInt(length)), BigInt(size));
  if (BigInt(got) !== expected) {
    // A region's size may have wrapped to more than a number shows exactly.
    const exact = 'bytes' in source ? got : source.region.byteSize;
    throw invalid(
      `${prefix}input byte size mismatch for input '${name}' for model '${model}'. Expected ${expected}, got ${exact}`,
    );
  }
}

/** The tensor that a request of nothing but bytes must mean. */
function rawInput(bytes: Uint8Array, config: ModelConfig, prefix: string): CheckedInput {
  const [input] = config.input;
  if (input === undefined || config.input.length !== 1) {
    throw invalid(
      `${prefix}Raw request must only have 1 input (found 1) to be deduced but got ${config.input.length} inputs in '${config.name}' model configuration`,
    );
  }
  const datatype = datatypeOfConfig(input.data_type);
  const dims = input.dims.map(Number);
  const batch = config.max_batch_size > 0 ? [1] : [];
  const size = elementByteLength(datatype);
  if (size === undefined) {
    if (dims.length !== 1 || dims[0] !== 1) {
      throw invalid(`${prefix}For BYTE datatype raw input '${input.name}', the model must have input shape [1]`);
    }
    const source = { bytes: serializeElements([bytes]) };
    return { name: input.name, datatype, shape: [...batch, ...dims.map(() => 1)], source };
  }
  const fixed = dims.filter((dim) => dim !== -1).reduce((product, dim) => product * dim, size);
  if (dims.length - dims.filter((dim) => dim !== -1).length > 1) {
    throw invalid(
      `${prefix}The shape of the raw input '${input.name}' can not be deduced because there are more than one variable-sized dimension`,
    );
  }
  const dynamic = dims.includes(-1);
  if (dynamic ? bytes.byteLength % fixed !== 0 : bytes.byteLength !== fixed) {
    const expected = dynamic ? Math.floor(bytes.byteLength / fixed) * fixed : fixed;
    throw invalid(
      `${prefix}input byte size mismatch for input 'raw_input' for model '${config.name}'. Expected ${expected}, got ${bytes.byteLength}`,
    );
  }
  const shape = [...batch, ...dims.map((dim) => (dim === -1 ? bytes.byteLength / fixed : dim))];
  return { name: input.name, datatype, shape, source: { bytes } };
}
