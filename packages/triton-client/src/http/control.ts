import type { ControlCall, ControlTransport, ModelVersion } from '../control.js';
import { TritonError } from '../errors.js';
import { modelConfigOf } from '../model-config.js';
import { countOf, type JsonObject, listOf, objectOf, textOf } from '../read.js';
import type { CudaRegionStatus, SystemRegionStatus } from '../types/regions.js';
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
} from '../types/server.js';
import {
  toLogSettings,
  toModelMetadata,
  toModelStatistics,
  toRepositoryModel,
  toServerMetadata,
  toTraceSettings,
} from './answers.js';
import { call } from './call.js';
import type { HttpConnection } from './connection.js';
import { errorOfResponse, type HttpCallNames, httpError } from './errors.js';
import { JsonError, parseJson, writeJson } from './json.js';
import { modelPath, segment, versionError } from './paths.js';
import type { HttpResponse } from './response.js';

interface Question {
  /** The RPC that does the same. */
  readonly method: string;
  readonly path: string;
  readonly model?: string;
  /** Makes it a POST, with this as JSON. */
  readonly body?: unknown;
  /** Of the calls of regions: which one, or '' for all. */
  readonly region?: string;
}

/** The control calls as requests to the paths of KServe v2 and Triton's extensions. */
export class HttpControl implements ControlTransport {
  readonly #connection: HttpConnection;

  constructor(connection: HttpConnection) {
    this.#connection = connection;
  }

  serverLive(options: ControlCall): Promise<boolean> {
    return this.#isReady({ method: 'ServerLive', path: '/v2/health/live' }, options);
  }

  serverReady(options: ControlCall): Promise<boolean> {
    return this.#isReady({ method: 'ServerReady', path: '/v2/health/ready' }, options);
  }

  async health(): Promise<HealthStatus> {
    const details = 'The health service is gRPC alone: ask isLive() and isReady(), or give the client a gRPC url';
    throw new TritonError(details, { code: 'TRITON_UNIMPLEMENTED', method: 'Check', details });
  }

  async modelReady(of: ModelVersion, options: ControlCall): Promise<boolean> {
    const method = 'ModelReady';
    return this.#isReady({ method, path: `${pathOf(of, method)}/ready`, model: of.model }, options);
  }

  async serverMetadata(options: ControlCall): Promise<ServerMetadata> {
    return toServerMetadata(await this.#object({ method: 'ServerMetadata', path: '/v2' }, options));
  }

  async modelMetadata(of: ModelVersion, options: ControlCall): Promise<ModelMetadata> {
    const method = 'ModelMetadata';
    const question = { method, path: pathOf(of, method), model: of.model };
    return toModelMetadata(await this.#object(question, options));
  }

  async modelConfig(of: ModelVersion, options: ControlCall): Promise<ModelConfig> {
    const method = 'ModelConfig';
    const question = { method, path: `${pathOf(of, method)}/config`, model: of.model };
    return modelConfigOf(await this.#object(question, options));
  }

  async modelStatistics(of: ModelVersion, options: ControlCall): Promise<ModelStatistics[]> {
    const method = 'ModelStatistics';
    // Without a model a version means nothing, and HTTP has no place for it.
    const path = `${pathOf(of.model === '' ? { model: '', version: '' } : of, method)}/stats`;
    const { model_stats } = await this.#object({ method, path, model: of.model }, options);
    return listOf(method, model_stats, 'model_stats').map(toModelStatistics);
  }

  async repositoryIndex(onlyReady: boolean, options: ControlCall): Promise<RepositoryModel[]> {
    const method = 'RepositoryIndex';
    const answer = await this.#json({ method, path: '/v2/repository/index', body: { ready: onlyReady } }, options);
    return listOf(method, answer, 'the answer').map(toRepositoryModel);
  }

  async loadModel(
    model: string,
    config: string | undefined,
    files: Readonly<Record<string, Uint8Array>>,
    options: ControlCall,
  ): Promise<void> {
    const parameters: Record<string, string> = {};
    if (config !== undefined) parameters.config = config;
    for (const [path, { buffer, byteOffset, byteLength }] of Object.entries(files)) {
      parameters[`file:${path}`] = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    }
    const path = `/v2/repository/models/${segment(model, 'model')}/load`;
    await this.#done({ method: 'RepositoryModelLoad', path, model, body: { parameters } }, options);
  }

  async unloadModel(model: string, unloadDependents: boolean, options: ControlCall): Promise<void> {
    const path = `/v2/repository/models/${segment(model, 'model')}/unload`;
    const body = { parameters: { unload_dependents: unloadDependents } };
    await this.#done({ method: 'RepositoryModelUnload', path, model, body }, options);
  }

  async systemRegions(name: string, options: ControlCall): Promise<SystemRegionStatus[]> {
    const method = 'SystemSharedMemoryStatus';
    return (await this.#regions('system', method, name, options)).map((region) => ({
      name: textOf(method, region.name, 'a name'),
      key: textOf(method, region.key, 'a key'),
      byteOffset: countOf(method, region.offset, 'an offset'),
      byteLength: countOf(method, region.byte_size, 'a size'),
    }));
  }

  async registerSystemRegion(region: Omit<SystemRegionStatus, 'byteOffset'>, options: ControlCall): Promise<void> {
    const { name, key, byteLength } = region;
    // The offset stays 0: servers apply another one twice and then read past the mapping.
    const body = { key, offset: 0, byte_size: byteLength };
    const path = regionPath('system', name, 'register');
    await this.#done({ method: 'SystemSharedMemoryRegister', path, body, region: name }, options);
  }

  async unregisterSystemRegion(name: string, options: ControlCall): Promise<void> {
    const path = regionPath('system', name, 'unregister');
    await this.#done({ method: 'SystemSharedMemoryUnregister', path, body: {}, region: name }, options);
  }

  async cudaRegions(name: string, options: ControlCall): Promise<CudaRegionStatus[]> {
    const method = 'CudaSharedMemoryStatus';
    return (await this.#regions('cuda', method, name, options)).map((region) => ({
      name: textOf(method, region.name, 'a name'),
      deviceId: countOf(method, region.device_id, 'a device'),
      byteLength: countOf(method, region.byte_size, 'a size'),
    }));
  }

  async registerCudaRegion(
    region: CudaRegionStatus & { readonly rawHandle: Uint8Array },
    options: ControlCall,
  ): Promise<void> {
    const { name, rawHandle, deviceId, byteLength } = region;
    const handle = Buffer.from(rawHandle.buffer, rawHandle.byteOffset, rawHandle.byteLength).toString('base64');
    const body = { raw_handle: { b64: handle }, device_id: deviceId, byte_size: byteLength };
    const path = regionPath('cuda', name, 'register');
    await this.#done({ method: 'CudaSharedMemoryRegister', path, body, region: name }, options);
  }

  async unregisterCudaRegion(name: string, options: ControlCall): Promise<void> {
    const path = regionPath('cuda', name, 'unregister');
    await this.#done({ method: 'CudaSharedMemoryUnregister', path, body: {}, region: name }, options);
  }

  async traceSettings(
    model: string,
    update: TraceSettingsUpdate | undefined,
    options: ControlCall,
  ): Promise<TraceSettings> {
    // The server takes numbers as text only; null clears a setting.
    const text = (value: number | null | undefined) => (typeof value === 'number' ? String(value) : value);
    const body = update && {
      trace_level: update.level,
      trace_rate: text(update.rate),
      trace_count: text(update.count),
      log_frequency: text(update.logFrequency),
    };
    const path = model === '' ? '/v2/trace/setting' : `/v2/models/${segment(model, 'model')}/trace/setting`;
    const question = { method: 'TraceSetting', path, model, body };
    return toTraceSettings(await this.#object(question, options));
  }

  async logSettings(update: LogSettingsUpdate | undefined, options: ControlCall): Promise<LogSettings> {
    const body = update && {
      log_info: update.info,
      log_warning: update.warning,
      log_error: update.error,
      log_verbose_level: update.verboseLevel,
      log_format: update.format,
    };
    return toLogSettings(await this.#object({ method: 'LogSettings', path: '/v2/logging', body }, options));
  }

  async #regions(kind: RegionKind, method: string, name: string, options: ControlCall): Promise<JsonObject[]> {
    const question = { method, path: regionPath(kind, name, 'status'), region: name };
    const answer = listOf(method, await this.#json(question, options), 'the answer');
    return answer.map((entry) => objectOf(method, entry, 'a region'));
  }

  /** Not ready is a 400, with a text or without. */
  async #isReady(question: Question, options: ControlCall): Promise<boolean> {
    const response = await this.#ask(question, options);
    if (response.status === 400) return false;
    if (response.status !== 200) throw errorOfResponse(response, this.#connection.address, namesOf(question));
    return true;
  }

  async #object(question: Question, options: ControlCall): Promise<JsonObject> {
    return objectOf(question.method, await this.#json(question, options), 'the answer');
  }

  async #json(question: Question, options: ControlCall): Promise<unknown> {
    const text = (await this.#done(question, options)).body.toString('utf8');
    try {
      return parseJson(text);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      const details = `the answer is no JSON: ${error.message}`;
      const at = { at: this.#connection.address, cause: error };
      throw httpError('TRITON_MALFORMED_RESPONSE', details, namesOf(question), at);
    }
  }

  /** @throws TritonError for every status but 200 */
  async #done(question: Question, options: ControlCall): Promise<HttpResponse> {
    const response = await this.#ask(question, options);
    if (response.status === 200) return response;
    throw errorOfResponse(response, this.#connection.address, namesOf(question));
  }

  #ask(question: Question, { headers, ...patience }: ControlCall): Promise<HttpResponse> {
    const { path, body, region } = question;
    const ofRegions = region !== undefined;
    const request =
      body === undefined
        ? { method: 'GET' as const, path, headers, ofRegions }
        : {
            method: 'POST' as const,
            path,
            headers,
            ofRegions,
            ownHeaders: { 'content-type': 'application/json' },
            chunks: [Buffer.from(writeJson(body))],
          };
    return call(this.#connection, request, namesOf(question), patience);
  }
}

/** @throws TritonError `TRITON_INVALID_ARGUMENT` for a version that is no number */
function pathOf(of: ModelVersion, method: string): string {
  const error = versionError(of, method);
  if (error !== undefined) throw error;
  return modelPath(of);
}

type RegionKind = 'system' | 'cuda';

/** Name `''`: all. */
function regionPath(kind: RegionKind, name: string, action: 'status' | 'register' | 'unregister'): string {
  const region = name === '' ? '' : `/region/${segment(name, 'name')}`;
  return `/v2/${kind}sharedmemory${region}/${action}`;
}

/** '' stands for all. */
function namesOf({ method, model, region }: Question): HttpCallNames {
  return { method, model: model || undefined, region: region || undefined };
}
