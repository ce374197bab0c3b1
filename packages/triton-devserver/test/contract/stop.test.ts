import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
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

test('stop: a process in which nothing else goes on does not end before it', async () => {
  const built = (name: string) =>
    JSON.stringify(fileURLToPath(new URL(`../../../${name}/dist/index.js`, import.meta.url)));
  const program = `
    const { DevServer } = await import(${built('triton-devserver')});
    const { TritonClient } = await import(${built('triton-client')});
    const one = { data_type: 'TYPE_INT32', dims: [1] };
    const config = { input: [{ name: 'X', ...one }], output: [{ name: 'Y', ...one }] };
    for (let round = 0; round < 10; round += 1) {
      let begun = false;
      const execute = () => {
        begun = true;
        return new Promise(() => {});
      };
      const server = await DevServer.start({ exitTimeoutMs: 20, models: { m: { config, execute } } });
      const client = new TritonClient(server.grpcUrl);
      const inputs = { X: { datatype: 'INT32', shape: [1], data: new Uint8Array(4) } };
      client.infer('m', { inputs }, round % 2 === 0 ? {} : { headers: { unary: 'yes' } }).catch(() => {});
      while (!begun) await new Promise((resolve) => setTimeout(resolve, 1));
      await server.stop();
      await client.close();
    }
    console.log('stopped');`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  expect(stdout).toBe('stopped\n');
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
