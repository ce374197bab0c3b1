import { GRPCInferenceServiceService as Service } from '../../../src/grpc/gen/grpc_service.js';
import type { Surroundings } from './grpc-requests.js';
import { isFine, type MakeStep, type StepDraft, show } from './step.js';

type Transport = 'grpc' | 'http';

/** Over HTTP a name is a part of the path, as it is. Node's parser refuses one beyond ASCII, which docs/imitation.md says. */
const path = (name: string, action: string) =>
  `/v2/systemsharedmemory${name === '' ? '' : `/region/${name}`}/${action}`;

const namesFor = (transport: Transport, { registered }: Surroundings['shared']) =>
  [...registered.keys()].filter((name) => transport === 'grpc' || name !== 'é');

export const register =
  (transport: Transport): MakeStep =>
  ({ random, shared }): StepDraft => {
    const region = shared.newRegion(random);
    if (transport === 'http' && region.name === 'é') region.name = '%C3%A9';
    const { name, key, offset, byte_size: size } = region;
    const body = `{"key":${JSON.stringify(key)},"offset":${offset},"byte_size":${size}}`;
    return {
      what: `register ${show(region)}`,
      count: 1,
      ask: async (server) => [
        transport === 'grpc'
          ? await server.call(Service.systemSharedMemoryRegister, region)
          : await server.http({ path: path(name, 'register'), body }),
      ],
      done: ([outcome]) => {
        if (isFine(outcome)) shared.registered.set(name, key);
      },
    };
  };

export const unregister =
  (transport: Transport): MakeStep =>
  ({ random, shared }): StepDraft => {
    const name = random.pick([...namesFor(transport, shared), 'nope', '']);
    return {
      what: `unregister '${name}'`,
      count: 1,
      ask: async (server) => [
        transport === 'grpc'
          ? await server.call(Service.systemSharedMemoryUnregister, { name })
          : await server.http({ path: path(name, 'unregister') }),
      ],
      done: ([outcome]) => {
        if (!isFine(outcome)) return;
        if (name === '') shared.registered.clear();
        else shared.registered.delete(name);
      },
    };
  };

export const status =
  (transport: Transport): MakeStep =>
  ({ random, shared }): StepDraft => {
    const name = random.pick(['', 'nope', ...namesFor(transport, shared)]);
    return {
      what: `status '${name}'`,
      count: 1,
      ask: async (server) => [
        transport === 'grpc'
          ? await server.call(Service.systemSharedMemoryStatus, { name })
          : await server.http({ method: 'GET', path: path(name, 'status') }),
      ],
    };
  };
