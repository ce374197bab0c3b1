import { isDatatype } from '../datatype.js';
import {
  type AskedOutputs,
  type InferResultFields,
  LazyOutput,
  LazyResult,
  malformedAnswer,
  placeOf,
} from '../lazy-result.js';
import type { ParameterValue, RegionRef } from '../types/request.js';
import type { InferResult } from '../types/result.js';
import { JsonError, parseJson } from './json.js';

const OPENING_BRACE = 0x7b;

/**
 * The answer to an inference request: JSON of `jsonByteLength` bytes, and the outputs' bytes, of which they are views.
 *
 * @param jsonByteLength - undefined where the answer is JSON alone, as it is when no output has bytes
 * @param asked - of the request that it answers
 * @throws TritonError `TRITON_MALFORMED_RESPONSE` for what is no JSON, or ends before it; the rest is read when it is
 *   asked for
 */
export function decodeHttpAnswer(
  body: Buffer,
  jsonByteLength: number | undefined,
  asked: AskedOutputs = [],
): InferResult {
  const end = jsonByteLength ?? body.byteLength;
  if (body[0] !== OPENING_BRACE) throw malformedAnswer('it does not begin with a JSON object');
  if (end > body.byteLength) throw malformedAnswer(`its JSON has ${end} bytes, and the whole ${body.byteLength}`);
  return new BodyResult(body, end, asked);
}

class BodyResult extends LazyResult {
  readonly #body: Buffer;
  readonly #jsonByteLength: number;
  readonly #asked: AskedOutputs;

  constructor(body: Buffer, jsonByteLength: number, asked: AskedOutputs) {
    super();
    this.#body = body;
    this.#jsonByteLength = jsonByteLength;
    this.#asked = asked;
  }

  protected read(): InferResultFields {
    const answer = objectOf(parse(this.#body.toString('utf8', 0, this.#jsonByteLength)), 'the answer');
    const id = answer.id === undefined ? '' : textOf(answer.id, 'id');
    let offset = this.#jsonByteLength;
    const outputs = listOf(answer.outputs, 'outputs').map((entry) => {
      const output = objectOf(entry, 'an output');
      const byteLength = byteLengthOf(output);
      if (byteLength > this.#body.byteLength - offset) throw malformedAnswer('an output runs past its end');
      const bytes = this.#body.subarray(offset, offset + byteLength);
      offset += byteLength;
      return outputOf(output, bytes, (name) => placeOf(this.#asked, id, name));
    });
    if (offset !== this.#body.byteLength) throw malformedAnswer('it has more bytes than its outputs');
    return {
      model: textOf(answer.model_name, 'model_name'),
      version: textOf(answer.model_version, 'model_version'),
      id,
      outputs: Object.freeze(outputs),
      parameters: Object.freeze(parametersOf(answer.parameters)),
    };
  }
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) throw malformedAnswer(error.message, error);
    throw error;
  }
}

function outputOf(
  output: Record<string, unknown>,
  bytes: Buffer,
  place: (name: string) => RegionRef | undefined,
): LazyOutput {
  const name = textOf(output.name, 'the name of an output');
  const { datatype } = output;
  if (!isDatatype(datatype)) throw malformedAnswer(`output '${name}' has the datatype '${String(datatype)}'`);
  // Binary was asked for.
  if (output.data !== undefined) throw malformedAnswer(`output '${name}' came as JSON`);
  const shape = listOf(output.shape, `the shape of '${name}'`).map((dimension) => {
    if (isCount(dimension)) return dimension;
    throw malformedAnswer(`output '${name}' has the dimension ${String(dimension)}`);
  });
  return new LazyOutput({ name, datatype, shape }, bytes, place(name));
}

/** None for an output that went to a region. */
function byteLengthOf(output: Record<string, unknown>): number {
  if (output.parameters === undefined) return 0;
  const size = objectOf(output.parameters, 'the parameters of an output').binary_data_size ?? 0;
  if (!isCount(size)) throw malformedAnswer(`an output's binary_data_size is ${String(size)}`);
  return size;
}

function parametersOf(value: unknown): Record<string, ParameterValue> {
  const parameters = value === undefined ? {} : objectOf(value, 'parameters');
  for (const [key, parameter] of Object.entries(parameters)) {
    if (['string', 'number', 'boolean', 'bigint'].includes(typeof parameter)) continue;
    throw malformedAnswer(`parameter '${key}' is ${String(parameter)}`);
  }
  return parameters as Record<string, ParameterValue>;
}

function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw malformedAnswer(`${what} is no JSON object`);
}

function listOf(value: unknown, what: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw malformedAnswer(`${what} is no list`);
}

function textOf(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw malformedAnswer(`${what} is no text`);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
