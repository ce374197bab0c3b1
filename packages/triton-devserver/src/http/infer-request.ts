import { refuseTwice } from '../core/checks.js';
import type { InferenceRequest, RequestedOutput, RequestInput, TensorSource } from '../core/inference.js';
import type { Regions, RegionUse } from '../core/regions.js';
import { elementCount, isDatatype } from '../datatype.js';
import { invalid } from '../status.js';
import { type InferOptions, NO_OPTIONS, readOptions } from './infer-options.js';
import { readJson } from './json-reader.js';
import { named, tensorBytes } from './json-tensor.js';
import { asArray, asBoolean, asText, asUnsigned, type Json, member, needed } from './json-value.js';

/** What reading a request needs beside its body. */
export interface InferGiven {
  readonly model: string;
  readonly version: string;
  readonly regions: Regions;
  /** Headers handed on as parameters. */
  readonly forwarded: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface ReadInfer {
  readonly request: InferenceRequest;
  /** Whether an output is to come as bytes after the JSON. */
  readonly isBinary: (output: string) => boolean;
}

/**
 * How many of the body's bytes are JSON: `Inference-Header-Content-Length`, which is read as C's atoi would. 0 stands for a
 * raw binary request, as does an empty body.
 *
 * @throws ServerError
 */
export function jsonLength(header: string | undefined, byteLength: number): number {
  if (header === undefined) return byteLength;
  const length = Number(/^\s*([+-]?\d+)/.exec(header)?.[1] ?? 0);
  if (length >= 0 && length <= byteLength) return length;
  throw invalid(`inference header size should be in range (0, ${byteLength}), got: ${header}`);
}

/**
 * Reads an inference request. Its tensors are views of `body`, which must stay as it is until the request is over.
 *
 * @throws ServerError; references to regions are then given back
 */
export function readInfer(body: Uint8Array, json: number, given: InferGiven): ReadInfer {
  if (json === 0) return rawInfer(body, given);
  const root = readJson(body.subarray(0, json));
  const uses: RegionUse[] = [];
  try {
    return new InferReader(given, uses).read(root, body.subarray(json));
  } catch (error) {
    for (const use of uses) use.release();
    throw error;
  }
}

function rawInfer(body: Uint8Array, given: InferGiven): ReadInfer {
  return {
    request: { id: '', inputs: [], outputs: [], rawInput: body, ...common(given, NO_OPTIONS) },
    isBinary: () => true,
  };
}

function common({ model, version, forwarded, signal }: InferGiven, options: InferOptions) {
  const { parameters, sequence, priority, timeoutUs } = options;
  return { model, version, signal, sequence, priority, timeoutUs, parameters: { ...parameters, ...forwarded } };
}

const ONE_SOURCE =
  "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But ";

class InferReader {
  readonly #given: InferGiven;
  /** Every reference taken so far. */
  readonly #uses: RegionUse[];
  /** What follows the JSON and no input has taken yet. */
  #tail: Uint8Array = new Uint8Array(0);

  constructor(given: InferGiven, uses: RegionUse[]) {
    this.#given = given;
    this.#uses = uses;
  }

  read(root: Json, tail: Uint8Array): ReadInfer {
    this.#tail = tail;
    const idJson = member(root, 'id');
    const id = idJson === undefined ? '' : named("Unable to parse 'id'", () => asText(idJson));
    const options = readOptions(member(root, 'parameters'));
    const inputs: RequestInput[] = [];
    for (const input of named("Unable to parse 'inputs'", () => asArray(needed(root, 'inputs')))) {
      inputs.push(this.#input(input, id, inputs));
    }
    if (this.#tail.byteLength > 0) {
      throw invalid(`unexpected additional input data for model '${this.#given.model}'`);
    }
    const outputsJson = member(root, 'outputs');
    const listed = outputsJson === undefined ? [] : named("Unable to parse 'outputs'", () => asArray(outputsJson));
    const binary = new Map<string, boolean>();
    const outputs = listed.map((output) => this.#output(output, binary));
    return {
      // Of an output that is named twice the first counts (seen on 2.51).
      request: { id, inputs, outputs: firstOfEach(outputs), ...common(this.#given, options) },
      // Once outputs are listed, the request's own parameter means nothing (seen on 2.51).
      isBinary: listed.length === 0 ? () => options.binaryOutputs : (name) => binary.get(name) === true,
    };
  }

  #input(json: Json, id: string, before: readonly RequestInput[]): RequestInput {
    const parameters = member(json, 'parameters');
    const data = member(json, 'data');
    const binarySize = member(parameters, 'binary_data_size');
    const region = member(parameters, 'shared_memory_region');
    const set = [
      ...(data === undefined ? [] : [" 'data'"]),
      ...(binarySize === undefined ? [] : [" 'binary_data_size'"]),
      ...(region === undefined ? [] : [" 'shared_memory_region'"]),
    ];
    if (set.length !== 1) throw invalid(`${ONE_SOURCE}${set.length === 0 ? 'no field is set' : `set${set.join('')}`}`);
    const name = named("Unable to parse 'name'", () => asText(needed(json, 'name')));
    const datatype = named("Unable to parse 'datatype'", () => asText(needed(json, 'datatype')));
    const shape = named("Unable to parse 'shape'", () =>
      asArray(needed(json, 'shape')).map((size) => Number(BigInt.asIntN(64, asUnsigned(size)))),
    );
    refuseTwice(id, [...before.map((input) => input.name), name]);
    const source = this.#source(name, datatype, shape, { binarySize, parameters, data });
    // One that is not known the core refuses, after all else here.
    return { name, datatype: isDatatype(datatype) ? datatype : undefined, shape, source };
  }

  #source(
    name: string,
    datatype: string,
    shape: readonly number[],
    { binarySize, parameters, data }: Readonly<Record<'binarySize' | 'parameters' | 'data', Json | undefined>>,
  ): TensorSource {
    if (binarySize !== undefined) return { bytes: this.#binary(name, binarySize) };
    const region = this.#region(parameters);
    if (region !== undefined) return { region };
    // To the server a shape without dimensions has no elements, and what is given for no elements is not looked at.
    const count = shape.length === 0 ? 0 : elementCount(shape);
    if (count === 0) return { bytes: new Uint8Array(0) };
    const list = named("Unable to parse 'data'", () => asArray(data ?? null));
    return { bytes: tensorBytes(name, datatype, list, count) };
  }

  #binary(name: string, json: Json): Uint8Array {
    const size = named("Unable to parse 'binary_data_size'", () => asUnsigned(json));
    const missing = size - BigInt(this.#tail.byteLength);
    if (missing > 0n) {
      throw invalid(
        `unexpected size for input '${name}', expecting ${missing} additional bytes for model '${this.#given.model}'`,
      );
    }
    const bytes = this.#tail.subarray(0, Number(size));
    this.#tail = this.#tail.subarray(Number(size));
    return bytes;
  }

  /** A size that is missing is 0. Offset and size are read without a region, too, for all that it means nothing. */
  #region(parameters: Json | undefined): RegionUse | undefined {
    const json = member(parameters, 'shared_memory_region');
    const name = json === undefined ? undefined : named("Unable to parse 'shared_memory_region'", () => asText(json));
    const number = (key: string) => {
      const value = member(parameters, key);
      return value === undefined ? 0n : named(`Unable to parse '${key}'`, () => asUnsigned(value));
    };
    const offset = number('shared_memory_offset');
    const size = number('shared_memory_byte_size');
    if (name === undefined) return undefined;
    const use = this.#given.regions.use(name, BigInt.asIntN(64, offset), BigInt.asIntN(64, size));
    this.#uses.push(use);
    return use;
  }

  #output(json: Json, binary: Map<string, boolean>): RequestedOutput {
    const parameters = member(json, 'parameters');
    const region = member(parameters, 'shared_memory_region');
    const classes = member(parameters, 'classification');
    const binaryJson = member(parameters, 'binary_data');
    const isBinary = () =>
      binaryJson !== undefined && named("Unable to parse 'binary_data'", () => asBoolean(binaryJson));
    if (region !== undefined) {
      if (classes !== undefined) throw invalid("Output can't set both 'shared_memory_region' and 'classification'");
      if (isBinary()) throw invalid("Output can't set both 'shared_memory_region' and 'binary_data'");
    }
    const name = named("Unable to parse 'name'", () => asText(needed(json, 'name')));
    const count = classes === undefined ? 0n : named("Unable to set 'classification'", () => asUnsigned(classes));
    // A uint32: the high bits are lost. None stands for the tensor itself, other than by gRPC.
    const classification = Number(BigInt.asUintN(32, count)) || undefined;
    const use = this.#region(parameters);
    if (use !== undefined) return { name, classification, region: use };
    const wanted = isBinary();
    if (!binary.has(name)) binary.set(name, wanted);
    return { name, classification };
  }
}

/** The others' references are given back at once. */
function firstOfEach(outputs: readonly RequestedOutput[]): RequestedOutput[] {
  const first = new Map<string, RequestedOutput>();
  for (const output of outputs) {
    if (first.has(output.name)) output.region?.release();
    else first.set(output.name, output);
  }
  return [...first.values()];
}
