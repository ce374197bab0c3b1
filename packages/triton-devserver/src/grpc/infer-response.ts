import type { InferenceResponse } from '../core/inference.js';
import type { ParameterValue } from '../model.js';
import type { InferParameter, ModelInferResponse } from './gen/grpc_service.js';

const NOTHING = new Uint8Array(0);

/** Bytes that no message has: a field of no known wire type. */
export const NO_MESSAGE = Buffer.of(0x0f, 0xff, 0xff);

/**
 * An answer of which an output can't be given as an error, which it then is as a whole.
 *
 * @param version as asked for, which an error's answer has
 */
export function withFailure(response: InferenceResponse, version: string): InferenceResponse {
  const error = response.outputs.find(({ failure }) => failure !== undefined)?.failure;
  return error === undefined ? response : { ...response, version, outputs: [], parameters: [], error };
}

/** An answer as a message. Every output has an entry of bytes, which is empty for those in regions. */
export function inferMessage(
  response: InferenceResponse,
  parameters: Record<string, ParameterValue> = {},
): ModelInferResponse {
  const { id, model, version, outputs } = response;
  return {
    id,
    model_name: model,
    model_version: version,
    parameters: parametersOf({ ...Object.fromEntries(response.parameters), ...parameters }),
    outputs: outputs.map(({ name, datatype, shape }) => ({
      name,
      datatype,
      shape: shape.map(BigInt),
      parameters: {},
      contents: undefined,
    })),
    raw_output_contents: outputs.map(({ bytes }) => bytes ?? NOTHING),
  };
}

function parametersOf(values: Readonly<Record<string, ParameterValue>>): Record<string, InferParameter> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, parameterOf(value)]));
}

function parameterOf(value: ParameterValue): InferParameter {
  if (typeof value === 'bigint') return { int64_param: value };
  if (typeof value === 'boolean') return { bool_param: value };
  return typeof value === 'number' ? { double_param: value } : { string_param: value };
}
