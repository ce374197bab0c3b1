import { splitBytes } from './bytes-elements.js';
import { elementByteLength, viewOf } from './datatype.js';
import { TritonError } from './errors.js';
import { fromBfloat16, fromFloat16 } from './float16.js';
import { INSPECT, type Inspect, type InspectOptions, inspected } from './inspect.js';
import type { CheckedOutput } from './request.js';
import type { Datatype, ParameterValue, RegionRef } from './types/request.js';
import type { InferOutput, InferResult } from './types/result.js';

/** What an answer says, both transports' alike. */
export interface InferResultFields {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  readonly outputs: readonly InferOutput[];
}

/** The outputs that the request named; of a stream, by the id of the answer. */
export type AskedOutputs = readonly CheckedOutput[] | ((id: string) => readonly CheckedOutput[]);

/** Where an output of the answer `id` went, if not into the message. */
export function placeOf(asked: AskedOutputs, id: string, output: string): RegionRef | undefined {
  const outputs = typeof asked === 'function' ? asked(id) : asked;
  return outputs.find(({ name }) => name === output)?.region;
}

/** An answer that is read at the first look. */
export abstract class LazyResult implements InferResult {
  #decoded: InferResultFields | undefined;

  /** @throws TritonError `TRITON_MALFORMED_RESPONSE` */
  protected abstract read(): InferResultFields;

  get model(): string {
    return this.#fields().model;
  }

  get version(): string {
    return this.#fields().version;
  }

  get id(): string {
    return this.#fields().id;
  }

  get parameters(): Readonly<Record<string, ParameterValue>> {
    return this.#fields().parameters;
  }

  get outputs(): readonly InferOutput[] {
    return this.#fields().outputs;
  }

  output(name: string): InferOutput {
    const { outputs, model } = this.#fields();
    const found = outputs.find((output) => output.name === name);
    if (found !== undefined) return found;
    const names = outputs.map((output) => `'${output.name}'`).join(', ') || 'none';
    throw new RangeError(`The answer of model '${model}' has no output '${name}'; its outputs: ${names}`);
  }

  /** No payload. */
  [INSPECT](depth: number, options: InspectOptions, inspect: Inspect): string {
    let fields: object;
    try {
      const { model, version, id, parameters, outputs } = this.#fields();
      fields = { model, version, id, parameters, outputs };
    } catch (error) {
      fields = { unreadable: (error as Error).message };
    }
    return inspected('InferResult', fields, depth, options, inspect);
  }

  #fields(): InferResultFields {
    this.#decoded ??= this.read();
    return this.#decoded;
  }
}

export interface OutputHead {
  name: string;
  datatype: Datatype;
  shape: number[];
}

/** An output whose bytes are a view of the answer. */
export class LazyOutput implements InferOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
  readonly #place: RegionRef | undefined;

  /** @param place - where the request wanted the output, if not in the message */
  constructor(head: OutputHead, bytes: Uint8Array, place?: RegionRef) {
    this.name = head.name;
    this.datatype = head.datatype;
    this.shape = Object.freeze(head.shape);
    this.bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#place = place;
  }

  get data(): InferOutput['data'] {
    if (this.datatype === 'BYTES')
      throw new TypeError(`Output '${this.name}' is BYTES: read it by strings() or elements()`);
    const expected = this.#count() * (elementByteLength(this.datatype) ?? 0);
    if (this.bytes.byteLength !== expected) {
      // Some backends answer with no bytes and no error (Python backend under numpy 2).
      throw this.#without(`needs ${expected} bytes and the answer carries ${this.bytes.byteLength}`);
    }
    return viewOf(this.datatype, this.bytes);
  }

  float32(): Float32Array {
    if (this.datatype === 'FP16') return fromFloat16(this.data as Uint16Array);
    if (this.datatype === 'BF16') return fromBfloat16(this.data as Uint16Array);
    if (this.datatype === 'FP32') return this.data as Float32Array;
    throw new TypeError(`${this.#label()} is not FP16, BF16 or FP32: read it by data`);
  }

  elements(): Uint8Array[] {
    if (this.datatype !== 'BYTES') throw new TypeError(`${this.#label()} is not BYTES: read it by data`);
    const elements = splitBytes(this.bytes);
    if (elements?.length === this.#count()) return elements;
    throw this.#without(`does not hold ${this.#count()} elements`);
  }

  strings(): string[] {
    return this.elements().map(({ buffer, byteOffset, byteLength }) =>
      Buffer.from(buffer, byteOffset, byteLength).toString(),
    );
  }

  /** Its place, not its elements. */
  [INSPECT](depth: number, options: InspectOptions, inspect: Inspect): string {
    const { name, datatype, shape, bytes } = this;
    const { region, byteOffset } = this.#place ?? {};
    const place = region === undefined ? { byteLength: bytes.byteLength } : { region, byteOffset };
    // The shape belongs to it, however deep it lies.
    return inspected('InferOutput', { name, datatype, shape, ...place }, depth, { ...options, depth: 1 }, inspect);
  }

  /** The error for elements that the answer does not have: only one who asked for them elsewhere is to blame. */
  #without(what: string): Error {
    if (this.#place === undefined) return malformedAnswer(`${this.#label()} ${what}: the model gave none`);
    const { region, byteOffset } = this.#place;
    const text = `The ${this.#label()} lies in region '${region}' from byte ${byteOffset} on, as asked for: read it there`;
    return Object.assign(new TypeError(text), { code: 'ERR_OUTPUT_IN_REGION' });
  }

  #count(): number {
    return this.shape.reduce((count, dimension) => count * dimension, 1);
  }

  #label(): string {
    return `output '${this.name}' (${this.datatype} [${this.shape.join(', ')}])`;
  }
}

/** The error for an answer to ModelInfer that no server should give. */
export function malformedAnswer(details: string, cause?: unknown): TritonError {
  return new TritonError(`The answer to ModelInfer cannot be read: ${details}`, {
    code: 'TRITON_MALFORMED_RESPONSE',
    method: 'ModelInfer',
    details,
    cause,
  });
}
