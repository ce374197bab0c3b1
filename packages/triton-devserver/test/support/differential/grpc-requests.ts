import type {
  InferParameter,
  ModelInferRequest_InferInputTensor as Input,
  ModelInferRequest,
} from '../../../src/grpc/gen/grpc_service.js';
import { isDeadlyGrpc } from './deadly.js';
import type { GeneratedModel } from './models.js';
import type { Random } from './random.js';
import type { SharedObjects } from './regions.js';
import { contents, fittingInputs, NO_CONTENTS, rawBytes } from './tensors.js';

export interface Surroundings {
  /** Of the real server. */
  readonly version: '2.51' | '2.48';
  readonly random: Random;
  readonly models: readonly GeneratedModel[];
  readonly shared: SharedObjects;
  /** Names of models that may not be loaded. */
  readonly unloaded: Set<string>;
}

/** Ids of sequences: few, as each that was begun keeps its place. */
const SEQUENCES: readonly InferParameter[] = [
  { int64_param: 1n },
  { int64_param: 2n },
  { int64_param: 3n },
  { int64_param: -1n },
  { string_param: 'a' },
  { string_param: 'bé' },
];

const ODD_PARAMETERS: readonly InferParameter[] = [
  {},
  { bool_param: true },
  { bool_param: false },
  { int64_param: 0n },
  { int64_param: 2n },
  { int64_param: -1n },
  { int64_param: 2n ** 62n },
  { uint64_param: 3n },
  { double_param: 1.5 },
  { double_param: 1 },
  { string_param: '' },
  { string_param: 'r' },
  { string_param: 'é"\\' },
];

export function grpcRequest(around: Surroundings, model: GeneratedModel): ModelInferRequest {
  const { random } = around;
  const values = fittingInputs(random, model);
  const typed = random.chance(0.3) && values.every(({ datatype }) => datatype !== 'FP16');
  const raw: Buffer[] = [];
  const inputs = values.map((value): Input => {
    const { name, datatype, shape } = value;
    const tensor = { name, datatype, shape: shape.map(BigInt), parameters: {} };
    if (random.chance(0.15)) {
      return { ...tensor, parameters: regionParameters(around, rawBytes(value).byteLength) };
    }
    if (typed) return { ...tensor, contents: contents(value) };
    raw.push(rawBytes(value));
    return tensor;
  });
  const outputs = random.chance(0.5)
    ? []
    : random
        .shuffled(model.outputs)
        .slice(0, random.integer(1, model.outputs.length))
        .map(({ name, datatype }) => {
          const parameters: Record<string, InferParameter> = random.chance(0.25)
            ? regionParameters(around, 400)
            : datatype !== 'BYTES' && random.chance(0.2)
              ? { classification: { int64_param: BigInt(random.integer(1, 4)) } }
              : {};
          return { name, parameters };
        });
  const request: ModelInferRequest = {
    model_name: model.name,
    model_version: random.pick(['', '', '1']),
    id: random.pick(['', '', 'q', 'é"\\']),
    parameters: requestParameters(random, model),
    inputs,
    outputs,
    raw_input_contents: raw,
  };
  const mutations = random.shuffled(MUTATIONS).slice(0, random.pick([0, 0, 1, 1, 2]));
  for (const mutate of mutations) mutate(request, around, model);
  return isDeadlyGrpc(request, around) ? grpcRequest(around, model) : request;
}

function regionParameters({ random, shared }: Surroundings, byteLength: number): Record<string, InferParameter> {
  const { offset, size } = shared.extent(random, byteLength);
  return {
    shared_memory_region: { string_param: shared.regionName(random) },
    shared_memory_byte_size: { int64_param: size },
    ...(offset === 0n ? {} : { shared_memory_offset: { int64_param: offset } }),
  };
}

function requestParameters(random: Random, { kind }: GeneratedModel): Record<string, InferParameter> {
  const parameters: Record<string, InferParameter> = {};
  if (random.chance(0.2))
    parameters.custom = random.pick(
      ODD_PARAMETERS.filter((value) => !('uint64_param' in value || Object.keys(value).length === 0)),
    );
  if (random.chance(0.1)) parameters.priority = { int64_param: BigInt(random.integer(0, 3)) };
  if (random.chance(0.1)) parameters.timeout = { int64_param: random.pick([1_000_000n, 2n ** 63n - 1n, -1n]) };
  if (kind === 'sequence' || random.chance(0.05)) {
    parameters.sequence_id = random.pick(SEQUENCES);
    if (random.chance(0.5)) parameters.sequence_start = { bool_param: true };
    if (random.chance(0.2)) parameters.sequence_end = { bool_param: true };
  }
  if (kind === 'decoupled') {
    parameters.answers = { int64_param: BigInt(random.integer(0, 3)) };
    if (random.chance(0.3)) parameters.fail_at = { int64_param: BigInt(random.integer(0, 2)) };
    if (random.chance(0.4)) parameters.own_final = { bool_param: true };
    if (random.chance(0.4)) parameters.triton_enable_empty_final_response = { bool_param: true };
  } else if (random.chance(0.05)) {
    parameters.fail = { string_param: random.pick(['error', 'code', 'raise']) };
  }
  return parameters;
}

type Mutation = (request: ModelInferRequest, around: Surroundings, model: GeneratedModel) => void;

const withInput =
  (change: (input: Input, around: Surroundings) => void): Mutation =>
  (request, around) => {
    if (request.inputs.length > 0) change(around.random.pick(request.inputs), around);
  };

const withRaw =
  (change: (bytes: Buffer, random: Random) => Buffer): Mutation =>
  (request, { random }) => {
    const raw = request.raw_input_contents;
    if (raw.length === 0) return;
    const at = random.integer(0, raw.length - 1);
    raw[at] = change(Buffer.from(raw[at] as Uint8Array), random);
  };

const MUTATIONS: readonly Mutation[] = [
  (request, { random, models }) => {
    request.model_name = random.pick(['', 'nope', 'é', ...models.map(({ name }) => name)]);
  },
  (request, { random }) => {
    request.model_version = random.pick(['2', '0', '-1', 'x', '01', ' 1', '1x', '99999999999999999999', '+1', '1.0']);
  },
  (request, { random }) => {
    request.id = random.pick(['x'.repeat(300), '%20', '\n', ' ', '<id_unknown>']);
  },
  (request, { random }) => {
    request.inputs.splice(random.integer(0, request.inputs.length), 1);
  },
  (request, { random }) => {
    if (request.inputs.length > 0) request.inputs.push(structuredClone(random.pick(request.inputs)));
  },
  (request, { random }) => {
    const more = { name: random.pick(['EXTRA', '', 'START', 'OUT_a0']), datatype: 'FP32', shape: [1n], parameters: {} };
    request.inputs.splice(random.integer(0, request.inputs.length), 0, more);
    request.raw_input_contents.push(Buffer.alloc(4));
  },
  (request, { random }) => {
    request.inputs = random.shuffled(request.inputs);
  },
  withInput((input, { random }) => {
    input.name = random.pick(['WRONG', '', 'IN_a0', 'in_a0', 'TOLD']);
  }),
  withInput((input, { random }) => {
    input.datatype = random.pick([
      '',
      'STRING',
      'fp32',
      'FP32',
      'INT32',
      'BYTES',
      'BF16',
      'BOOL',
      'UINT8',
      'TYPE_FP32',
      'INVALID',
    ]);
  }),
  withInput((input, { random }) => {
    const at = random.integer(0, input.shape.length);
    if (random.chance(0.3)) input.shape.splice(at, 1);
    else if (random.chance(0.4)) input.shape.splice(at, 0, random.pick([1n, 2n]));
    else
      input.shape[Math.min(at, input.shape.length - 1)] = random.pick([-1n, 0n, 2n, 5n, 9n, -2n, 2n ** 31n, 2n ** 40n]);
  }),
  withInput((input) => {
    input.shape = [];
  }),
  withRaw((bytes, random) => bytes.subarray(0, random.integer(0, bytes.byteLength))),
  withRaw((bytes, random) => Buffer.concat([bytes, Buffer.alloc(random.integer(1, 9), 1)])),
  withRaw((bytes, random) => {
    if (bytes.byteLength >= 4) bytes.writeUInt32LE(random.pick([0, 1, 2, 3, 7, 255, 2 ** 32 - 1]), 0);
    return bytes;
  }),
  (request) => {
    request.raw_input_contents.pop();
  },
  (request) => {
    request.raw_input_contents.shift();
  },
  (request) => {
    request.raw_input_contents.push(Buffer.from([1, 2, 3, 4]));
  },
  (request) => {
    request.raw_input_contents = [];
  },
  withInput((input, { random }) => {
    const given = input.contents ?? NO_CONTENTS;
    input.contents = random.pick([
      { ...given, int_contents: [1, 300, -70000] },
      { ...given, fp32_contents: [0.1] },
      { ...given, bool_contents: [true, false] },
      { ...given, uint64_contents: [2n ** 63n] },
      { ...given, bytes_contents: [Buffer.from('x'), Buffer.alloc(0)] },
      { ...given, fp64_contents: [1e300, 2], int64_contents: [-5n] },
      NO_CONTENTS,
    ]);
  }),
  withInput((input, { random }) => {
    const name = random.pick([
      'shared_memory_region',
      'shared_memory_offset',
      'shared_memory_byte_size',
      'custom',
      'classification',
    ]);
    input.parameters[name] = random.pick(ODD_PARAMETERS);
    // A size that wraps would let the server read elements of BYTES from anywhere.
    if (name !== 'custom' && input.parameters[name]?.int64_param === -1n) input.parameters[name] = {};
  }),
  withInput((input, around) => {
    input.parameters = regionParameters(around, around.random.integer(1, 100));
  }),
  withInput((input, { random }) => {
    const names = Object.keys(input.parameters);
    if (names.length > 0) delete input.parameters[random.pick(names)];
  }),
  (request, { random }) => {
    request.outputs.push({
      name: random.pick(['NOPE', '', 'TOLD', ...request.inputs.map(({ name }) => name)]),
      parameters: {},
    });
  },
  (request, { random }) => {
    if (request.outputs.length > 0) request.outputs.push({ ...random.pick(request.outputs), parameters: {} });
  },
  (request, { random }, { outputs }) => {
    const { name } = random.pick(outputs);
    const key = random.pick([
      'classification',
      'shared_memory_region',
      'shared_memory_offset',
      'shared_memory_byte_size',
      'custom',
      'binary_data',
    ]);
    request.outputs.push({ name, parameters: { [key]: random.pick(ODD_PARAMETERS) } });
  },
  (request, around) => {
    if (request.outputs.length === 0) return;
    const output = around.random.pick(request.outputs);
    output.parameters = { ...output.parameters, ...regionParameters(around, around.random.pick([1, 8, 400])) };
  },
  // One odd parameter and no second: which of two is refused depends on the order of a hash map that is new in each run.
  (request, { random }) => {
    const name = random.pick([
      'priority',
      'timeout',
      'sequence_id',
      'sequence_start',
      'sequence_end',
      'custom',
      'triton_x',
      'triton_enable_empty_final_response',
      'headers',
      'binary_data_output',
      '',
    ]);
    const long = [{ string_param: 'x'.repeat(129) }, { string_param: 'x'.repeat(128) }];
    const value = name === 'sequence_id' ? random.pick([...ODD_PARAMETERS, ...long]) : random.pick(ODD_PARAMETERS);
    request.parameters = { ...request.parameters, [name]: value };
  },
];
