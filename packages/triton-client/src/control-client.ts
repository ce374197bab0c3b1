import { randomUUID } from 'node:crypto';
import { abortSignal, integer, milliseconds, nonEmpty, object, typeError } from './check.js';
import type { ControlCall, ControlTransport, ModelVersion } from './control.js';
import { TritonError } from './errors.js';
import { checkHeaders } from './headers.js';
import { readGpuUuids, readMetrics } from './metrics.js';
import type { ResolvedOptions } from './options.js';
import { cudaRegions, probeSharedMemory, type RegionHost, systemRegions } from './regions.js';
import type { Metrics } from './types/generate.js';
import type { CudaRegions, SharedMemoryState, SystemRegions } from './types/regions.js';
import type { ControlOptions } from './types/request.js';
import type {
  HealthStatus,
  LoadModelOptions,
  LogSettings,
  LogSettingsUpdate,
  ModelConfig,
  ModelMetadata,
  ModelStatistics,
  RepositoryModel,
  ServerMetadata,
  TraceSettings,
  TraceSettingsUpdate,
  UnloadModelOptions,
} from './types/server.js';

const LOAD_TIMEOUT_MS = 600_000;
const MAX_UINT32 = 0xffff_ffff;

/** The calls of a client that run no model. */
export abstract class ControlClient {
  /** Regions of POSIX shared memory that the server maps. */
  readonly systemSharedMemory: SystemRegions;
  /** Regions of GPU memory that the server opens by CUDA IPC. */
  readonly cudaSharedMemory: CudaRegions;
  readonly #controlTimeoutMs: number;
  readonly #metricsUrl: string | undefined;
  #gpus: { readonly epoch: number; readonly count: Promise<number | undefined> } | undefined;

  protected constructor(options: ResolvedOptions) {
    this.#controlTimeoutMs = options.controlTimeoutMs;
    this.#metricsUrl = options.metricsUrl;
    const host: RegionHost = {
      control: () => this.control(),
      resolve: (call) => this.#call(call),
      epoch: () => this.connectionEpoch,
      gpuCount: () => this.#gpuCount(),
    };
    this.systemSharedMemory = systemRegions(host);
    this.cudaSharedMemory = cudaRegions(host);
  }

  /** Rises whenever the connection is made or goes away: between two equal readings there was one server process. */
  abstract get connectionEpoch(): number;

  /** @throws DisposedError after `close()` */
  protected abstract control(): ControlTransport;

  /** Called when this client loaded or unloaded a model, or may have. */
  protected abstract onModelsChanged(): void;

  /** Whether the server answers. False, not an error, while nothing answers at the address. */
  async isLive(options?: ControlOptions): Promise<boolean> {
    return falseWhenUnavailable(this.control().serverLive(this.#call(options)));
  }

  /** Whether the server takes requests. False, not an error, while nothing answers or the server shuts down. */
  async isReady(options?: ControlOptions): Promise<boolean> {
    return falseWhenUnavailable(this.control().serverReady(this.#call(options)));
  }

  /** Whether a model can be asked. False, not an error, for an unknown model and while nothing answers. */
  async isModelReady(model: string, version = '', options?: ControlOptions): Promise<boolean> {
    return falseWhenUnavailable(this.control().modelReady(modelVersion(model, version), this.#call(options)));
  }

  /**
   * gRPC's own health check (`grpc.health.v1`), as load balancers ask it. Triton answers the same for every service.
   *
   * @throws TritonError `TRITON_UNIMPLEMENTED` over HTTP
   */
  async health(service = '', options?: ControlOptions): Promise<HealthStatus> {
    if (typeof service !== 'string') throw typeError('string', 'service', service);
    return this.control().health(service, this.#call(options));
  }

  /** Name, version and extensions. The extensions name shared memory also where a server has it switched off. */
  async serverMetadata(options?: ControlOptions): Promise<ServerMetadata> {
    return this.control().serverMetadata(this.#call(options));
  }

  /** @throws TritonError `TRITON_NOT_FOUND` for an unknown model */
  async modelMetadata(model: string, version = '', options?: ControlOptions): Promise<ModelMetadata> {
    return this.control().modelMetadata(modelVersion(model, version), this.#call(options));
  }

  /** @throws TritonError `TRITON_NOT_FOUND` for an unknown model */
  async modelConfig(model: string, version = '', options?: ControlOptions): Promise<ModelConfig> {
    return this.control().modelConfig(modelVersion(model, version), this.#call(options));
  }

  /**
   * Counts and times of a model's versions, or of every model's.
   *
   * @throws TritonError `TRITON_INVALID_ARGUMENT` for an unknown model
   */
  async modelStatistics(model?: string, version = '', options?: ControlOptions): Promise<ModelStatistics[]> {
    const of = model === undefined ? { model: '', version: checkVersion(version) } : modelVersion(model, version);
    return this.control().modelStatistics(of, this.#call(options));
  }

  /** The models of the server's repository, or only those that are ready. */
  async repositoryIndex(options: ControlOptions & { readonly ready?: boolean } = {}): Promise<RepositoryModel[]> {
    return this.control().repositoryIndex(object(options, 'options').ready ?? false, this.#call(options));
  }

  /**
   * Loads or reloads a model; resolves when it is ready. Needs a server with `--model-control-mode=explicit`.
   *
   * @throws TritonError `TRITON_INTERNAL` or `TRITON_INVALID_ARGUMENT` when it cannot be loaded: the cause is in the
   *   server's log; `TRITON_UNAVAILABLE` when the server does not allow it
   */
  async loadModel(model: string, options: LoadModelOptions = {}): Promise<void> {
    const { config, files = {} } = object(options, 'options');
    if (config === undefined && Object.keys(files).length > 0) {
      throw typeError('a config together with files', 'config', config);
    }
    for (const [path, content] of Object.entries(files)) {
      if (!(content instanceof Uint8Array)) throw typeError('Uint8Array', `files['${path}']`, content);
    }
    const json = config === undefined ? undefined : JSON.stringify(config);
    try {
      await this.control().loadModel(nonEmpty(model, 'model'), json, files, this.#call(options, LOAD_TIMEOUT_MS));
    } finally {
      this.onModelsChanged();
    }
  }

  /** Tells the server to unload a model; resolves before it is gone. An unknown name is not an error. */
  async unloadModel(model: string, options: UnloadModelOptions = {}): Promise<void> {
    const { unloadDependents = false } = object(options, 'options');
    try {
      await this.control().unloadModel(nonEmpty(model, 'model'), unloadDependents, this.#call(options));
    } finally {
      this.onModelsChanged();
    }
  }

  /** How the server, or one model, traces requests; with `update` changed first. The file can't be changed. */
  async traceSettings(
    update?: TraceSettingsUpdate & { readonly model?: string },
    options?: ControlOptions,
  ): Promise<TraceSettings> {
    const { model, ...settings } = update ?? {};
    const of = model === undefined ? '' : nonEmpty(model, 'model');
    // The server takes -5 for 2^32 - 5.
    uint32(settings.rate, 'rate', 0);
    uint32(settings.count, 'count', -1);
    uint32(settings.logFrequency, 'logFrequency', 0);
    const changes = Object.values(settings).some((value) => value !== undefined);
    return this.control().traceSettings(of, changes ? settings : undefined, this.#call(options));
  }

  /** What the server writes to its log; with `update` changed first. */
  async logSettings(update?: LogSettingsUpdate, options?: ControlOptions): Promise<LogSettings> {
    uint32(update?.verboseLevel, 'verboseLevel', 0);
    const changes = Object.values(update ?? {}).some((value) => value !== undefined);
    return this.control().logSettings(changes ? update : undefined, this.#call(options));
  }

  /**
   * Whether the server takes regions of clients at all. Its metadata name shared memory also where it is switched off;
   * this asks by unregistering a name that nobody has.
   */
  async sharedMemoryState(options?: ControlOptions): Promise<SharedMemoryState> {
    return probeSharedMemory(this.control(), `zerohop-probe-${randomUUID()}`, this.#call(options));
  }

  /**
   * The UUIDs of the GPUs that the server's metrics name, or undefined when the client was given no `metricsUrl`.
   *
   * @throws TritonError `TRITON_UNAVAILABLE` when the metrics cannot be read
   */
  async gpuUuids(): Promise<string[] | undefined> {
    this.control();
    return this.#metricsUrl === undefined ? undefined : readGpuUuids(this.#metricsUrl, this.#controlTimeoutMs);
  }

  /**
   * The server's metrics, read at once.
   *
   * @throws TritonError `TRITON_UNIMPLEMENTED` when the client was given no `metricsUrl`, `TRITON_UNAVAILABLE` when they
   *   cannot be read
   */
  async metrics(options?: Omit<ControlOptions, 'headers'>): Promise<Metrics> {
    this.control();
    const { timeoutMs, signal } = this.#call(options);
    if (this.#metricsUrl !== undefined) return readMetrics(this.#metricsUrl, timeoutMs, signal);
    const details = 'The metrics have a port of their own: give the client the option metricsUrl';
    throw new TritonError(details, { code: 'TRITON_UNIMPLEMENTED', method: 'metrics', details });
  }

  /** Once for each connection. Metrics that name no GPU, or can't be read, say nothing of their number. */
  async #gpuCount(): Promise<number | undefined> {
    const epoch = this.connectionEpoch;
    if (this.#gpus?.epoch !== epoch) {
      const count = this.gpuUuids().then(
        (uuids) => uuids?.length || undefined,
        () => undefined,
      );
      this.#gpus = { epoch, count };
    }
    return this.#gpus.count;
  }

  #call(options: ControlOptions | undefined, fallbackMs = this.#controlTimeoutMs): ControlCall {
    const { signal, timeoutMs, headers } = options === undefined ? {} : object(options, 'options');
    if (signal !== undefined) abortSignal(signal, 'signal');
    if (headers !== undefined) checkHeaders(headers, 'headers');
    return { timeoutMs: integer(milliseconds(timeoutMs ?? fallbackMs, 'timeoutMs'), 'timeoutMs', 1), signal, headers };
  }
}

function modelVersion(model: string, version: string): ModelVersion {
  return { model: nonEmpty(model, 'model'), version: checkVersion(version) };
}

function checkVersion(version: unknown): string {
  if (typeof version !== 'string') throw typeError('string', 'version', version);
  return version;
}

function uint32(value: number | null | undefined, name: string, minimum: number): void {
  if (value === undefined || value === null) return;
  if (integer(value, name, minimum) > MAX_UINT32) throw typeError('32-bit integer', name, value);
}

async function falseWhenUnavailable(answer: Promise<boolean>): Promise<boolean> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof TritonError && error.code === 'TRITON_UNAVAILABLE') return false;
    throw error;
  }
}
