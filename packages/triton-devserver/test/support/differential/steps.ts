import { grpcControl, httpControl } from './control-steps.js';
import { grpcRequest, type Surroundings } from './grpc-requests.js';
import { httpRequest } from './http-requests.js';
import { load, unload } from './load-steps.js';
import { register, status, unregister } from './region-steps.js';
import type { Server } from './servers.js';
import { type MakeStep, type Step, show } from './step.js';

const unary: MakeStep = (around) => {
  const request = grpcRequest(around, around.random.pick(around.models));
  const compressed = around.random.chance(0.1);
  return { what: `infer ${show(request)}`, count: 1, ask: async (server) => [await server.infer(request, compressed)] };
};

/**
 * Several at once, which a dynamic batcher may run as one: none throws, as that would be an error of all, and none writes
 * where another one does.
 */
const together: MakeStep = (around) => {
  const { random } = around;
  const model = random.pick(around.models.filter(({ kind }) => kind === 'dynamic' || kind === 'plain'));
  const requests = random.times(random.integer(2, 5), () => {
    const request = grpcRequest(around, model);
    const { fail: _, ...parameters } = request.parameters;
    return { ...request, parameters, outputs: hasRegion(request) ? [] : request.outputs };
  });
  const ask = (server: Server) => Promise.all(requests.map((request) => server.infer(request)));
  return { what: `together ${show(requests)}`, count: requests.length, ask };
};

const hasRegion = ({ outputs }: ReturnType<typeof grpcRequest>) =>
  outputs.some(({ parameters }) => parameters.shared_memory_region !== undefined);

const stream: MakeStep = (around) => {
  const { random, models } = around;
  const isDecoupled = (name: string) => models.some((model) => model.name === name && model.kind === 'decoupled');
  const named = (decoupled: boolean) => random.pick(models.filter(({ name }) => isDecoupled(name) === decoupled));
  const drafts = [
    ...(random.chance(0.5) ? [grpcRequest(around, named(true))] : []),
    ...random.times(random.integer(1, 3), () => grpcRequest(around, named(false))),
  ].slice(0, random.integer(1, 4));
  // A real server may die of several decoupled requests that run on one stream; docs/differences.md.
  const first = drafts.find(({ model_name: name }) => isDecoupled(name));
  const requests = random.shuffled(drafts.filter((one) => one === first || !isDecoupled(one.model_name)));
  // None writes where another one reads or writes.
  const apart = requests.map((request) =>
    requests.length > 1 && hasRegion(request) ? { ...request, outputs: [] } : request,
  );
  // Answers of a decoupled request overtake others, as do those of a front end then.
  const byId = first !== undefined;
  const ordered = apart.map((request, index) =>
    byId || random.chance(0.5) ? { ...request, id: `n${index}` } : request,
  );
  const compressed = random.chance(0.1);
  const ask = (server: Server) => server.stream(ordered, byId, compressed);
  return { what: `stream ${show(ordered)}`, count: ordered.length, ask };
};

const http: MakeStep = (around) => {
  const request = httpRequest(around, around.random.pick(around.models));
  const what = `http ${request.path} ${show(request.headers)} ${Buffer.from(request.body ?? '').toString('latin1')}`;
  return { what, count: 1, ask: async (server) => [await server.http(request)] };
};

interface Weighted {
  readonly kind: string;
  readonly transport: Step['transport'];
  readonly weight: number;
  readonly make: MakeStep;
}

const KINDS: readonly Weighted[] = [
  { transport: 'grpc', kind: 'infer', weight: 190, make: unary },
  { transport: 'grpc', kind: 'infer together', weight: 20, make: together },
  { transport: 'grpc', kind: 'stream', weight: 50, make: stream },
  { transport: 'http', kind: 'infer', weight: 190, make: http },
  { transport: 'grpc', kind: 'control', weight: 15, make: grpcControl },
  { transport: 'http', kind: 'control', weight: 15, make: httpControl },
  { transport: 'grpc', kind: 'register', weight: 10, make: register('grpc') },
  { transport: 'http', kind: 'register', weight: 10, make: register('http') },
  { transport: 'grpc', kind: 'unregister', weight: 3, make: unregister('grpc') },
  { transport: 'http', kind: 'unregister', weight: 3, make: unregister('http') },
  { transport: 'grpc', kind: 'region status', weight: 3, make: status('grpc') },
  { transport: 'http', kind: 'region status', weight: 3, make: status('http') },
  { transport: 'grpc', kind: 'load', weight: 3, make: load('grpc') },
  { transport: 'http', kind: 'load', weight: 3, make: load('http') },
  { transport: 'grpc', kind: 'unload', weight: 1, make: unload('grpc') },
  { transport: 'http', kind: 'unload', weight: 1, make: unload('http') },
];
const ALL = KINDS.flatMap((kind) => Array<Weighted>(kind.weight).fill(kind));

const WITHOUT_LOADS = ALL.filter(({ kind }) => kind !== 'load' && kind !== 'unload');

/** The next thing to ask; what can be asked depends on which regions are there. */
export function nextStep(around: Surroundings, loads: boolean): Step {
  const { make, kind, transport } = around.random.pick(loads ? ALL : WITHOUT_LOADS);
  const draft = make(around);
  const aboutRegions = /region|shared_?memory/i.test(`${kind} ${draft.what}`);
  return { ...draft, kind, transport, aboutRegions };
}
