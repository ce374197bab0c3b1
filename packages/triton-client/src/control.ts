import type { CudaRegionStatus, SystemRegionStatus } from './types/regions.js';
import type { CallHeaders } from './types/request.js';
import type {
  HealthStatus,
  LogSettings,
  LogSettingsUpdate,
  ModelConfig,
  ModelMetadata,
  ModelStatistics,
  RepositoryModel,
  ServerMetadata,
  TraceSettings,
  TraceSettingsUpdate,
} from './types/server.js';

/** How one control call is to be made. */
export interface ControlCall {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: CallHeaders | undefined;
}

/** A model, and a version of it; `''` for the one that the server picks. */
export interface ModelVersion {
  readonly model: string;
  readonly version: string;
}

/**
 * The calls that run no model, as a transport makes them: one RPC or one HTTP request each. Arguments are checked by the
 * callers. All reject with TritonError, or with the signal's reason.
 */
export interface ControlTransport {
  serverLive(call: ControlCall): Promise<boolean>;
  serverReady(call: ControlCall): Promise<boolean>;
  /** gRPC's own health service. */
  health(service: string, call: ControlCall): Promise<HealthStatus>;
  modelReady(of: ModelVersion, call: ControlCall): Promise<boolean>;
  serverMetadata(call: ControlCall): Promise<ServerMetadata>;
  modelMetadata(of: ModelVersion, call: ControlCall): Promise<ModelMetadata>;
  modelConfig(of: ModelVersion, call: ControlCall): Promise<ModelConfig>;
  /** Model `''`: all. */
  modelStatistics(of: ModelVersion, call: ControlCall): Promise<ModelStatistics[]>;
  repositoryIndex(onlyReady: boolean, call: ControlCall): Promise<RepositoryModel[]>;
  /** `config`: JSON text. */
  loadModel(
    model: string,
    config: string | undefined,
    files: Readonly<Record<string, Uint8Array>>,
    call: ControlCall,
  ): Promise<void>;
  unloadModel(model: string, unloadDependents: boolean, call: ControlCall): Promise<void>;
  /** Name `''`: all. Rejects with `TRITON_NOT_FOUND` for an unknown name, and for one of the other kind. */
  systemRegions(name: string, call: ControlCall): Promise<SystemRegionStatus[]>;
  registerSystemRegion(region: Omit<SystemRegionStatus, 'byteOffset'>, call: ControlCall): Promise<void>;
  /** Name `''`: all. */
  unregisterSystemRegion(name: string, call: ControlCall): Promise<void>;
  /** Name `''`: all. Rejects as `systemRegions` does. */
  cudaRegions(name: string, call: ControlCall): Promise<CudaRegionStatus[]>;
  registerCudaRegion(region: CudaRegionStatus & { readonly rawHandle: Uint8Array }, call: ControlCall): Promise<void>;
  /** Name `''`: all. */
  unregisterCudaRegion(name: string, call: ControlCall): Promise<void>;
  /** Model `''`: the server's. Without an update it only asks. */
  traceSettings(model: string, update: TraceSettingsUpdate | undefined, call: ControlCall): Promise<TraceSettings>;
  /** Without an update it only asks. */
  logSettings(update: LogSettingsUpdate | undefined, call: ControlCall): Promise<LogSettings>;
}
