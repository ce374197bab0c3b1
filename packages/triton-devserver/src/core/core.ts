import type { ModelConfig } from '../grpc/gen/model_config.js';
import type { Personality } from '../personality.js';
import type { Protocol } from '../protocol.js';
import type { InferenceRequest, Responder } from './inference.js';
import type { Regions } from './regions.js';

export interface TensorMetadata {
  readonly name: string;
  readonly datatype: string;
  /** -1 for what is not fixed, with the batch dimension. */
  readonly shape: readonly number[];
}

export interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

export interface IndexEntry {
  readonly name: string;
  /** These three are undefined for a model that was never loaded: absent over HTTP, empty over gRPC. */
  readonly version?: string;
  readonly state?: string;
  readonly reason?: string;
}

export interface Duration {
  readonly count: bigint;
  readonly ns: bigint;
}

export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  /** Milliseconds since the epoch; 0n before the first. */
  readonly lastInference: bigint;
  readonly inferenceCount: bigint;
  readonly executionCount: bigint;
  readonly inference: Readonly<
    Record<
      'success' | 'fail' | 'queue' | 'compute_input' | 'compute_infer' | 'compute_output' | 'cache_hit' | 'cache_miss',
      Duration
    >
  >;
  readonly batches: readonly {
    readonly batchSize: bigint;
    readonly computeInput: Duration;
    readonly computeInfer: Duration;
    readonly computeOutput: Duration;
  }[];
}

/** What `load` may be told beside the name. */
export interface LoadOptions {
  /** The configuration as JSON, in place of the folder's. */
  readonly config?: string;
  /** By path within the model's folder, such as `1/model.mjs`. */
  readonly files?: ReadonlyMap<string, Uint8Array>;
}

/** A value of the log settings. */
export type LogValue = boolean | number | string;

/**
 * The server behind its front ends: all that is the same over gRPC and HTTP. Every method throws ServerErrors, whose texts
 * are a real server's.
 */
export interface Core {
  readonly personality: Personality;
  readonly regions: Regions;
  readonly serverName: string;
  readonly extensions: readonly string[];

  live(): boolean;
  ready(): boolean;
  modelReady(name: string, version: string): boolean;
  modelMetadata(name: string, version: string): ModelMetadata;
  modelConfig(name: string, version: string): ModelConfig;
  /** `name` '' means all models; `version` '' all versions. */
  modelStatistics(name: string, version: string): ModelStatistics[];

  repositoryIndex(readyOnly: boolean): IndexEntry[];
  load(name: string, options: LoadOptions): Promise<void>;
  unload(name: string, dependents: boolean): Promise<void>;

  /** The settings of a model, or the server's for '': see `TraceSettings.update`. */
  traceSettings(
    model: string,
    changes: Readonly<Record<string, unknown>> | undefined,
    protocol: Protocol,
  ): Record<string, string[]>;
  /** See `LogSettings.update`. */
  logSettings(changes: Readonly<Record<string, unknown>>, protocol: Protocol): Record<string, LogValue>;
  metricsText(): string;

  /**
   * Whether a model answers a request any number of times.
   *
   * @throws ServerError when there is no such model or version
   */
  isDecoupled(model: string, version: string): boolean;

  /**
   * Checks a request against its model and queues it. `respond` is called with each answer, in the end with a final one.
   * References to regions are given back when all is over, also when this throws.
   *
   * @throws ServerError for a request that the model can't run; `respond` is then never called
   */
  infer(request: InferenceRequest, respond: Responder): void;
}
