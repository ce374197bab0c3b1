/** What a server says of itself and of its models. */

import type { ControlOptions, Datatype } from './request.js';

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

/** A model's configuration: what a client acts on, and all of it in `raw`. */
export interface ModelConfig {
  readonly name: string;
  readonly platform: string;
  readonly backend: string;
  readonly maxBatchSize: number;
  readonly decoupled: boolean;
  readonly instanceGroups: readonly InstanceGroup[];
  /** The `parameters` map: string values. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Inputs that a request may leave out. */
  readonly optionalInputs: readonly string[];
  /** The whole configuration in the spelling of Triton's JSON. */
  readonly raw: Readonly<Record<string, unknown>>;
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
  readonly cacheHit: DurationStatistic;
  readonly cacheMiss: DurationStatistic;
  /** One entry for each batch size that was executed. */
  readonly batches: readonly BatchStatistics[];
  /** What the model's instances use, where the backend tells. */
  readonly memoryUsage: readonly MemoryUsage[];
  /** Of decoupled models: by the number of the answer, `'0'` the first of its request. */
  readonly responses: Readonly<Record<string, ResponseStatistics>>;
}

export interface BatchStatistics {
  readonly batchSize: number;
  readonly computeInput: DurationStatistic;
  readonly computeInfer: DurationStatistic;
  readonly computeOutput: DurationStatistic;
}

export interface MemoryUsage {
  /** `'GPU'`, `'CPU'` or `'CPU_PINNED'`. */
  readonly type: string;
  readonly id: number;
  readonly byteSize: number;
}

export interface ResponseStatistics {
  readonly computeInfer: DurationStatistic;
  readonly computeOutput: DurationStatistic;
  readonly success: DurationStatistic;
  readonly fail: DurationStatistic;
  readonly emptyResponse: DurationStatistic;
  readonly cancel: DurationStatistic;
}

/** A model of the server's repository. One that was never loaded has neither version nor state. */
export interface RepositoryModel {
  readonly name: string;
  readonly version: string;
  /** `'READY'`, `'LOADING'`, `'UNLOADING'`, `'UNAVAILABLE'` or empty. */
  readonly state: string;
  readonly reason: string;
}

export interface LoadModelOptions extends ControlOptions {
  /** The configuration to use instead of the repository's, as in config.pbtxt, in Triton's JSON spelling. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Files in place of the repository's, by `version/path`. Needs `config`. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** How long loading may take. @defaultValue 600000 */
  readonly timeoutMs?: number;
}

export interface UnloadModelOptions extends ControlOptions {
  /** Also the models that only this one uses: the parts of an ensemble. */
  readonly unloadDependents?: boolean;
}

/** `SERVING` and `NOT_SERVING` of gRPC's own health service. */
export type HealthStatus = 'UNKNOWN' | 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

/** How the server traces requests, as a whole or for one model. */
export interface TraceSettings {
  readonly level: readonly string[];
  /** One of so many requests is traced. */
  readonly rate: number;
  /** How many more traces there will be; -1 for no limit. */
  readonly count: number;
  /** After so many traces the server writes a file; 0: when it ends. */
  readonly logFrequency: number;
  /** Everything the server said, by its own names. */
  readonly raw: Readonly<Record<string, readonly string[]>>;
}

/** What to change of the trace settings; null sets back to what the server was started with, or to the global value. */
export interface TraceSettingsUpdate {
  readonly level?: readonly ('OFF' | 'TIMESTAMPS' | 'TENSORS')[] | null;
  readonly rate?: number | null;
  readonly count?: number | null;
  readonly logFrequency?: number | null;
}

/** What the server writes to its log. */
export interface LogSettings {
  readonly info: boolean;
  readonly warning: boolean;
  readonly error: boolean;
  readonly verboseLevel: number;
  readonly format: string;
  readonly file: string;
}

/** What to change of the log settings. The file can't be changed over the network. */
export interface LogSettingsUpdate {
  readonly info?: boolean;
  readonly warning?: boolean;
  readonly error?: boolean;
  readonly verboseLevel?: number;
  readonly format?: 'default' | 'ISO8601';
}
