/** The servers of the schedules: one in this process, the devserver as each version, and real ones. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalTriton } from '@zerohop/local-triton';
import { privateTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { DevServer, type DevServerOptions } from '@zerohop/triton-devserver';
import { type CuttableProxy, cuttableProxy } from '../cuttable-proxy.js';
import { type FakeModel, FakeTriton, type OpenHandle } from '../fake-triton.js';
import type { Target } from './target.js';
import { current } from './watched-client.js';

const COLUMNS = 256;
/** How long what a client sends is on its way, while it is delayed, in milliseconds. */
const DELAY_MS = 15;
/** For how long it is delayed. */
const DELAYED_MS = 60;

const shapes = { INPUT0: [1, COLUMNS], OUTPUT0: [1, COLUMNS] };
export const tensors = { model: 'slow', input: 'INPUT0', output: 'OUTPUT0', elements: COLUMNS, shapes };
/** Less than a plain answer has. */
const growing = { shapes: { INPUT0: shapes.INPUT0 }, outputs: { OUTPUT0: { byteLength: COLUMNS } } };

/** A row of values as often as asked for. */
function repeated([rows = 0, columns = 0]: readonly number[], row: Uint8Array, times: unknown = 1) {
  const count = Number(times);
  const bytes = new Uint8Array(row.byteLength * count);
  for (let index = 0; index < count; index += 1) bytes.set(row, index * row.byteLength);
  return { shape: [rows, columns * count], bytes };
}

const slowFakeModel: FakeModel = {
  inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [-1, -1] }],
  outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [-1, -1] }],
  answer: ({ shape, bytes }, { repeat }) => repeated(shape, bytes, repeat),
};

/** Takes as long as the request says, as the model `slow` of tests/models does. */
class SlowFake extends FakeTriton {
  constructor(version: string, openHandle?: OpenHandle) {
    super({ slow: slowFakeModel }, openHandle);
    this.version = version;
    Object.defineProperty(this, 'gate', { get: () => wait(current.getStore()?.ms ?? 0) });
  }
}

/** Most requests take no time: they need no timer. */
const wait = (ms: number): Promise<unknown> => (ms > 0 ? sleep(ms) : new Promise((resolve) => setImmediate(resolve)));

/** A server in this process. @param openHandle - for device memory */
export function fakeTarget(version = '2.51.0', openHandle?: OpenHandle): Target {
  const server = new SlowFake(version, openHandle);
  const restart = () => {
    server.forgetRegions();
    server.loseConnection();
  };
  return {
    ...tensors,
    growing,
    name: 'in-process double',
    version,
    client: server,
    countsUsers: Number(version.split('.')[1]) >= 50,
    noticeMs: 0,
    // What was running before a restart goes on and writes: as when another server takes over.
    disturbances: {
      cut: () => server.loseConnection(),
      forget: () => server.forgetRegions(),
      restart,
      kill: restart,
      'take over': restart,
    },
    up: () => Promise.resolve(),
    regionNames: () => Promise.resolve(server.regionNames),
    close: () => Promise.resolve(),
  };
}

/** Delays what passes a proxy, for a while. */
export async function delay(proxy: CuttableProxy): Promise<void> {
  proxy.delayMs = DELAY_MS;
  await sleep(DELAYED_MS);
  proxy.delayMs = 0;
}

export const namesOf = async (client: TritonClient) =>
  (await client.systemSharedMemory.status()).map(({ name }) => name);

export async function unregisterAll(url: string): Promise<void> {
  const other = new TritonClient(url);
  // Regions in use are kept, and the call then says so.
  await other.systemSharedMemory.unregisterAll().catch(() => undefined);
  await other.close();
}

const slowModel: NonNullable<DevServerOptions['models']>[string] = {
  config: {
    max_batch_size: 0,
    input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
    output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
    instance_group: [{ kind: 'KIND_CPU', count: 4 }],
  },
  async execute({ inputs, parameters }) {
    const { shape, data } = inputs.INPUT0 ?? { shape: [], data: new Float32Array(0) };
    const values = Float32Array.from(data as Float32Array);
    await wait(Number(parameters.ms ?? values[0]));
    const answer = repeated(shape, new Uint8Array(values.buffer), parameters.repeat);
    return { OUTPUT0: { shape: answer.shape, data: new Float32Array(answer.bytes.buffer) } };
  },
};

/** A server in this process that speaks gRPC over TCP as Triton of that version does, behind a proxy. */
export async function devServerTarget(version: NonNullable<DevServerOptions['version']>): Promise<Target> {
  const server = await DevServer.start({
    version,
    models: { slow: slowModel },
    allowClientShm: true,
    metrics: false,
    exitTimeoutMs: 1000,
  });
  const proxy = await cuttableProxy(server.grpcUrl);
  const client = new TritonClient(proxy.url, { closeTimeoutMs: 2000 });
  const direct = new TritonClient(server.grpcUrl);
  const countsUsers = version !== '2.48';
  return {
    ...tensors,
    growing,
    name: 'devserver',
    version,
    client,
    countsUsers,
    noticeMs: 100,
    disturbances: {
      cut: () => proxy.cut(),
      delay: () => delay(proxy),
      // Such a server dies of it while a request is in progress: that is a restart.
      ...(countsUsers && { forget: () => unregisterAll(server.grpcUrl) }),
      restart: () => server.restart(),
      'restart with memory': () => server.restart({ keepRegions: true }),
      kill: () => server.restart(),
      async 'take over'() {
        await server.replace();
        // Else no request would be lost: the one before answers what it has begun.
        proxy.cut();
      },
    },
    up: () => untilReady(direct),
    regionNames: () => namesOf(direct),
    async close() {
      await Promise.all([client.close(), direct.close()]);
      await proxy.close();
      await server.kill();
    },
  };
}

export async function untilReady(client: TritonClient): Promise<void> {
  while (!(await client.isModelReady('slow').catch(() => false))) await sleep(20);
}

/** A real server of that version, behind a proxy. */
export async function realTarget(version: '2.51' | '2.48'): Promise<Target> {
  const options = { models: ['slow'], version, exitTimeoutSeconds: 2 } as const;
  let server = await privateTriton(options);
  const leaving = new Set<Promise<void>>();
  const proxy = await cuttableProxy(server.grpcUrl);
  const client = new TritonClient(proxy.url, { closeTimeoutMs: 2000 });
  const direct = new TritonClient(proxy.url);
  const countsUsers = version !== '2.48';
  let changing = Promise.resolve();
  const replaced = async (ports?: LocalTriton['ports']) => {
    server = await privateTriton({ ...options, ...(ports && { ports }) });
    proxy.target(server.grpcUrl);
  };
  const change = (work: () => Promise<void>) => {
    changing = changing.then(work);
    return changing;
  };
  /** At thousands of requests a second such a server sometimes ends by itself; the schedule goes on with another. */
  const revive = () =>
    change(async () => {
      if (server.running) return;
      await server.whenEnded();
      await replaced(server.ports);
    });
  return {
    ...tensors,
    name: 'real server',
    version,
    client,
    countsUsers,
    // It sometimes ends by itself.
    noticeMs: Number.POSITIVE_INFINITY,
    disturbances: {
      cut: () => proxy.cut(),
      delay: () => delay(proxy),
      ...(countsUsers && { forget: () => unregisterAll(proxy.url) }),
      kill: () =>
        change(async () => {
          server.kill('SIGKILL');
          await server.whenEnded();
          await replaced(server.ports);
        }),
      'take over': () =>
        change(async () => {
          const before = server;
          await replaced();
          proxy.cut();
          const gone = before.stop().finally(() => leaving.delete(gone));
          leaving.add(gone);
        }),
    },
    async up() {
      await revive();
      await untilReady(direct);
    },
    regionNames: () => namesOf(direct),
    async close() {
      await Promise.all([client.close(), direct.close()]);
      await proxy.close();
      await changing;
      await Promise.all([server.stop(), ...leaving]);
    },
  };
}
