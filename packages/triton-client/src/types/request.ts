/** The public types of requests and of the options of a call. */

/** Triton's protocol datatypes (KServe v2, "tensor data types"). */
export type Datatype =
  | 'BOOL'
  | 'UINT8'
  | 'UINT16'
  | 'UINT32'
  | 'UINT64'
  | 'INT8'
  | 'INT16'
  | 'INT32'
  | 'INT64'
  | 'FP16'
  | 'BF16'
  | 'FP32'
  | 'FP64'
  | 'BYTES';

/** A tensor whose bytes travel in the message: dense, row-major, little-endian. Made by `tensor()`. */
export interface Tensor<D extends Datatype = Datatype> {
  readonly datatype: D;
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

/** A part of a registered shared-memory region. Offsets and lengths in bytes. */
export interface RegionRef {
  readonly region: string;
  readonly byteOffset: number;
  readonly byteLength: number;
}

/** A tensor that lies in a registered region. Made by `region()`. `byteLength` must be the tensor's exact size. */
export interface RegionTensor<D extends Datatype = Datatype> extends RegionRef {
  readonly datatype: D;
  readonly shape: readonly number[];
}

/** `{}`: in the message. A region: `byteLength` is a capacity. `classification`: the top n as BYTES. */
export type OutputRequest = Readonly<Record<string, never>> | RegionRef | { readonly classification: number };

export type ParameterValue = boolean | number | bigint | string;

/** Which sequence a request belongs to, and whether it begins or ends it. */
export interface SequenceControl {
  /** The correlation id: a whole number from 1 to 2^63 - 1, or text of 1 to 128 characters. */
  readonly id: number | bigint | string;
  readonly start?: boolean;
  readonly end?: boolean;
}

export interface InferRequest {
  readonly inputs: Readonly<Record<string, Tensor | RegionTensor>>;
  /** Absent: every output, in the message. */
  readonly outputs?: Readonly<Record<string, OutputRequest>>;
  readonly id?: string;
  readonly version?: string;
  /** For models with a sequence batcher. */
  readonly sequence?: SequenceControl;
  /** 1 is the highest, 0 the model's default; for models with priority levels in their dynamic batcher. */
  readonly priority?: number;
  /**
   * The longest that the request may wait in the server's queue, in microseconds. It counts only where the model's
   * `default_timeout_microseconds` is larger.
   */
  readonly queueTimeoutUs?: number;
  readonly parameters?: Readonly<Record<string, ParameterValue>>;
}

/** Headers of one call (gRPC metadata, HTTP headers), by name. */
export type CallHeaders = Readonly<Record<string, string>>;

/** Options of a call that runs no model. */
export interface ControlOptions {
  /** Ends the wait, and the call. */
  readonly signal?: AbortSignal;
  /** In milliseconds; over gRPC a deadline. @defaultValue the client's `controlTimeoutMs` */
  readonly timeoutMs?: number;
  readonly headers?: CallHeaders;
}

/**
 * When a request is sent again: only when it is proven that it did not run. It was not sent (no connection, or the
 * server refused the stream unread), or it names a region that the server does not know and `onUnknownRegion` mended
 * that. Anything else is never sent again. Requests of sequences are no exception.
 */
export interface RetryOptions {
  /** How often a request may be sent at most. @defaultValue 1 */
  readonly attempts?: number;
  /** The time between two attempts to connect, in milliseconds. @defaultValue 200 */
  readonly delayMs?: number;
  /**
   * Registers a region that the server has forgotten; true when the request can be sent again, which is done at once.
   * Of several requests that name one region the first asks, and the others wait for the same answer. When it
   * rejects, requests fail with the server's error, and the reason is its `cause`.
   */
  readonly onUnknownRegion?: (region: string) => Promise<boolean>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Our own timer in milliseconds; no gRPC deadline is sent. */
  readonly timeoutMs?: number;
  /**
   * What happens to the call when the caller stops waiting. `'detach'` leaves it open, since the server's own
   * answer is the proof that it no longer touches the memory; `'cancel'` cancels it.
   * @defaultValue `'detach'` when the request names a region, else `'cancel'`
   */
  readonly onAbort?: 'detach' | 'cancel';
  /** How long a detached call may stay open before it is cancelled. @defaultValue 60000 */
  readonly detachLimitMs?: number;
  /** Sent with this call alone, which then goes as a unary call: a lane's headers are fixed when it opens. */
  readonly headers?: CallHeaders;
  /** Compresses what is sent, over gRPC in a unary call. @defaultValue `'none'` */
  readonly compression?: 'none' | 'gzip' | 'deflate';
  /** @defaultValue the client's `retry` */
  readonly retry?: RetryOptions;
}

export interface StreamOptions extends CallOptions {
  /** For the whole stream, in milliseconds. @defaultValue no limit */
  readonly timeoutMs?: number;
  /**
   * The most requests that were sent and are not over yet. More are taken from the source when one is over.
   * @defaultValue 16
   */
  readonly maxOutstanding?: number;
  /**
   * What an error of one request does. `'throw'`: the iteration throws it, and the stream ends. `'yield'`: it is the
   * `error` of a result, and the stream goes on.
   * @defaultValue `'throw'`
   */
  readonly onError?: 'throw' | 'yield';
}
