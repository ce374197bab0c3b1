import { randomFillSync } from 'node:crypto';
import { datatypeOfConfig, elementByteLength, elementCount } from '../datatype.js';
import type { ModelConfig, ModelWarmup, ModelWarmup_Input } from '../grpc/gen/model_config.js';
import type { Personality } from '../personality.js';
import { invalid } from '../status.js';
import { type CheckedInput, type CheckedRequest, checkRequest, requestIdPrefix } from './checks.js';
import type { InferenceRequest } from './inference.js';

/** One execution that warms an instance up. */
export interface WarmUpRequest {
  readonly request: InferenceRequest;
  readonly checked: CheckedRequest;
  /** Control tensors of a sequence, which come only when the sample names them. */
  readonly controls: readonly CheckedInput[];
}

export interface WarmUpSample {
  readonly name: string;
  /** How often it runs. */
  readonly count: number;
  /** What runs together: `batch_size` requests with the same tensors. */
  readonly requests: readonly WarmUpRequest[];
}

/**
 * The samples of `model_warmup` as requests (TritonModelInstance::GenerateWarmupData; texts seen on 2.51). One without a batch
 * size is left out, as there.
 *
 * @param file the bytes of a file of the folder `warmup`
 * @throws ServerError
 */
export function warmUpSamples(
  config: ModelConfig,
  personality: Personality,
  file: (name: string) => Uint8Array,
): WarmUpSample[] {
  return config.model_warmup
    .filter(({ batch_size }) => batch_size > 0)
    .map((sample) => {
      const { name, batch_size: size, count } = sample;
      const one = requestOf(sample, config, personality, file);
      return { name, count: Math.max(1, count), requests: Array.from({ length: size }, () => one) };
    });
}

function requestOf(
  { inputs: given }: ModelWarmup,
  config: ModelConfig,
  personality: Personality,
  file: (name: string) => Uint8Array,
): WarmUpRequest {
  const tensors = Object.entries(given).map(([name, input]) => {
    const known = config.input.some((each) => each.name === name);
    return { known, tensor: tensorOf(name, input, known && config.max_batch_size > 0, file) };
  });
  const of = (known: boolean) => tensors.flatMap((each) => (each.known === known ? [each.tensor] : []));
  const request: InferenceRequest = {
    id: '',
    model: config.name,
    version: '',
    inputs: of(true),
    outputs: [],
    parameters: {},
    sequence: { id: 0n, start: false, end: false },
    priority: 0n,
    timeoutUs: 0n,
    signal: new AbortController().signal,
  };
  return { request, checked: checkRequest(request, config, personality), controls: of(false) };
}

function tensorOf(
  name: string,
  input: ModelWarmup_Input,
  batched: boolean,
  file: (name: string) => Uint8Array,
): CheckedInput {
  const dims = input.dims.map(Number);
  if (dims.some((dim) => dim < 0)) {
    throw invalid(`warmup setting expects all variable-size dimensions are specified for input '${name}'`);
  }
  const datatype = datatypeOfConfig(input.data_type);
  // Of BYTES each element is empty: the four bytes of its length.
  const size = elementCount(dims) * (elementByteLength(datatype) ?? 4);
  let bytes: Uint8Array;
  if (input.zero_data !== undefined) bytes = new Uint8Array(size);
  else if (input.random_data !== undefined) {
    bytes = datatype === 'BYTES' ? new Uint8Array(size) : randomFillSync(new Uint8Array(size));
  } else if (input.input_data_file !== undefined) {
    const data = file(input.input_data_file);
    if (datatype !== 'BYTES' && data.byteLength < size) {
      throw invalid(
        `${requestIdPrefix('')}warmup setting expects ${size} bytes, but the data provided from ${input.input_data_file}only has ${data.byteLength} bytes`,
      );
    }
    bytes = datatype === 'BYTES' ? data : data.subarray(0, size);
  } else {
    throw invalid(`${requestIdPrefix('')}warmup setting expects input '${name}' to have input_data_type set`);
  }
  return { name, datatype, shape: batched ? [1, ...dims] : dims, source: { bytes } };
}
