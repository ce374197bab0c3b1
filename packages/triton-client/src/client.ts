import { parseAddress } from './address.js';
import { integer, milliseconds, nonEmpty, typeError } from './check.js';
import { Connection, type UnaryMethod } from './connection.js';
import { toModelConfig, toModelMetadata, toModelStatistics } from './control.js';
import { encodeRequest } from './encode.js';
import { DisposedError, TritonError } from './errors.js';
import { type ModelRepositoryParameter, GRPCInferenceServiceService as Service } from './gen/grpc_service.js';
import { LanePool, type LaneStats } from './lane-pool.js';
import { readGpuUuids } from './metrics.js';
import { type ResolvedOptions, resolveOptions, type TritonClientOptions } from './options.js';
import { type ControlCall, cudaRegions, systemRegions } from './regions.js';
import { RepeatedAnswers } from './repeated-answers.js';
import type {
  CallOptions,
  CudaRegions,
  InferCall,
  InferRequest,
  LoadModelOptions,
  ModelConfig,
  ModelMetadata,
  ModelStatistics,
  PreparedRequest,
  RepositoryModel,
  ServerMetadata,
  SystemRegions,
} from './types.js';

const LOAD_TIMEOUT_MS = 600_000;

export interface ClientStats {
  /** Inference requests taken; refused arguments do not count. */
  readonly requests: number;
  /** Requests that wait for a lane or a connection. */
  readonly queued: number;
  /** Requests that settled as `'lost'`. */
  readonly lost: number;
  /** Streams opened since the start. */
  readonly lanesOpened: number;
  readonly lanes: LaneStats;
}

/**
 * A client of one Triton server over gRPC. Making one opens nothing: the first call connects.
 *
 * Calls reject with {@link TritonError} (its `code` says what happened), with the signal's reason after an abort, with
 * a TypeError or RangeError for arguments that can never be right, and with {@link DisposedError} after `close()`.
 *
 * @example
 * ```ts
 * const client = new TritonClient('grpc://localhost:8001');
 * const data = tensor('FP32', [3], Float32Array.of(1, 2, 3));
 * const reply = await client.infer('identity', { inputs: { INPUT: data } });
 * console.log(reply.output('OUTPUT').data);
 * await client.close();
 * ```
 */
export class TritonClient implements AsyncDisposable {
  /** Regions of POSIX shared memory that the server maps. */
  readonly systemSharedMemory: SystemRegions;
  /** Regions of GPU memory that the server opens by CUDA IPC. */
  readonly cudaSharedMemory: CudaRegions;
  readonly #connection: Connection;
  readonly #lanes: LanePool;
  readonly #options: ResolvedOptions;
  #closed: Promise<void> | undefined;

  /**
   * @param url - `grpc://host:port` or `unix:/path`
   * @throws TypeError or RangeError for another url or wrong options
   */
  constructor(url: string, options: TritonClientOptions = {}) {
    this.#options = resolveOptions(options);
    const address = parseAddress(url);
    this.#connection = new Connection(address, this.#options.connectTimeoutMs, () => this.#lanes.endIdleLanes());
    this.#lanes = new LanePool(this.#connection, this.#options);
    const call: ControlCall = (name, method, request) => this.#control(name, method, request);
    this.systemSharedMemory = systemRegions(call);
    this.cudaSharedMemory = cudaRegions(call);
  }

  /** The address given. */
  get url(): string {
    return this.#connection.address.url;
  }

  /** True when the address is this host's: loopback or a unix socket. */
  get isLocal(): boolean {
    return this.#connection.address.isLocal;
  }

  /** Rises whenever the connection is made or goes away: between two equal readings there was one server process. */
  get connectionEpoch(): number {
    return this.#connection.epoch;
  }

  /** True from the moment that `close()` is called. */
  get closed(): boolean {
    return this.#closed !== undefined;
  }

  get stats(): ClientStats {
    return this.#lanes.stats;
  }

  /** Whether the server answers. False, not an error, while nothing answers at the address. */
  async isLive(): Promise<boolean> {
    return (await unlessUnavailable(this.#control('ServerLive', Service.serverLive, {})))?.live ?? false;
  }

  /** Whether the server takes requests. False, not an error, while nothing answers or the server shuts down. */
  async isReady(): Promise<boolean> {
    return (await unlessUnavailable(this.#control('ServerReady', Service.serverReady, {})))?.ready ?? false;
  }

  /** Whether a model can be asked. False, not an error, for an unknown model and while nothing answers. */
  async isModelReady(model: string, version = ''): Promise<boolean> {
    const request = { name: nonEmpty(model, 'model'), version };
    return (await unlessUnavailable(this.#control('ModelReady', Service.modelReady, request, model)))?.ready ?? false;
  }

  /** Name, version and extensions. The extensions name shared memory also where a server has it switched off. */
  serverMetadata(): Promise<ServerMetadata> {
    return this.#control('ServerMetadata', Service.serverMetadata, {});
  }

  /** @throws TritonError `TRITON_NOT_FOUND` for an unknown model */
  async modelMetadata(model: string, version = ''): Promise<ModelMetadata> {
    const request = { name: nonEmpty(model, 'model'), version };
    return toModelMetadata(await this.#control('ModelMetadata', Service.modelMetadata, request, model));
  }

  /** @throws TritonError `TRITON_NOT_FOUND` for an unknown model */
  async modelConfig(model: string, version = ''): Promise<ModelConfig> {
    const request = { name: nonEmpty(model, 'model'), version };
    return toModelConfig((await this.#control('ModelConfig', Service.modelConfig, request, model)).config);
  }

  /**
   * Counts and times of a model's versions, or of every model's.
   *
   * @throws TritonError `TRITON_INVALID_ARGUMENT` for an unknown model
   */
  async modelStatistics(model?: string, version = ''): Promise<ModelStatistics[]> {
    const request = { name: model === undefined ? '' : nonEmpty(model, 'model'), version };
    const answer = await this.#control('ModelStatistics', Service.modelStatistics, request, model);
    return answer.modelStats.map(toModelStatistics);
  }

  /** The models of the server's repository, or only those that are ready. */
  async repositoryIndex(options: { readonly ready?: boolean } = {}): Promise<RepositoryModel[]> {
    const request = { repositoryName: '', ready: options.ready ?? false };
    return (await this.#control('RepositoryIndex', Service.repositoryIndex, request)).models;
  }

  /**
   * Loads or reloads a model; resolves when it is ready. Needs a server with `--model-control-mode=explicit`.
   *
   * @throws TritonError `TRITON_INTERNAL` or `TRITON_INVALID_ARGUMENT` when it cannot be loaded: the cause is in the
   *   server's log; `TRITON_UNAVAILABLE` when the server does not allow it
   */
  async loadModel(model: string, options: LoadModelOptions = {}): Promise<void> {
    const { config, files = {}, timeoutMs = LOAD_TIMEOUT_MS } = options;
    const parameters: Record<string, ModelRepositoryParameter> = {};
    if (config !== undefined) {
      parameters.config = { parameterChoice: { $case: 'stringParam', value: JSON.stringify(config) } };
    } else if (Object.keys(files).length > 0) {
      throw typeError('a config together with files', 'config', config);
    }
    for (const [path, value] of Object.entries(files)) {
      parameters[`file:${path}`] = { parameterChoice: { $case: 'bytesParam', value } };
    }
    const request = { repositoryName: '', modelName: nonEmpty(model, 'model'), parameters };
    const limit = integer(milliseconds(timeoutMs, 'timeoutMs'), 'timeoutMs', 1);
    await this.#control('RepositoryModelLoad', Service.repositoryModelLoad, request, model, limit);
  }

  /** Tells the server to unload a model; resolves before it is gone. An unknown name is not an error. */
  async unloadModel(model: string, options: { readonly unloadDependents?: boolean } = {}): Promise<void> {
    const value = options.unloadDependents ?? false;
    const parameters: Record<string, ModelRepositoryParameter> = {
      unload_dependents: { parameterChoice: { $case: 'boolParam', value } },
    };
    const request = { repositoryName: '', modelName: nonEmpty(model, 'model'), parameters };
    await this.#control('RepositoryModelUnload', Service.repositoryModelUnload, request, model);
  }

  /**
   * The UUIDs of the GPUs that the server's metrics name, or undefined when the client was given no `metricsUrl`.
   *
   * @throws TritonError `TRITON_UNAVAILABLE` when the metrics cannot be read
   */
  async gpuUuids(): Promise<string[] | undefined> {
    this.#checkOpen();
    const { metricsUrl, controlTimeoutMs } = this.#options;
    return metricsUrl === undefined ? undefined : readGpuUuids(metricsUrl, controlTimeoutMs);
  }

  /**
   * Runs a model once. The request is checked and encoded at once; afterwards its arrays may be changed, but memory
   * in a named region belongs to the server until `settled` says `'answered'` or `'not-sent'`.
   *
   * Wrong arguments throw; all else rejects.
   *
   * @throws TypeError or RangeError for a request that can never be right
   */
  infer(model: string, request: InferRequest, options?: CallOptions): InferCall {
    return this.#lanes.submit(encodeRequest(model, request), options);
  }

  /**
   * Encodes a request once, tensors of the message included, to be sent any number of times, also several at once.
   *
   * @throws TypeError or RangeError for a request that can never be right
   */
  prepare(model: string, request: InferRequest): PreparedRequest {
    this.#checkOpen();
    const once = encodeRequest(model, request);
    const encoded = once.outputsInRegions ? { ...once, answers: new RepeatedAnswers() } : once;
    return {
      byteLength: encoded.bytes.byteLength,
      infer: (options) => this.#lanes.submit(encoded, options),
    };
  }

  /**
   * Takes no new calls, waits for the requests under way, detached ones too, and ends the connection. After
   * `closeTimeoutMs` what is left is cancelled: it rejects with `TRITON_CANCELLED` and settles as `'lost'`.
   */
  close(): Promise<void> {
    this.#closed ??= this.#lanes.close(this.#options.closeTimeoutMs).then(() => this.#connection.close());
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #control<Request, Response>(
    name: string,
    method: UnaryMethod<Request, Response>,
    request: Request,
    model?: string,
    timeoutMs = this.#options.controlTimeoutMs,
  ): Promise<Response> {
    this.#checkOpen();
    return this.#connection.unary(name, method, request, timeoutMs, model);
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw new DisposedError('The TritonClient');
  }
}

async function unlessUnavailable<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof TritonError && error.code === 'TRITON_UNAVAILABLE') return undefined;
    throw error;
  }
}
