import { setTimeout as pause } from 'node:timers/promises';
import { GRPCInferenceServiceService as Service } from '../../../src/grpc/gen/grpc_service.js';
import type { Surroundings } from './grpc-requests.js';
import { configJson, type GeneratedModel } from './models.js';
import type { Outcome, Server } from './servers.js';
import { isFine, type MakeStep, show } from './step.js';

type Transport = 'grpc' | 'http';

/** A model that takes longer to load or to go never will: a Python model may need several seconds on a busy machine. */
const LONGEST_MS = 25_000;

/** What is wrong with a configuration that comes with a load. */
const BROKEN = [
  '',
  '{',
  '5',
  '[]',
  '{"foo":1}',
  '{"max_batch_size":-1}',
  '{"input":[{"name":"I","data_type":"X","dims":[1]}]}',
  '{"input":[{"name":"I","data_type":"TYPE_FP32","dims":[0]}]}',
  '{"dynamic_batching":{},"sequence_batching":{}}',
];

export const load =
  (transport: Transport): MakeStep =>
  (around) => {
    const { random, models, unloaded } = around;
    const missing = models.filter(({ name }) => unloaded.has(name));
    const model = random.pick(missing.length > 0 && random.chance(0.8) ? missing : models);
    const config = override(around, model);
    const { name } = model;
    return {
      what: `load ${name} ${config ?? ''}`,
      count: 3,
      longestMs: LONGEST_MS + 15_000,
      ask: async (server) => {
        const answer =
          transport === 'grpc'
            ? await server.call(Service.repositoryModelLoad, {
                repository_name: '',
                model_name: name,
                parameters: config === undefined ? {} : { config: { string_param: config } },
              })
            : await server.http({
                path: `/v2/repository/models/${name}/load`,
                body: config === undefined ? '' : JSON.stringify({ parameters: { config } }),
              });
        return [answer, ...(await settled(server, name))];
      },
      done: ([answer]) => {
        if (isFine(answer)) unloaded.delete(name);
      },
    };
  };

/** Of each kind of model that it does not turn into another one. */
function override({ random, models }: Surroundings, model: GeneratedModel): string | undefined {
  if (random.chance(0.4)) return undefined;
  if (random.chance(0.4)) return random.pick(BROKEN);
  return ['plain', 'dynamic', 'ensemble'].includes(model.kind) ? configJson(model, models, random) : undefined;
}

export const unload =
  (transport: Transport): MakeStep =>
  ({ random, models, unloaded }) => {
    const { name } = random.pick(models);
    const dependents = random.chance(0.3);
    return {
      what: `unload ${name} ${dependents ? 'with its parts' : ''}`,
      count: 3,
      longestMs: LONGEST_MS + 15_000,
      ask: async (server) => {
        const answer =
          transport === 'grpc'
            ? await server.call(Service.repositoryModelUnload, {
                repository_name: '',
                model_name: name,
                parameters: dependents ? { unload_dependents: { bool_param: true } } : {},
              })
            : await server.http({
                path: `/v2/repository/models/${name}/unload`,
                body: dependents ? '{"parameters":{"unload_dependents":true}}' : '',
              });
        return [answer, ...(await settled(server, name))];
      },
      done: () => {
        unloaded.add(name);
      },
    };
  };

/** The index once nothing loads or unloads any more, and the configuration of the model. */
async function settled(server: Server, name: string): Promise<Outcome[]> {
  for (const began = performance.now(); ; ) {
    const index = await server.call(Service.repositoryIndex, { repository_name: '', ready: false });
    const { models = [] } = (index.data ?? {}) as { models?: readonly { state: string }[] };
    const moving = models.filter(({ state }) => state === 'LOADING' || state === 'UNLOADING');
    if (moving.length > 0) {
      if (performance.now() - began > LONGEST_MS) throw new Error(`For ever: ${show(moving)}`);
      await pause(20);
      continue;
    }
    return [index, await server.call(Service.modelConfig, { name, version: '' })];
  }
}
