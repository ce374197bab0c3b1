import { refuseTwice } from '../core/checks.js';
import type { Core, TensorMetadata } from '../core/core.js';
import type { InferenceRequest, RequestInput } from '../core/inference.js';
import type { Datatype } from '../datatype.js';
import type { ParameterValue } from '../model.js';
import { internal, invalid } from '../status.js';
import { firstOfEach, NO_OPTIONS, parameterOf } from './infer-options.js';
import { readJson } from './json-reader.js';
import { named, tensorBytes } from './json-tensor.js';
import { asText, type Json, JsonObject } from './json-value.js';

/**
 * Reads a request of generate: members that are named like an input become that input, `parameters` is read in the same way,
 * and all others become parameters, `id` among them; options such as `timeout` mean nothing here.
 *
 * @throws ServerError
 */
export function readGenerate(body: Uint8Array, model: string, version: string, core: Core): InferenceRequest {
  const root = readJson(body);
  const inputs: RequestInput[] = [];
  const parameters: Record<string, ParameterValue> = {};
  const { generateTakesLists } = core.personality;
  const idJson = root instanceof JsonObject ? root.get('id') : undefined;
  const given = idJson === undefined ? '' : named("Unable to parse 'id'", () => asText(idJson));
  const id = generateTakesLists ? given : '';
  if (!(root instanceof JsonObject)) throw internal('attempt to get members for non-object');
  const metadata = new Map(core.modelMetadata(model, version).inputs.map((input) => [input.name, input]));

  const take = (name: string, value: Json) => {
    const input = metadata.get(name);
    if (input === undefined) {
      parameters[name] = parameterOf(name, value);
      return;
    }
    const tensor = generateInput(input, value, generateTakesLists);
    refuseTwice(id, [...inputs.map((other) => other.name), name]);
    inputs.push(tensor);
  };
  for (const [name, value] of firstOfEach(root)) {
    if (name !== 'parameters') {
      take(name, value);
      continue;
    }
    if (!(value instanceof JsonObject)) {
      throw internal("Expected JSON object for keyword: 'parameters': attempt to access JSON non-object as object");
    }
    named("Converting keyword: 'parameters'", () => {
      for (const [inner, innerValue] of firstOfEach(value)) take(inner, innerValue);
    });
  }
  const { sequence, priority, timeoutUs } = NO_OPTIONS;
  const { signal } = new AbortController();
  return { id, model, version, inputs, outputs: [], parameters, sequence, priority, timeoutUs, signal };
}

function generateInput({ name, datatype, shape }: TensorMetadata, json: Json, takesLists: boolean): RequestInput {
  const type = datatype as Datatype;
  const count = Array.isArray(json) && takesLists ? json.length : 1;
  const bytes = type === 'BYTES' ? tensorBytes(name, type, json, count) : undefined;
  const filled = takesLists ? fill(name, shape, count) : shape.map((size) => (size === -1 ? 1 : size));
  return { name, datatype: type, shape: filled, source: { bytes: bytes ?? tensorBytes(name, type, json, count) } };
}

/** Gives the elements to the fixed dimensions, and what is left to the last one that is open. @throws ServerError */
function fill(name: string, shape: readonly number[], count: number): number[] {
  const unfit = () => invalid(`The schema can not convert input '${name}' to tensor with proper shape`);
  const fixed = shape.reduce((product, size) => (size === -1 ? product : product * size), 1);
  let left = count / fixed;
  if (!Number.isInteger(left)) throw unfit();
  const last = shape.lastIndexOf(-1);
  const filled = shape.map((size, index) => {
    if (size !== -1) return size;
    return index === last ? left : 1;
  });
  if (last !== -1) left = 1;
  if (left !== 1) throw unfit();
  return filled;
}
