import type { TritonError } from '../errors.js';
import type { CheckedInput, CheckedOutput, CheckedRequest, RequestNames } from '../request.js';
import type { RegionRef } from '../types/request.js';
import { writeJson } from './json.js';
import { modelPath, versionError } from './paths.js';

/** An inference request as it goes over HTTP: JSON, and the bytes of its tensors, which are borrowed. */
export interface EncodedHttpRequest extends RequestNames {
  readonly path: string;
  readonly chunks: readonly Uint8Array[];
  readonly byteLength: number;
  /** The first of `chunks`: JSON, whose length a header tells; 0 for a raw request, which has none. */
  readonly jsonByteLength: number;
  readonly namesRegion: boolean;
  readonly outputs: readonly CheckedOutput[];
  /** Why it is not to be sent. */
  readonly refusal: TritonError | undefined;
}

/** Below it, one buffer is cheaper than several writes. */
const JOIN_BYTES = 65_536;

/**
 * Encodes a request (KServe v2 with Triton's binary tensor extension). Every output is asked for in binary: as JSON they
 * may not be readable (bare NaN, bytes that are no UTF-8).
 *
 * @throws RangeError for a model name that HTTP cannot address
 */
export function encodeHttpRequest(request: CheckedRequest): EncodedHttpRequest {
  const { model, version, id, namesRegion } = request;
  const path = `${modelPath({ model, version })}/infer`;
  const parameters = Object.fromEntries(request.parameters);
  // The server reads it only where no output is named.
  if (request.outputs.length === 0) parameters.binary_data_output = true;
  const json = writeJson({
    id: id === '' ? undefined : id,
    parameters,
    inputs: request.inputs.map(inputJson),
    outputs: request.outputs.length === 0 ? undefined : request.outputs.map(outputJson),
  });
  const head = Buffer.from(json);
  const tensors = request.inputs.flatMap(({ data }) => (data === undefined || data.byteLength === 0 ? [] : [data]));
  const byteLength = head.byteLength + request.tensorByteLength;
  const chunks = byteLength <= JOIN_BYTES ? [Buffer.concat([head, ...tensors])] : [head, ...tensors];
  const refusal = versionError({ model, version }, 'ModelInfer');
  const { outputs } = request;
  return { model, id, path, chunks, byteLength, jsonByteLength: head.byteLength, namesRegion, outputs, refusal };
}

/** A request without JSON: `bytes` are the model's only input. */
export function encodeRawRequest(model: string, version: string, bytes: Uint8Array): EncodedHttpRequest {
  const path = `${modelPath({ model, version })}/infer`;
  return {
    model,
    id: '',
    path,
    chunks: [bytes],
    byteLength: bytes.byteLength,
    jsonByteLength: 0,
    namesRegion: false,
    outputs: [],
    refusal: versionError({ model, version }, 'ModelInfer'),
  };
}

function inputJson({ name, datatype, shape, data, region }: CheckedInput): unknown {
  const parameters = region === undefined ? { binary_data_size: data?.byteLength ?? 0 } : regionJson(region);
  return { name, datatype, shape, parameters };
}

function outputJson({ name, region, classification }: CheckedOutput): unknown {
  const parameters = region === undefined ? { binary_data: true, classification } : regionJson(region);
  return { name, parameters };
}

function regionJson(ref: RegionRef): unknown {
  return {
    shared_memory_region: ref.region,
    shared_memory_byte_size: ref.byteLength,
    shared_memory_offset: ref.byteOffset === 0 ? undefined : ref.byteOffset,
  };
}
