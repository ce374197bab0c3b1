import type { Datatype, Elements } from './datatype.js';

/**
 * A tensor as a model gets it and gives it. The elements of BYTES are an array of byte strings; a model may give strings,
 * which go out as UTF-8.
 */
export interface ModelTensor {
  readonly datatype: Datatype;
  /** With the batch dimension, where the model has one. */
  readonly shape: readonly number[];
  /**
   * What is in a region is read when this is looked at: a write by the client after it sent the request is seen, as on a
   * real server. From a mebibyte on it is the region's memory itself: look again after a wait rather than keep it, as the
   * client that shrinks the object while code works in it ends the process. Valid until `execute` has ended; throws later.
   */
  readonly data: Elements | readonly Uint8Array[];
}

/** What a model gives for an output; datatype and name are the configuration's. */
export interface ModelOutputData {
  /** With the batch dimension, where the model has one. */
  readonly shape: readonly number[];
  /** The typed array of the datatype, such as Float32Array for FP32; a list of texts or byte strings for BYTES. */
  readonly data: Elements | readonly (string | Uint8Array)[];
}

/** Whole numbers come as bigint, which `JSON.stringify` does not take. */
export type ParameterValue = string | boolean | number | bigint;

/** A request as a model sees it. */
export interface ModelRequest {
  /** The client's; '' when it gave none. */
  readonly id: string;
  readonly model: string;
  /** The one that runs. */
  readonly version: number;
  /** By name, with the control inputs of a sequence. */
  readonly inputs: Readonly<Record<string, ModelTensor>>;
  /** The outputs asked for; all of them when the request named none. */
  readonly requestedOutputs: readonly string[];
  /** The request's own parameters, those of forwarded headers included. */
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  /** 0n or '' when the request is of no sequence. */
  readonly sequence: { readonly id: bigint | string; readonly start: boolean; readonly end: boolean };
  /** 0n is the model's default. */
  readonly priority: bigint;
  /** Microseconds; 0n is none. */
  readonly timeoutUs: bigint;
  /** Aborted when the client cancels; the model may look, as Python's `is_cancelled`. */
  readonly signal: AbortSignal;
}

/** By name; one that is left out is missing from the answer. */
export type ModelOutputs = Readonly<Record<string, ModelOutputData>>;

/** One answer of a decoupled model; an error is an answer too, after which others may follow. */
export type ModelAnswer =
  /** `final`: the last answer, said together with the data. */
  { readonly outputs: ModelOutputs; readonly final?: boolean } | { readonly error: Error };

/** What a model does with a request. */
export type Execute = (request: ModelRequest) => ModelOutputs | Promise<ModelOutputs>;

/**
 * What a model does with all requests of one execution at once, which with dynamic batching are those of a batch: their
 * outputs in the same order, an Error in the place of those of a request that failed.
 */
export type ExecuteBatch = (requests: readonly ModelRequest[]) => BatchOutputs | Promise<BatchOutputs>;

export type BatchOutputs = readonly (ModelOutputs | Error)[];

/** What a decoupled model does with a request: any number of answers. */
export type ExecuteDecoupled = (request: ModelRequest) => AsyncIterable<ModelAnswer> | Iterable<ModelAnswer>;

/** A loaded model: what instances of it run. */
export interface ModelInstance {
  /** For a model that is not decoupled; for a decoupled one when it has no `executeDecoupled`. */
  readonly execute?: Execute;
  /** In the place of `execute`, for a model that is not decoupled. */
  readonly executeBatch?: ExecuteBatch;
  /** For a model whose configuration has `model_transaction_policy: { decoupled: true }`. */
  readonly executeDecoupled?: ExecuteDecoupled;
  /** Called when the model is unloaded. */
  close?(): void | Promise<void>;
}
