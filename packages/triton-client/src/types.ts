/** The public types of requests, answers and call options. */

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
export interface Tensor {
  readonly datatype: Datatype;
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
export interface RegionTensor extends RegionRef {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

/** `{}`: in the message. A region: `byteLength` is a capacity. `classification`: the top n as BYTES. */
export type OutputRequest = Readonly<Record<string, never>> | RegionRef | { readonly classification: number };

export type ParameterValue = boolean | number | bigint | string;

export interface InferRequest {
  readonly inputs: Readonly<Record<string, Tensor | RegionTensor>>;
  /** Absent: every output, in the message. */
  readonly outputs?: Readonly<Record<string, OutputRequest>>;
  readonly id?: string;
  readonly version?: string;
  readonly priority?: number;
  readonly queueTimeoutUs?: number;
  readonly parameters?: Readonly<Record<string, ParameterValue>>;
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
}

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

export interface InferOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** The raw bytes; empty when the output went to a region. A view of the message. */
  readonly bytes: Uint8Array;
  /** The typed array of `bytes`; FP16 and BF16 as bit patterns. Throws for BYTES. */
  readonly data:
    | Uint8Array
    | Int8Array
    | Uint16Array
    | Int16Array
    | Uint32Array
    | Int32Array
    | BigUint64Array
    | BigInt64Array
    | Float32Array
    | Float64Array;
  /** The elements of a BYTES output as UTF-8. */
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

export interface ServerMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

export interface TensorMetadata {
  readonly name: string;
  readonly datatype: Datatype;
  /** -1 for a dimension that varies. */
  readonly shape: readonly number[];
}

export interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

export interface InstanceGroup {
  readonly kind: 'KIND_AUTO' | 'KIND_GPU' | 'KIND_CPU' | 'KIND_MODEL';
  readonly count: number;
  readonly gpus: readonly number[];
}

/** The part of a model's configuration that a client acts on. */
export interface ModelConfig {
  readonly name: string;
  readonly platform: string;
  readonly backend: string;
  readonly maxBatchSize: number;
  readonly decoupled: boolean;
  readonly instanceGroups: readonly InstanceGroup[];
  /** The `parameters` map: string values. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** How often something happened, and how many nanoseconds it took in all. */
export interface DurationStatistic {
  readonly count: number;
  readonly totalNs: bigint;
}

/** What one version of a model has done since it was loaded. */
export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  readonly inferenceCount: number;
  readonly executionCount: number;
  /** Milliseconds since 1970; 0 when there was none. */
  readonly lastInferenceMs: number;
  readonly success: DurationStatistic;
  readonly fail: DurationStatistic;
  readonly queue: DurationStatistic;
  readonly computeInput: DurationStatistic;
  readonly computeInfer: DurationStatistic;
  readonly computeOutput: DurationStatistic;
}

/** A model of the server's repository. One that was never loaded has neither version nor state. */
export interface RepositoryModel {
  readonly name: string;
  readonly version: string;
  /** `'READY'`, `'LOADING'`, `'UNLOADING'`, `'UNAVAILABLE'` or empty. */
  readonly state: string;
  readonly reason: string;
}

export interface LoadModelOptions {
  /** The configuration to use instead of the repository's, as in config.pbtxt, in Triton's JSON spelling. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Files in place of the repository's, by `version/path`. Needs `config`. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** How long loading may take. @defaultValue 600000 */
  readonly timeoutMs?: number;
}

export interface SystemRegionStatus {
  readonly name: string;
  readonly key: string;
  readonly byteOffset: number;
  readonly byteLength: number;
}

export interface CudaRegionStatus {
  readonly name: string;
  readonly deviceId: number;
  readonly byteLength: number;
}

export interface SystemRegions {
  /** The region starts at byte 0 of the object (an offset other than 0 is mishandled by real servers). */
  register(region: { name: string; key: string; byteLength: number }): Promise<void>;
  /** Unregisters one region; an empty name is refused, since the server takes it for "all". */
  unregister(name: string): Promise<void>;
  /** Every system region of the server, other clients' too. The only way to say "all". */
  unregisterAll(): Promise<void>;
  /** All regions, or the one named; an unknown name gives an empty list. */
  status(name?: string): Promise<SystemRegionStatus[]>;
}

export interface CudaRegions {
  /** `rawHandle`: the 64 bytes of a CUDA IPC handle. `deviceId`: the server's ordinal. */
  register(region: { name: string; rawHandle: Uint8Array; deviceId: number; byteLength: number }): Promise<void>;
  /** Unregisters one region; an empty name is refused, since the server takes it for "all". */
  unregister(name: string): Promise<void>;
  /** Every CUDA region of the server, other clients' too. The only way to say "all". */
  unregisterAll(): Promise<void>;
  /** All regions, or the one named; an unknown name gives an empty list. */
  status(name?: string): Promise<CudaRegionStatus[]>;
}
