import type { InferenceRequest } from '../core/inference.js';
import type { ParameterValue } from '../model.js';
import { internal, invalid, unsupported } from '../status.js';
import { named } from './json-tensor.js';
import {
  asBoolean,
  asText,
  asUnsigned,
  isSigned,
  isUnsigned,
  type Json,
  JsonObject,
  RawString,
  WholeDouble,
} from './json-value.js';

export interface InferOptions extends Pick<InferenceRequest, 'parameters' | 'sequence' | 'priority' | 'timeoutUs'> {
  /** `binary_data_output`. */
  readonly binaryOutputs: boolean;
}

const LONGEST_ID = 128;

export const NO_OPTIONS: InferOptions = {
  parameters: {},
  sequence: { id: 0n, start: false, end: false },
  priority: 0n,
  timeoutUs: 0n,
  binaryOutputs: false,
};

/** The parameters of a request's JSON. @throws ServerError */
export function readOptions(json: Json | undefined): InferOptions {
  if (json === undefined) return NO_OPTIONS;
  if (!(json instanceof JsonObject)) {
    throw internal('failed to get request params.: attempt to get members for non-object');
  }
  const parameters: Record<string, ParameterValue> = {};
  let { binaryOutputs, priority, timeoutUs } = NO_OPTIONS;
  let { id, start, end } = NO_OPTIONS.sequence;
  // Of names that are there twice the server reads the first each time.
  for (const [name, value] of firstOfEach(json)) {
    const told = <T>(read: (json: Json) => T) => named(`Unable to parse '${name}'`, () => read(value));
    if (name === 'sequence_id') id = told(sequenceIdOf);
    else if (name === 'sequence_start') start = told(asBoolean);
    else if (name === 'sequence_end') end = told(asBoolean);
    else if (name === 'priority') priority = told(asUnsigned);
    else if (name === 'timeout') timeoutUs = told(asUnsigned);
    else if (name === 'binary_data_output') binaryOutputs = told(asBoolean);
    else if (name.startsWith('triton_')) {
      throw invalid(
        "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
      );
    } else parameters[name] = parameterOf(name, value);
  }
  if (typeof id === 'string' && Buffer.byteLength(id) > LONGEST_ID) {
    throw unsupported(`string correlation ID cannot be longer than ${LONGEST_ID} characters`);
  }
  return { parameters, sequence: { id, start, end }, priority, timeoutUs, binaryOutputs };
}

export function firstOfEach(json: JsonObject): Map<string, Json> {
  const first = new Map<string, Json>();
  for (const [name, value] of json.members) if (!first.has(name)) first.set(name, value);
  return first;
}

function sequenceIdOf(json: Json): bigint | string {
  return isUnsigned(json) ? asUnsigned(json) : asText(json);
}

/** A parameter of the client's own; what is beyond 64 bits with a sign is a double. @throws ServerError */
export function parameterOf(name: string, json: Json): ParameterValue {
  if (typeof json === 'boolean') return json;
  // The server goes through a C string, which ends at the first zero.
  if (typeof json === 'string' || json instanceof RawString) return asText(json).split('\0')[0] ?? '';
  if (isSigned(json)) return BigInt(json);
  if (typeof json === 'number' || typeof json === 'bigint') return Number(json);
  if (json instanceof WholeDouble) return json.value;
  throw invalid(`parameter '${name}' has invalid type. It should be either 'int', 'bool', or 'string'.`);
}
