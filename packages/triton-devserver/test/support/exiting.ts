import { GRPCInferenceServiceService as Service } from '../../src/grpc/gen/grpc_service.js';
import { HealthService } from '../../src/grpc/gen/health.js';
import type { Outcome, Server } from './differential/servers.js';

/** What a server that was told to end says over a connection that it still has. */
export async function askExiting(server: Server, model: string): Promise<Record<string, Outcome>> {
  const named = { name: model, version: '' };
  const calls: Record<string, [unknown, object]> = {
    live: [Service.serverLive, {}],
    ready: [Service.serverReady, {}],
    health: [HealthService.check, { service: '' }],
    modelReady: [Service.modelReady, named],
    modelMetadata: [Service.modelMetadata, named],
    modelVersion: [Service.modelMetadata, { name: model, version: '1' }],
    modelConfig: [Service.modelConfig, named],
    unknownModel: [Service.modelMetadata, { name: 'nope', version: '' }],
    infer: [Service.modelInfer, { model_name: model }],
    inferUnknown: [Service.modelInfer, { model_name: 'nope' }],
    statistics: [Service.modelStatistics, { name: 'nope', version: '' }],
    index: [Service.repositoryIndex, { repository_name: '', ready: false }],
    load: [Service.repositoryModelLoad, { repository_name: '', model_name: 'nope', parameters: {} }],
    unload: [Service.repositoryModelUnload, { repository_name: '', model_name: 'nope', parameters: {} }],
    serverMetadata: [Service.serverMetadata, {}],
    regions: [Service.systemSharedMemoryStatus, { name: '' }],
  };
  const outcomes: Record<string, Outcome> = {};
  for (const [name, [method, request]] of Object.entries(calls)) {
    outcomes[name] = await server.call(method as never, fill(method, request));
  }
  return outcomes;
}

/** What the encoder needs of a message. */
function fill(method: unknown, request: object): object {
  if (method !== Service.modelInfer) return request;
  return {
    model_version: '',
    id: '',
    parameters: {},
    inputs: [],
    outputs: [],
    raw_input_contents: [],
    ...request,
  };
}
