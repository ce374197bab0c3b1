import { setTimeout as sleep } from 'node:timers/promises';
import { TritonClient } from '@zerohop/triton-client';
import { DevServer, type DevServerOptions } from '@zerohop/triton-devserver';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { SharedRegion } from '../../src/index.js';
import { type CuttableProxy, cuttableProxy } from '../support/cuttable-proxy.js';
import { echoModel } from '../support/dev-server.js';
import { removeOurEntries } from '../support/names.js';

const shape = [4, 64];
const BYTES = 4 * 4 * 64;

afterAll(removeOurEntries);

interface Scene {
  readonly server: DevServer;
  readonly proxy: CuttableProxy;
  readonly client: TritonClient;
  readonly region: SharedRegion;
  /** When the model ended last; 0 before. */
  readonly ended: { at: number };
}

/** A region on a server that is reached through a relay, with a model that takes 200 ms. */
async function open(options: Omit<DevServerOptions, 'models'>): Promise<Scene> {
  const ended = { at: 0 };
  const slow = {
    ...echoModel,
    async execute(request: Parameters<NonNullable<typeof echoModel.execute>>[0]) {
      await sleep(200);
      ended.at = performance.now();
      const { IN } = request.inputs;
      if (IN === undefined) throw new Error('No input');
      return { OUT: { shape: IN.shape, data: IN.data } };
    },
  };
  const server = await DevServer.start({ models: { slow }, ...options });
  const proxy = await cuttableProxy(server.grpcUrl);
  const client = new TritonClient(proxy.url);
  const region = await SharedRegion.allocate(client, { kind: 'system', byteLength: 2 * BYTES });
  onTestFinished(async () => {
    await region.release({ timeoutMs: 100 });
    await client.close();
    await proxy.close();
    await server.stop();
  });
  return { server, proxy, client, region, ended };
}

/** A request whose connection is cut while the model runs. */
async function lose({ server, proxy, client, region }: Scene): Promise<void> {
  const call = client.infer('slow', {
    inputs: { IN: { datatype: 'FP32', shape, ...region.ref({ byteLength: BYTES }) } },
    outputs: { OUT: region.ref({ byteOffset: BYTES }) },
  });
  region.hold(call.settled);
  call.catch(() => undefined);
  await server.whenInFlight(1);
  proxy.cut();
  await expect(call).rejects.toThrow();
  expect(await call.settled).toBe('lost');
}

test.for<[string, Omit<DevServerOptions, 'models'>]>([
  ['2.51 (refuses while in use)', { version: '2.51' }],
  ['2.53 (defers)', { version: '2.53' }],
  ['2.68 with client shared memory allowed', { version: '2.68', allowClientShm: true }],
])('%s: a lost request is over when the release says so', async ([, options]) => {
  const scene = await open(options);
  await lose(scene);
  expect(scene.ended.at).toBe(0);
  const releasing = scene.region.release();
  expect(await releasing).toEqual({ proven: true });
  expect(scene.ended.at).toBeGreaterThan(0);
  expect(await scene.client.systemSharedMemory.status()).toEqual([]);
});

test('2.48: a lost request is not unregistered under, which the server would die of', async () => {
  const scene = await open({ version: '2.48' });
  await lose(scene);
  expect(await scene.region.release()).toMatchObject({ proven: false });
  // Answered by the same server, to its end.
  await expect.poll(() => scene.ended.at).toBeGreaterThan(0);
  expect((await scene.client.systemSharedMemory.status()).map(({ name }) => name)).toEqual([scene.region.name]);
});

test('a server that took over the port knows nothing of a request that the old one still writes', async () => {
  const scene = await open({ version: '2.51' });
  await lose(scene);
  await scene.server.replace({ models: {}, version: '2.51' });
  expect(await scene.region.release()).toMatchObject({
    proven: false,
    reason: 'the server that answers now does not know the region',
  });
  expect(scene.ended.at).toBe(0);
  await expect.poll(() => scene.ended.at).toBeGreaterThan(0);
});

test('a server that was restarted has let go of a region whose requests were all answered', async () => {
  const scene = await open({ version: '2.51' });
  await scene.server.restart();
  expect(await scene.region.release()).toEqual({ proven: true });
});

test('a connection that drops just before the release does not leave the registration behind', async () => {
  const { proxy, client, region } = await open({ version: '2.51' });
  proxy.cut();
  expect(await region.release()).toEqual({ proven: true });
  expect(await client.systemSharedMemory.status()).toEqual([]);
});
