/** The public types of Triton's generate extension and of metrics. */

import type { TritonError } from '../errors.js';
import type { CallHeaders } from './request.js';

/** A value of JSON as Triton reads and writes it: integers beyond 2^53 are bigints, and NaN and infinities are numbers. */
export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/**
 * What a model is asked: tensors by their names, a value or a flat list, and `parameters`. A value under any other name
 * becomes a parameter.
 */
export type GenerateBody = Readonly<Record<string, JsonValue>>;

/** `model_name`, `model_version`, `id` if one was given, and the outputs by their names: a value, or a list of several. */
export type GenerateAnswer = Readonly<Record<string, JsonValue>>;

export interface GenerateOptions {
  readonly version?: string;
  readonly signal?: AbortSignal;
  /** In milliseconds, of a stream until its end. @defaultValue none */
  readonly timeoutMs?: number;
  readonly headers?: CallHeaders;
}

export interface GenerateStreamOptions extends GenerateOptions {
  /**
   * What an error that the server answers with does. `'throw'`: the iteration throws it, and the stream ends. `'yield'`:
   * it comes as a GenerateFailure, and the stream goes on with what the server still sends. All else that goes wrong is
   * thrown.
   * @defaultValue `'throw'`
   */
  readonly onError?: 'throw' | 'yield';
}

/** An error in the place of an answer. Its `error` is a TritonError, which no value of an answer is. */
export interface GenerateFailure {
  readonly error: TritonError;
}

/** One line of the server's metrics. */
export interface MetricSample {
  readonly name: string;
  /** What Prometheus calls the metric: `counter`, `gauge`, `histogram`, `summary` or `untyped`. */
  readonly type: string;
  readonly labels: Readonly<Record<string, string>>;
  /** NaN where there is nothing to tell, as in a summary without observations. */
  readonly value: number;
}

export interface Metrics {
  readonly samples: readonly MetricSample[];
  /** As the server wrote them (Prometheus text format). */
  readonly text: string;
}
