import type { InferenceResponse } from '../core/inference.js';
import type { ParameterValue } from '../model.js';
import { acceptedEncoding, compressed } from './compression.js';
import { doubleToJson } from './json-double.js';
import { tensorElements } from './json-tensor.js';
import { type ByteText, textToJson } from './json-writer.js';
import { bytesOf, JSON_TYPE, type Reply } from './reply.js';

/**
 * The answer to an inference request: JSON, and after it the bytes of the outputs that are to come so. With no byte after it
 * the answer is plain JSON.
 *
 * @throws ServerError for an output that JSON has no form for
 */
export function inferReply(response: InferenceResponse, isBinary: (output: string) => boolean): Reply {
  const tail: Uint8Array[] = [];
  const outputs = response.outputs.map(({ name, datatype, shape, bytes, failure }) => {
    if (failure !== undefined) throw failure;
    const head = `"name":${textToJson(name)},"datatype":"${datatype}","shape":[${shape.join(',')}]`;
    // It is in the region that the request named.
    if (bytes === undefined) return `{${head}}`;
    if (!isBinary(name)) return `{${head},"data":[${tensorElements(datatype, bytes).join(',')}]}`;
    tail.push(bytes);
    return `{${head},"parameters":{"binary_data_size":${bytes.byteLength}}}`;
  });
  const members = [
    ...(response.id === '' ? [] : [`"id":${textToJson(response.id)}`]),
    `"model_name":${textToJson(response.model)}`,
    `"model_version":${textToJson(response.version)}`,
    ...parametersMember(response.parameters),
    `"outputs":[${outputs.join(',')}]`,
  ];
  const json = bytesOf(`{${members.join(',')}}`);
  if (tail.every(({ byteLength }) => byteLength === 0)) return { status: 200, contentType: JSON_TYPE, body: [json] };
  return {
    status: 200,
    contentType: 'application/octet-stream',
    headers: [['Inference-Header-Content-Length', String(json.byteLength)]],
    body: [json, ...tail],
  };
}

function parametersMember(parameters: InferenceResponse['parameters']): ByteText[] {
  if (parameters.length === 0) return [];
  return [
    `"parameters":{${parameters.map(([name, value]) => `${textToJson(name)}:${parameterText(value)}`).join(',')}}`,
  ];
}

export function parameterText(value: ParameterValue): ByteText {
  if (typeof value === 'string') return textToJson(value);
  return typeof value === 'number' ? doubleToJson(value) : String(value);
}

/** A reply compressed as the client wants it. The length of the JSON stays that of the JSON before. */
export async function encoded(reply: Reply, acceptEncoding: string | undefined): Promise<Reply> {
  const encoding = acceptedEncoding(acceptEncoding);
  if (encoding === undefined) return reply;
  const headers = [...(reply.headers ?? []), ['Content-Encoding', encoding] as const];
  return { ...reply, headers, body: [await compressed(reply.body, encoding)] };
}
