import type { ApiGroup } from '../api-groups.js';
import type { Core, LogValue, ModelStatistics } from '../core/core.js';
import { invalid, unsupported } from '../status.js';
import * as Messages from './gen/grpc_service.js';
import { HealthCheckRequest, HealthCheckResponse, HealthCheckResponse_ServingStatus } from './gen/health.js';

/** A unary method: its messages, what restricts it, and what it does. */
export interface Unary<Request, Response> {
  readonly request: { decode(bytes: Uint8Array): Request };
  readonly response: {
    encode(message: Response): { finish(): Uint8Array };
    fromPartial(partial: object): Response;
  };
  readonly group: ApiGroup;
  readonly run: (request: Request, core: Core) => Partial<Response> | Promise<Partial<Response>>;
}

/** A method without its types, as the front end registers it. */
export type AnyUnary = Unary<unknown, unknown>;

const unary = <Request, Response>(method: Unary<Request, Response>) => method as unknown as AnyUnary;

const M = Messages;

/** Every unary RPC of inference.GRPCInferenceService but ModelInfer. */
export const CONTROL: Readonly<Record<string, AnyUnary>> = {
  ServerLive: unary({
    request: M.ServerLiveRequest,
    response: M.ServerLiveResponse,
    group: 'health',
    run: (_, core) => ({ live: core.live() }),
  }),
  ServerReady: unary({
    request: M.ServerReadyRequest,
    response: M.ServerReadyResponse,
    group: 'health',
    run: (_, core) => ({ ready: core.ready() }),
  }),
  ModelReady: unary({
    request: M.ModelReadyRequest,
    response: M.ModelReadyResponse,
    group: 'health',
    run: ({ name, version }, core) => ({ ready: core.modelReady(name, version) }),
  }),
  ServerMetadata: unary({
    request: M.ServerMetadataRequest,
    response: M.ServerMetadataResponse,
    group: 'metadata',
    run: (_, core) => ({
      name: core.serverName,
      version: core.personality.serverVersion,
      extensions: [...core.extensions],
    }),
  }),
  ModelMetadata: unary({
    request: M.ModelMetadataRequest,
    response: M.ModelMetadataResponse,
    group: 'metadata',
    run: ({ name, version }, core) => {
      const { versions, platform, inputs, outputs, ...rest } = core.modelMetadata(name, version);
      const tensors = (list: typeof inputs) => list.map((tensor) => ({ ...tensor, shape: tensor.shape.map(BigInt) }));
      return { ...rest, versions: [...versions], platform, inputs: tensors(inputs), outputs: tensors(outputs) };
    },
  }),
  ModelConfig: unary({
    request: M.ModelConfigRequest,
    response: M.ModelConfigResponse,
    group: 'model-config',
    run: ({ name, version }, core) => ({ config: core.modelConfig(name, version) }),
  }),
  ModelStatistics: unary({
    request: M.ModelStatisticsRequest,
    response: M.ModelStatisticsResponse,
    group: 'statistics',
    run: ({ name, version }, core) => ({ model_stats: core.modelStatistics(name, version).map(statisticsMessage) }),
  }),
  RepositoryIndex: unary({
    request: M.RepositoryIndexRequest,
    response: M.RepositoryIndexResponse,
    group: 'model-repository',
    run: ({ repository_name, ready }, core) => {
      if (repository_name !== '') throw unsupported("'repository_name' specification is not supported");
      const models = core.repositoryIndex(ready);
      return {
        models: models.map(({ name, version = '', state = '', reason = '' }) => ({ name, version, state, reason })),
      };
    },
  }),
  RepositoryModelLoad: unary({
    request: M.RepositoryModelLoadRequest,
    response: M.RepositoryModelLoadResponse,
    group: 'model-repository',
    run: async ({ repository_name, model_name, parameters }, core) => {
      if (repository_name !== '') throw unsupported("'repository_name' specification is not supported");
      await core.load(model_name, loadOptions(parameters));
      return {};
    },
  }),
  RepositoryModelUnload: unary({
    request: M.RepositoryModelUnloadRequest,
    response: M.RepositoryModelUnloadResponse,
    group: 'model-repository',
    run: async ({ repository_name, model_name, parameters }, core) => {
      if (repository_name !== '') throw unsupported("'repository_name' specification is not supported");
      const dependents = parameters.unload_dependents;
      if (dependents !== undefined && dependents.bool_param === undefined) {
        throw invalid("invalid value type for 'unload_dependents' parameter, expected bool_param.");
      }
      await core.unload(model_name, dependents?.bool_param ?? false);
      return {};
    },
  }),
  SystemSharedMemoryStatus: unary({
    request: M.SystemSharedMemoryStatusRequest,
    response: M.SystemSharedMemoryStatusResponse,
    group: 'shared-memory',
    run: ({ name }, core) => ({
      regions: Object.fromEntries(
        core.regions
          .systemStatus(name)
          .map(({ byteSize, ...region }) => [region.name, { ...region, byte_size: byteSize }]),
      ),
    }),
  }),
  SystemSharedMemoryRegister: unary({
    request: M.SystemSharedMemoryRegisterRequest,
    response: M.SystemSharedMemoryRegisterResponse,
    group: 'shared-memory',
    run: async ({ byte_size: byteSize, ...region }, core) => {
      await core.regions.registerSystem({ ...region, byteSize });
      return {};
    },
  }),
  SystemSharedMemoryUnregister: unary({
    request: M.SystemSharedMemoryUnregisterRequest,
    response: M.SystemSharedMemoryUnregisterResponse,
    group: 'shared-memory',
    run: ({ name }, core) => {
      core.regions.unregisterSystem(name);
      return {};
    },
  }),
  CudaSharedMemoryStatus: unary({
    request: M.CudaSharedMemoryStatusRequest,
    response: M.CudaSharedMemoryStatusResponse,
    group: 'shared-memory',
    run: ({ name: asked }, core) => ({
      regions: Object.fromEntries(
        core.regions
          .cudaStatus(asked)
          .map(({ name, deviceId, byteSize }) => [name, { name, device_id: deviceId, byte_size: byteSize }]),
      ),
    }),
  }),
  CudaSharedMemoryRegister: unary({
    request: M.CudaSharedMemoryRegisterRequest,
    response: M.CudaSharedMemoryRegisterResponse,
    group: 'shared-memory',
    run: async ({ name, raw_handle: rawHandle, device_id: deviceId, byte_size: byteSize }, core) => {
      await core.regions.registerCuda({ name, rawHandle, deviceId, byteSize });
      return {};
    },
  }),
  CudaSharedMemoryUnregister: unary({
    request: M.CudaSharedMemoryUnregisterRequest,
    response: M.CudaSharedMemoryUnregisterResponse,
    group: 'shared-memory',
    run: async ({ name }, core) => {
      await core.regions.unregisterCuda(name);
      return {};
    },
  }),
  TraceSetting: unary({
    request: M.TraceSettingRequest,
    response: M.TraceSettingResponse,
    group: 'trace',
    run: ({ settings, model_name }, core) => {
      const changes = Object.fromEntries(Object.entries(settings).map(([name, { value }]) => [name, value]));
      const now = core.traceSettings(model_name, changes, 'grpc');
      return { settings: Object.fromEntries(Object.entries(now).map(([name, value]) => [name, { value }])) };
    },
  }),
  LogSettings: unary({
    request: M.LogSettingsRequest,
    response: M.LogSettingsResponse,
    group: 'logging',
    run: ({ settings }, core) => {
      const changes = Object.fromEntries(
        Object.entries(settings).map(([name, setting]) => [
          name,
          setting.bool_param ?? setting.uint32_param ?? setting.string_param,
        ]),
      );
      return { settings: Object.fromEntries(Object.entries(core.logSettings(changes, 'grpc')).map(logSetting)) };
    },
  }),
};

/** grpc.health.v1.Health/Check: any service's name is answered (seen on 2.51). */
export const HEALTH_CHECK: AnyUnary = unary({
  request: HealthCheckRequest,
  response: HealthCheckResponse,
  group: 'health',
  run: (_, core) => ({ status: HealthCheckResponse_ServingStatus[core.ready() ? 'SERVING' : 'NOT_SERVING'] }),
});

function logSetting([name, value]: [string, LogValue]) {
  if (typeof value === 'boolean') return [name, { bool_param: value }] as const;
  return [name, typeof value === 'number' ? { uint32_param: value } : { string_param: value }] as const;
}

function loadOptions(parameters: Messages.RepositoryModelLoadRequest['parameters']) {
  let config: string | undefined;
  const files = new Map<string, Uint8Array>();
  for (const [name, value] of Object.entries(parameters)) {
    const wrong = (expected: string) =>
      invalid(`invalid value type for load parameter '${name}', expected ${expected}.`);
    if (name === 'config') {
      if (value.string_param === undefined) throw wrong('string_param');
      config = value.string_param;
    } else if (name.startsWith('file:')) {
      if (value.bytes_param === undefined) throw wrong('bytes_param');
      files.set(name.slice('file:'.length), value.bytes_param);
    } else {
      throw invalid(`unrecognized load parameter '${name}'.`);
    }
  }
  return { ...(config === undefined ? {} : { config }), ...(files.size === 0 ? {} : { files }) };
}

function statisticsMessage(statistics: ModelStatistics): Messages.ModelStatistics {
  const { inference, batches } = statistics;
  return Messages.ModelStatistics.fromPartial({
    name: statistics.name,
    version: statistics.version,
    last_inference: statistics.lastInference,
    inference_count: statistics.inferenceCount,
    execution_count: statistics.executionCount,
    inference_stats: inference,
    batch_stats: batches.map((batch) => ({
      batch_size: batch.batchSize,
      compute_input: batch.computeInput,
      compute_infer: batch.computeInfer,
      compute_output: batch.computeOutput,
    })),
  });
}
