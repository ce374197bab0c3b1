import { exactNumber } from '../answers.js';
import type { ControlCall, ControlTransport, ModelVersion } from '../control.js';
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
import { toLogSettings, toModelConfig, toModelMetadata, toModelStatistics, toTraceSettings } from './answers.js';
import type { Connection, UnaryMethod } from './connection.js';
import { ControlCalls } from './control-calls.js';
import {
  type LogSettingsRequest_SettingValue,
  type ModelRepositoryParameter,
  GRPCInferenceServiceService as Service,
} from './gen/grpc_service.js';
import { HealthService } from './gen/health.js';

const HEALTH: readonly HealthStatus[] = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** The control calls as RPCs of `inference.GRPCInferenceService`. */
export class GrpcControl implements ControlTransport {
  readonly #calls: ControlCalls;

  constructor(connection: Connection) {
    this.#calls = new ControlCalls(connection);
  }

  /** Waits for the calls under way at most `timeoutMs`, and then cancels them. */
  close(timeoutMs: number): Promise<void> {
    return this.#calls.close(timeoutMs);
  }

  async serverLive(call: ControlCall): Promise<boolean> {
    return (await this.#unary('ServerLive', Service.serverLive, {}, call)).live;
  }

  async serverReady(call: ControlCall): Promise<boolean> {
    return (await this.#unary('ServerReady', Service.serverReady, {}, call)).ready;
  }

  async health(service: string, call: ControlCall): Promise<HealthStatus> {
    const { status } = await this.#unary('Check', HealthService.check, { service }, call);
    return HEALTH[status] ?? 'UNKNOWN';
  }

  async modelReady({ model, version }: ModelVersion, call: ControlCall): Promise<boolean> {
    return (await this.#unary('ModelReady', Service.modelReady, { name: model, version }, call, { model })).ready;
  }

  serverMetadata(call: ControlCall): Promise<ServerMetadata> {
    return this.#unary('ServerMetadata', Service.serverMetadata, {}, call);
  }

  async modelMetadata({ model, version }: ModelVersion, call: ControlCall): Promise<ModelMetadata> {
    const request = { name: model, version };
    return toModelMetadata(await this.#unary('ModelMetadata', Service.modelMetadata, request, call, { model }));
  }

  async modelConfig({ model, version }: ModelVersion, call: ControlCall): Promise<ModelConfig> {
    const request = { name: model, version };
    return toModelConfig((await this.#unary('ModelConfig', Service.modelConfig, request, call, { model })).config);
  }

  async modelStatistics({ model, version }: ModelVersion, call: ControlCall): Promise<ModelStatistics[]> {
    const request = { name: model, version };
    const answer = await this.#unary('ModelStatistics', Service.modelStatistics, request, call, { model });
    return answer.modelStats.map(toModelStatistics);
  }

  async repositoryIndex(onlyReady: boolean, call: ControlCall): Promise<RepositoryModel[]> {
    // Another repository name is answered with UNIMPLEMENTED.
    const request = { repositoryName: '', ready: onlyReady };
    return (await this.#unary('RepositoryIndex', Service.repositoryIndex, request, call)).models;
  }

  async loadModel(
    model: string,
    config: string | undefined,
    files: Readonly<Record<string, Uint8Array>>,
    call: ControlCall,
  ): Promise<void> {
    const parameters: Record<string, ModelRepositoryParameter> = {};
    if (config !== undefined) parameters.config = { parameterChoice: { $case: 'stringParam', value: config } };
    for (const [path, value] of Object.entries(files)) {
      parameters[`file:${path}`] = { parameterChoice: { $case: 'bytesParam', value } };
    }
    const request = { repositoryName: '', modelName: model, parameters };
    await this.#unary('RepositoryModelLoad', Service.repositoryModelLoad, request, call, { model });
  }

  async unloadModel(model: string, unloadDependents: boolean, call: ControlCall): Promise<void> {
    const parameters: Record<string, ModelRepositoryParameter> = {
      unload_dependents: { parameterChoice: { $case: 'boolParam', value: unloadDependents } },
    };
    const request = { repositoryName: '', modelName: model, parameters };
    await this.#unary('RepositoryModelUnload', Service.repositoryModelUnload, request, call, { model });
  }

  async systemRegions(name: string, call: ControlCall): Promise<SystemRegionStatus[]> {
    const method = 'SystemSharedMemoryStatus';
    const { regions } = await this.#unary(method, Service.systemSharedMemoryStatus, { name }, call, { region: name });
    return Object.values(regions).map((region) => ({
      name: region.name,
      key: region.key,
      byteOffset: exactNumber(method, `the offset of '${region.name}'`, region.offset),
      byteLength: exactNumber(method, `the size of '${region.name}'`, region.byteSize),
    }));
  }

  async registerSystemRegion(region: Omit<SystemRegionStatus, 'byteOffset'>, call: ControlCall): Promise<void> {
    // The offset stays 0: servers apply another one twice and then read past the mapping.
    const request = { name: region.name, key: region.key, offset: 0n, byteSize: BigInt(region.byteLength) };
    await this.#unary('SystemSharedMemoryRegister', Service.systemSharedMemoryRegister, request, call, {
      region: region.name,
    });
  }

  async unregisterSystemRegion(name: string, call: ControlCall): Promise<void> {
    await this.#unary('SystemSharedMemoryUnregister', Service.systemSharedMemoryUnregister, { name }, call, {
      region: name,
    });
  }

  async cudaRegions(name: string, call: ControlCall): Promise<CudaRegionStatus[]> {
    const method = 'CudaSharedMemoryStatus';
    const { regions } = await this.#unary(method, Service.cudaSharedMemoryStatus, { name }, call, { region: name });
    return Object.values(regions).map((region) => ({
      name: region.name,
      deviceId: exactNumber(method, `the device of '${region.name}'`, region.deviceId),
      byteLength: exactNumber(method, `the size of '${region.name}'`, region.byteSize),
    }));
  }

  async registerCudaRegion(
    region: CudaRegionStatus & { readonly rawHandle: Uint8Array },
    call: ControlCall,
  ): Promise<void> {
    const { name, rawHandle, deviceId, byteLength } = region;
    const request = { name, rawHandle, deviceId: BigInt(deviceId), byteSize: BigInt(byteLength) };
    await this.#unary('CudaSharedMemoryRegister', Service.cudaSharedMemoryRegister, request, call, { region: name });
  }

  async unregisterCudaRegion(name: string, call: ControlCall): Promise<void> {
    await this.#unary('CudaSharedMemoryUnregister', Service.cudaSharedMemoryUnregister, { name }, call, {
      region: name,
    });
  }

  async traceSettings(
    model: string,
    update: TraceSettingsUpdate | undefined,
    call: ControlCall,
  ): Promise<TraceSettings> {
    const settings: Record<string, { value: string[] }> = {};
    // No value at all clears a setting.
    const set = (key: string, values: readonly (string | number)[] | null | undefined) => {
      if (values !== undefined) settings[key] = { value: (values ?? []).map(String) };
    };
    set('trace_level', update?.level);
    set('trace_rate', one(update?.rate));
    set('trace_count', one(update?.count));
    set('log_frequency', one(update?.logFrequency));
    const request = { settings, modelName: model };
    return toTraceSettings(await this.#unary('TraceSetting', Service.traceSetting, request, call, { model }));
  }

  async logSettings(update: LogSettingsUpdate | undefined, call: ControlCall): Promise<LogSettings> {
    const settings: Record<string, LogSettingsRequest_SettingValue> = {};
    const setBoolean = (key: string, value: boolean | undefined) => {
      if (value !== undefined) settings[key] = { parameterChoice: { $case: 'boolParam', value } };
    };
    setBoolean('log_info', update?.info);
    setBoolean('log_warning', update?.warning);
    setBoolean('log_error', update?.error);
    if (update?.verboseLevel !== undefined) {
      settings.log_verbose_level = { parameterChoice: { $case: 'uint32Param', value: update.verboseLevel } };
    }
    if (update?.format !== undefined) {
      settings.log_format = { parameterChoice: { $case: 'stringParam', value: update.format } };
    }
    return toLogSettings(await this.#unary('LogSettings', Service.logSettings, { settings }, call));
  }

  #unary<Request, Response>(
    name: string,
    method: UnaryMethod<Request, Response>,
    request: Request,
    call: ControlCall,
    { model, region }: { readonly model?: string; readonly region?: string } = {},
  ): Promise<Response> {
    // '' stands for all.
    return this.#calls.unary(name, method, request, call, {
      model: model || undefined,
      region: region || undefined,
    });
  }
}

function one(value: number | null | undefined): readonly number[] | null | undefined {
  return value === undefined || value === null ? value : [value];
}
