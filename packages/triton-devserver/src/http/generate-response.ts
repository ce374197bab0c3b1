import type { InferenceResponse } from '../core/inference.js';
import { parameterText } from './infer-response.js';
import { tensorElements } from './json-tensor.js';
import { type ByteText, textToJson } from './json-writer.js';
import { errorText } from './reply.js';

/** One answer of generate: what it is about, its parameters and its outputs side by side, in the order of their names. */
export interface GenerateAnswer {
  readonly text: ByteText;
  readonly failed: boolean;
}

export function generateAnswer(response: InferenceResponse): GenerateAnswer {
  if (response.error !== undefined) return { text: errorText(response.error), failed: true };
  try {
    const members = new Map<string, ByteText>([
      ...(response.id === '' ? [] : [['id', textToJson(response.id)] as const]),
      ['model_name', textToJson(response.model)],
      ['model_version', textToJson(response.version)],
    ]);
    for (const [name, value] of response.parameters) members.set(name, parameterText(value));
    for (const { name, datatype, bytes } of response.outputs) {
      const elements = tensorElements(datatype, bytes ?? new Uint8Array(0));
      members.set(name, elements.length === 1 ? (elements[0] ?? '') : `[${elements.join(',')}]`);
    }
    const sorted = [...members].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    return { text: `{${sorted.map(([name, text]) => `${textToJson(name)}:${text}`).join(',')}}`, failed: false };
  } catch (error) {
    return { text: errorText(error), failed: true };
  }
}

/** What generate answers a model with that did not give exactly one answer. */
export const NOT_ONE_ANSWER =
  'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses';
