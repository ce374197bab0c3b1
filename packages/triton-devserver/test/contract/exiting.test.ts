import { expect, onTestFinished, test } from 'vitest';
import { Server } from '../support/differential/servers.js';
import { askExiting } from '../support/exiting.js';
import { faultServer, ints, sender } from '../support/fault-server.js';

/** gRPC's codes. */
const [OK, INVALID, NOT_FOUND, UNAVAILABLE] = [0, 3, 5, 14];

async function exiting(way: 'lane' | 'unary' | 'http') {
  const { server, gate } = await faultServer({ exitTimeoutMs: 60_000 });
  const client = new Server(server);
  onTestFinished(() => client.close());
  const answer = sender(server, way).send('held', ints(7));
  await server.whenInFlight(1);
  const ask = () => askExiting(client, 'same');
  expect(await ask()).toMatchObject(WORKING);
  const stopped = server.stop();
  const ends = async () => {
    gate.open();
    expect((await answer).output('Y').data).toEqual(Int32Array.of(7));
    await stopped;
  };
  return { ask, ends };
}

const WORKING = { ready: { code: OK, data: { ready: true } }, infer: { code: INVALID } };

test.each(['lane', 'unary'] as const)(
  'while it ends, with a request by %s in progress: models are not found, the server is not available, regions are told',
  async (way) => {
    const { ask, ends } = await exiting(way);
    const text = "Request for unknown model: 'same' has no available versions";
    const over = { code: UNAVAILABLE, text: 'Server exiting' };
    const notReady = { code: UNAVAILABLE, text: 'Server not ready' };
    await expect.poll(async () => (await ask()).infer).toMatchObject({ code: NOT_FOUND, text });
    expect(await ask()).toMatchObject({
      ...{ live: over, ready: over, health: over },
      modelReady: notReady,
      statistics: notReady,
      unknownModel: { code: NOT_FOUND, text: "Request for unknown model: 'nope' is not found" },
      modelMetadata: { code: NOT_FOUND, text },
      modelConfig: { code: NOT_FOUND, text },
      regions: { code: OK },
    });
    await ends();
  },
);

test('while it ends, with a request over HTTP in progress: gRPC answers as before', async () => {
  const { ask, ends } = await exiting('http');
  for (let round = 0; round < 5; round += 1) expect(await ask()).toMatchObject(WORKING);
  await ends();
});
