/** The public types of answers. */

import type { TritonError } from '../errors.js';
import type { CallOptions, Datatype, ParameterValue } from './request.js';

/**
 * How a request ended as far as its memory is concerned. `'answered'`: the server's own answer came, and it is done
 * with every block. `'not-sent'`: the request never left. `'lost'`: the lane ended without an answer, so the server
 * may still read or write the blocks.
 */
export type Settlement = 'answered' | 'not-sent' | 'lost';

/** The promise of an answer, with `settled`: when the server is done with the request, also after a detach. Never rejects. */
export interface InferCall extends Promise<InferResult> {
  readonly settled: Promise<Settlement>;
}

/** The typed array of each datatype's elements; FP16 and BF16 as bit patterns. BYTES have none. */
export interface OutputData {
  BOOL: Uint8Array;
  UINT8: Uint8Array;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  FP16: Uint16Array;
  BF16: Uint16Array;
  FP32: Float32Array;
  FP64: Float64Array;
  BYTES: never;
}

/** @typeParam D - what the compiler is to take for the datatype; `datatype` is the server's word */
export interface InferOutput<D extends Datatype = Datatype> {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** The raw bytes; empty when the output went to a region. A view of the message. */
  readonly bytes: Uint8Array;
  /**
   * The typed array of `bytes`; FP16 and BF16 as bit patterns. Throws for BYTES, and, as the other ways to read it do, a
   * TypeError `ERR_OUTPUT_IN_REGION` for an output that went to a region: its elements are there.
   */
  readonly data: OutputData[D];
  /**
   * FP16, BF16 or FP32 as numbers: FP32 as a view where it can be, the others converted at each call. Throws for other
   * datatypes.
   */
  float32(): Float32Array;
  /** The elements of a BYTES output, views of the message. Throws for other datatypes. */
  elements(): Uint8Array[];
  /** The elements of a BYTES output as UTF-8; bytes that are none become U+FFFD. Throws for other datatypes. */
  strings(): string[];
}

export interface InferResult {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  readonly outputs: readonly InferOutput[];
  /** Throws when the answer has no output of that name; the error lists those it has. */
  output(name: string): InferOutput;
}

/** A request encoded once; region, offsets, shapes and names are fixed. */
export interface PreparedRequest {
  readonly byteLength: number;
  infer(options?: CallOptions): InferCall;
}

/** One answer on a stream. A decoupled model gives any number of them to one request. */
export interface StreamResult extends InferResult {
  /** Which request of the source it answers, counted from 0. */
  readonly requestIndex: number;
  /**
   * True for the last answer to this request. A decoupled model may say so by an answer of its own, which then has no
   * outputs: a request that gets no answer at all gets this one.
   */
  readonly final: boolean;
  /**
   * With `onError: 'yield'`: what went wrong; the result has no outputs. An error in the middle (`final` is false)
   * does not end a request of a decoupled model.
   */
  readonly error?: TritonError;
}

/**
 * The answers on one stream, for one reader. Between two requests of one stream nothing is guaranteed but this: a
 * model that is not decoupled answers in the order of the requests.
 *
 * Leaving the loop (`return()`) ends the stream as an abort does. `settled` never rejects; `'answered'` says that the
 * server is done with every request, also those whose answers were not read.
 */
export interface InferStream<Result = StreamResult> extends AsyncIterable<Result>, AsyncDisposable {
  // Spelled out: AsyncIterableIterator has other type parameters in each TypeScript.
  [Symbol.asyncIterator](): InferStream<Result>;
  next(): Promise<IteratorResult<Result, undefined>>;
  return(): Promise<IteratorResult<Result, undefined>>;
  readonly settled: Promise<Settlement>;
}
