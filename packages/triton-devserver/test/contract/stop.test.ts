import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Exchange } from '../../src/http/exchange.js';
import { plainErrorReply } from '../../src/http/reply.js';
import { DevServer } from '../../src/index.js';
import { codeOf, faultServer, ints, sender, WAYS } from '../support/fault-server.js';

test.each(WAYS)(
  'stop, by %s: a request that never ends is waited for until the exit timeout, and no longer',
  async (way) => {
    const { server, gate } = await faultServer({ exitTimeoutMs: 150 });
    const { send } = sender(server, way);
    const lost = codeOf(send('held', ints(1)));
    await expect.poll(() => gate.waiting).toBe(1);
    const stopping = server.stop().then(() => 'stopped');
    expect(await Promise.race([stopping, pause(50, 'waits')])).toBe('waits');
    expect(await stopping).toBe('stopped');
    expect(await lost).toBe('TRITON_CONNECTION_LOST');
  },
);

test('stop: a model that does not close is not waited for beyond the exit timeout', async () => {
  const server = await DevServer.start({
    exitTimeoutMs: 100,
    models: { m: { create: () => ({ execute: () => ({}), close: () => new Promise(() => {}) }) } },
  });
  await server.stop();
  expect(server.stopped).toBe(true);
});

test('an exit timeout longer than a timer takes is no timeout of a moment', async () => {
  const warnings: string[] = [];
  const hear = ({ name }: Error) => warnings.push(name);
  process.on('warning', hear);
  onTestFinished(() => void process.off('warning', hear));
  const { server, gate } = await faultServer({ exitTimeoutMs: Number.POSITIVE_INFINITY });
  const { send } = sender(server, 'lane');
  const answer = send('held', ints(7));
  await expect.poll(() => gate.waiting).toBe(1);
  const stopping = server.stop().then(() => 'stopped');
  expect(await Promise.race([stopping, pause(50, 'waits')])).toBe('waits');
  gate.open();
  expect((await answer).output('Y').data).toEqual(Int32Array.of(7));
  await stopping;
  expect(warnings).not.toContain('TimeoutOverflowWarning');
});

test('an error after an answer has begun ends the connection, and not the process', async () => {
  const server = createServer((_, response) => {
    const exchange = new Exchange(response);
    exchange.begin(200, 'application/json');
    exchange.chunk(Buffer.from('{'));
    exchange.fail(new Error('late'), plainErrorReply);
    expect(() => exchange.fail(new Error('later'))).not.toThrow();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(fetch(url).then((response) => response.text())).rejects.toThrow();
});
