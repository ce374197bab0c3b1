import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { DevServer } from '../../src/index.js';
import { clientOf, codeOf, faultServer, ints } from '../support/fault-server.js';
import { rawHttp } from '../support/raw-http.js';

const BODY = JSON.stringify({ inputs: [{ name: 'X', datatype: 'INT32', shape: [1], data: [1] }] });

describe('a server works', () => {
  test.each([
    ['with a clock that stands still', ['Date']],
    ['with fake timers', undefined],
  ] as const)('%s', async (_, toFake) => {
    vi.useFakeTimers(toFake === undefined ? {} : { toFake: [...toFake] });
    try {
      const { server } = await faultServer();
      const answer = await rawHttp(server.httpUrl, { path: '/v2/models/same/infer', body: BODY });
      expect(answer.status).toContain('200');
      // The other way is that of a client, which itself needs its timers.
      if (toFake !== undefined) expect(await codeOf(clientOf(server.grpcUrl).infer('same', ints(1)))).toBe('OK');
      await server.restart();
      expect((await rawHttp(server.httpUrl, { path: '/v2/models/same/infer', body: BODY })).status).toContain('200');
      await server.stop();
    } finally {
      vi.useRealTimers();
    }
  });

  test('a fault that delays, by the time of fake timers', async () => {
    const { server } = await faultServer();
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      server.addFault({ kind: 'delay', ms: 3_600_000 });
      const answer = rawHttp(server.httpUrl, { path: '/v2/models/same/infer', body: BODY });
      await expect.poll(() => vi.getTimerCount()).toBe(1);
      await vi.advanceTimersByTimeAsync(3_600_000);
      expect((await answer).status).toContain('200');
    } finally {
      vi.useRealTimers();
    }
  });
});

test('everything at once, with ends in between: nothing is left open', async () => {
  const descriptors = () => readdirSync('/proc/self/fd').length;
  const round = async (end: 'stop' | 'kill') => {
    const server = await DevServer.start({ exitTimeoutMs: 20, controlPort: 0 });
    const ask = (url: string) => rawHttp(url, { method: 'GET', path: '/v2' }).catch(() => undefined);
    await ask(server.httpUrl);
    server.slowReads(10_000);
    const [one, other] = [server.restart(), server.replace({ version: '2.53' })];
    server.freeze();
    server.dropConnections();
    server.goAway(5);
    const asked = [ask(server.httpUrl), ask(server.grpcUrl.replace('grpc', 'http')), ask(server.metricsUrl)];
    const all = [
      one,
      other,
      server.setMetrics(false),
      server.refuseConnections(),
      server.restart({ keepRegions: true }),
      server.acceptConnections(),
      server.setMetrics(true),
      server[end](),
      server.stop(),
      server.kill(),
      server.restart(),
      server.acceptConnections(),
      server.setMetrics(false),
      server[Symbol.asyncDispose](),
    ].map((each) => each.catch((error: Error) => error.message));
    server.thaw();
    const said = await Promise.all(all);
    await Promise.all(asked);
    expect(new Set(said.filter((text) => text !== undefined))).toEqual(new Set(['The server was stopped']));
    server.dropConnections();
    server.goAway();
    expect([server.stopped, server.models()]).toEqual([true, []]);
  };
  await round('stop');
  const before = descriptors();
  for (const end of ['stop', 'kill', 'stop', 'kill'] as const) await round(end);
  await expect.poll(descriptors).toBeLessThanOrEqual(before);
});

test('a program whose model never ends does end after the server', () => {
  const source = new URL('../../dist/index.js', import.meta.url).href;
  const program = `
    import { DevServer } from ${JSON.stringify(source)};
    const X = { name: 'X', data_type: 'TYPE_INT32', dims: [-1] };
    const execute = () => new Promise(() => undefined);
    const config = { input: [X], output: [{ ...X, name: 'Y' }], max_batch_size: 1, dynamic_batching: {} };
    const server = await DevServer.start({ models: { never: { config, execute } } });
    const body = JSON.stringify({ inputs: [{ name: 'X', datatype: 'INT32', shape: [1, 1], data: [1] }] });
    const ask = () => fetch(server.httpUrl + '/v2/models/never/infer', { method: 'POST', body }).catch(() => undefined);
    const asked = Array.from({ length: 6 }, ask);
    const pending = async () => /pending_request_count\\{.*\\} [45]/.test(await (await fetch(server.metricsUrl)).text());
    while (!(await pending()));
    await server.kill();
    await Promise.all(asked);
    console.log('over');
  `;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  expect([status, stdout, stderr]).toEqual([0, 'over\n', '']);
});
