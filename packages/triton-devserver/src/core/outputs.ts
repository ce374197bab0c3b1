import { EmulatedCrash } from '../crash.js';
import { datatypeOfConfig } from '../datatype.js';
import type { ModelConfig } from '../grpc/gen/model_config.js';
import type { ModelOutputs } from '../model.js';
import { internal, invalid } from '../status.js';
import { classify } from './classification.js';
import { bytesOf } from './elements.js';
import type { InferenceRequest, ResponseOutput } from './inference.js';
import type { RegionUse } from './regions.js';
import { reshapedOutput } from './reshape.js';
import type { Runner } from './runner.js';

/** What a model gave for an output. */
export interface GivenOutput extends ResponseOutput {
  readonly bytes: Uint8Array;
}

/**
 * The outputs of an execution that a request asked for. A model may leave one out; the answer then has fewer.
 *
 * @throws ServerError for what is no output of the configuration
 */
export function outputsOf(config: ModelConfig, names: readonly string[], given: ModelOutputs): GivenOutput[] {
  checkNames(config, given);
  return names.flatMap((name) => {
    const data = given[name];
    const declared = config.output.find((output) => output.name === name);
    if (data === undefined || declared === undefined) return [];
    const shape = reshapedOutput(data.shape, declared, config.max_batch_size > 0);
    const datatype = datatypeOfConfig(declared.data_type);
    return [{ name, datatype, shape, bytes: bytesOf(name, datatype, { ...data, shape }) }];
  });
}

/**
 * What a model gave, as the request asked for it: classified, written into a region, or for the message. One after the
 * other: those before one whose region is too small are written (seen on 2.51 and 2.48).
 *
 * @returns the outputs as the answer has them; bytes for the message are no views of a region
 * @throws ServerError for what does not fit its region
 * @throws EmulatedCrash for a classification of BYTES, or of no elements: 2.48 and 2.51 die of both
 */
export async function placeOutputs(
  given: readonly GivenOutput[],
  request: InferenceRequest,
  model: Pick<Runner, 'config' | 'labelsOf'>,
): Promise<ResponseOutput[]> {
  const placed: ResponseOutput[] = [];
  for (const output of independent(given, request)) {
    const { name, bytes } = output;
    const { region, classification } = request.outputs.find((each) => each.name === name) ?? {};
    if (region !== undefined) {
      checkCapacity(name, region, bytes);
      await region.write(bytes);
    }
    if (classification !== undefined) {
      placed.push(classified(output, classification, model.labelsOf(name), model.config.max_batch_size > 0));
    } else placed.push(region === undefined ? output : { ...output, bytes: undefined });
  }
  return placed;
}

/**
 * A name that the configuration lacks, where one that it has is missing, is a slip of the pen, which a client would only see
 * as an output that is not there. More outputs than the configuration has are dropped, as NVIDIA's Python backend does it.
 */
function checkNames({ output }: ModelConfig, given: ModelOutputs): void {
  const names = output.map(({ name }) => name);
  if (typeof given !== 'object' || given === null) {
    throw internal(`The model gave no outputs: it has to give an object with ${names.join(', ')}`);
  }
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined || names.every((name) => given[name] !== undefined)) return;
  throw internal(`The model gave an output '${unknown}', and its configuration has ${names.join(', ')}`);
}

/** Of a type that has no classes the front end finds it, when it comes to the output. */
function classified(
  { name, datatype, shape, bytes }: GivenOutput,
  count: number,
  labels: readonly string[],
  batched: boolean,
): ResponseOutput {
  if (datatype === 'BYTES') throw new EmulatedCrash(`classification of the BYTES output '${name}'`);
  if (bytes.byteLength === 0 && count > 0) throw new EmulatedCrash(`classification of the empty output '${name}'`);
  if (datatype === 'FP16' || datatype === 'BF16' || datatype === 'BOOL') {
    const failure = invalid(`class result not available for output due to unsupported type '${datatype}'`);
    return { name, datatype, shape, bytes, failure };
  }
  return { name, datatype: 'BYTES', ...classify({ datatype, shape, bytes }, { count, labels, batched }) };
}

/** @throws ServerError when a region is too small for an output */
function checkCapacity(name: string, region: RegionUse, bytes: Uint8Array): void {
  if (bytes.byteLength <= region.byteLength) return;
  throw internal(
    `shared memory size specified with the request for output '${name}' (${region.byteLength} bytes) ` +
      `should be at least ${bytes.byteLength} bytes to hold the results`,
  );
}

/**
 * The outputs as they are now, whatever is then written into regions of which they are views. One that goes into a region
 * before any other is not copied, as nothing is written before it is used; what stays in the message the front end may send when the
 * region is another's or gone.
 */
function independent(given: readonly GivenOutput[], { inputs, outputs }: InferenceRequest): GivenOutput[] {
  const goes = (wanted: string) =>
    outputs.some(({ name, region, classification }) => name === wanted && region && classification === undefined);
  return given.map((output, index) => {
    if (index === 0 && goes(output.name)) return output;
    return { ...output, bytes: ownBytes(output.bytes, inputs) };
  });
}

/** Bytes that no client can change: a copy of those that lie in a region of the request. */
function ownBytes(bytes: Uint8Array, inputs: InferenceRequest['inputs']): Uint8Array {
  for (const { source } of inputs) {
    const copy = 'region' in source ? source.region.copyOf(bytes) : undefined;
    if (copy !== undefined) return copy;
  }
  return bytes;
}
