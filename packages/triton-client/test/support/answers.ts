/** Answers as a server sends them on a stream. */
import { type InferParameter, ModelStreamInferResponse } from '../../src/grpc/gen/grpc_service.js';

export const FINAL: InferParameter = { parameterChoice: { $case: 'boolParam', value: true } };
export const MORE: InferParameter = { parameterChoice: { $case: 'boolParam', value: false } };

interface Output {
  name: string;
  datatype: string;
  shape: bigint[];
}

export function answer(
  outputs: readonly Output[],
  raw: Uint8Array[],
  parameters: Record<string, InferParameter> = {},
): Buffer {
  return Buffer.from(
    ModelStreamInferResponse.encode({
      errorMessage: '',
      inferResponse: {
        modelName: 'm',
        modelVersion: '3',
        id: 'id-1',
        parameters,
        outputs: outputs.map((output) => ({ ...output, parameters: {} })),
        rawOutputContents: raw,
      },
    }).finish(),
  );
}

export const floats = Float32Array.of(1, 2.5, -3, 4);
export const floatBytes = new Uint8Array(floats.buffer);
