import { once } from 'node:events';
import { Client, credentials } from '@grpc/grpc-js';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { expect, onTestFinished, test } from 'vitest';
import { GRPCInferenceServiceService as Service } from '../../src/grpc/gen/grpc_service.js';
import { DevServer } from '../../src/index.js';
import { Server } from '../support/differential/servers.js';
import { askExiting } from '../support/exiting.js';
import { TwinRepository } from '../support/twin-repository.js';

const MODEL = 'identity';

describeTier('triton', 'a server that was told to end', () => {
  test('says the same as a real 2.51, to who is still connected', async () => {
    const twins = new TwinRepository([MODEL]);
    onTestFinished(() => twins.remove());
    const real = await privateTriton({ models: [MODEL] });
    onTestFinished(() => real.stop());
    const endless = { config: {}, execute: () => new Promise<never>(() => {}) };
    const own = await DevServer.start({ modelRepository: twins.path, models: { endless }, exitTimeoutMs: 60_000 });
    onTestFinished(() => own.kill());
    const there = await ending(real.grpcUrl, () => void real.kill('SIGTERM'));
    // An idle stream keeps a real server, a request in progress this one.
    const client = new TritonClient(own.grpcUrl, { closeTimeoutMs: 0 });
    const lost = client.infer('endless', { inputs: {} }).catch((error: unknown) => error);
    await own.whenInFlight(1);
    const here = await ending(own.grpcUrl, () => void own.stop());
    await own.kill();
    await lost;
    await client.close();
    expect(here).toEqual(there);
  }, 120_000);
});

/** What it says once it lets nobody infer any more; an idle stream keeps it from its end until then. */
async function ending(grpcUrl: string, end: () => void) {
  const server = new Server({ grpcUrl, httpUrl: '' });
  onTestFinished(() => server.close());
  const address = grpcUrl.replace('grpc://', '');
  const client = new Client(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const { path, requestSerialize, responseDeserialize } = Service.modelStreamInfer;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  stream.on('error', () => undefined);
  stream.resume();
  expect((await server.call(Service.serverReady as never, {})).data).toEqual({ ready: true });
  end();
  await expect.poll(async () => (await askExiting(server, MODEL)).infer?.code, { timeout: 30_000 }).not.toBe(3);
  const outcomes = await askExiting(server, MODEL);
  stream.end();
  stream.cancel();
  if (!stream.closed) await once(stream, 'close').catch(() => undefined);
  return outcomes;
}
