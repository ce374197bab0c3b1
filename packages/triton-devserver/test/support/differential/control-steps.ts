import { GRPCInferenceServiceService as Service } from '../../../src/grpc/gen/grpc_service.js';
import { type MakeStep, show } from './step.js';

type Call = { readonly path: string; readonly requestSerialize: never; readonly responseDeserialize: never };

export const grpcControl: MakeStep = ({ random, models }) => {
  const name = random.pick(['', 'nope', ...models.map((model) => model.name)]);
  const version = random.pick(['', '1', '2', 'x', '-1']);
  const [method, request] = random.pick<readonly [unknown, object]>([
    [Service.serverLive, {}],
    [Service.serverReady, {}],
    [Service.serverMetadata, {}],
    [Service.modelReady, { name, version }],
    [Service.modelMetadata, { name, version }],
    [Service.modelConfig, { name, version }],
    [Service.modelStatistics, { name: 'nope', version }],
    [Service.repositoryIndex, { repository_name: random.pick(['', '', 'x']), ready: random.chance(0.5) }],
    [Service.repositoryModelLoad, { repository_name: '', model_name: 'nope', parameters: {} }],
    [Service.repositoryModelLoad, { repository_name: '', model_name: name, parameters: { foo: { bool_param: true } } }],
    [Service.cudaSharedMemoryStatus, { name: random.pick(['', 'r', 'nope']) }],
  ]);
  const { path } = method as Call;
  return {
    what: `${path} ${show(request)}`,
    count: 1,
    ask: async (server) => [await server.call(method as never, request)],
  };
};

export const httpControl: MakeStep = ({ random, models }) => {
  const name = random.pick(['nope', ...models.map((model) => model.name)]);
  const version = random.pick(['', '/versions/1', '/versions/2', '/versions/x']);
  const path = random.pick([
    '/v2',
    '/v2/health/live',
    '/v2/health/ready',
    `/v2/models/${name}${version}`,
    `/v2/models/${name}${version}/ready`,
    `/v2/models/${name}${version}/config`,
    '/v2/models/nope/stats',
    '/v2/systemsharedmemory/status',
    '/v2/systemsharedmemory/region/r/status',
    '/v2/cudasharedmemory/region/r/status',
  ]);
  const method = random.pick(['GET', 'GET', 'GET', 'POST']);
  return { what: `${method} ${path}`, count: 1, ask: async (server) => [await server.http({ method, path })] };
};
