import type { TritonError } from './errors.js';
import { INSPECT, type Inspect, type InspectOptions, inspected } from './inspect.js';
import type { ParameterValue } from './types/request.js';
import type { InferOutput, InferResult, StreamResult } from './types/result.js';

/** A result of the stream around the answer that it stands for. */
export class StreamAnswerResult implements StreamResult {
  readonly requestIndex: number;
  readonly final: boolean;
  declare readonly error?: TritonError;
  readonly #result: InferResult;

  constructor(requestIndex: number, final: boolean, result: InferResult, error?: TritonError) {
    this.requestIndex = requestIndex;
    this.final = final;
    this.#result = result;
    if (error !== undefined) this.error = error;
  }

  get model(): string {
    return this.#result.model;
  }

  get version(): string {
    return this.#result.version;
  }

  get id(): string {
    return this.#result.id;
  }

  get parameters(): Readonly<Record<string, ParameterValue>> {
    return this.#result.parameters;
  }

  get outputs(): readonly InferOutput[] {
    return this.error === undefined ? this.#result.outputs : [];
  }

  output(name: string): InferOutput {
    if (this.error !== undefined) throw this.error;
    return this.#result.output(name);
  }

  /** No payload. */
  [INSPECT](depth: number, options: InspectOptions, inspect: Inspect): string {
    const { requestIndex, final, error } = this;
    const fields = { requestIndex, final, ...(error === undefined ? { result: this.#result } : { error }) };
    return inspected('StreamResult', fields, depth, options, inspect);
  }
}
