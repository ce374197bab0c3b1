import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../src/index.js';
import { clientOf, codeOf, faultServer, ints, recovers } from '../support/fault-server.js';
import { rawHttp } from '../support/raw-http.js';
import { ShmObject } from '../support/shm-object.js';

async function controlled() {
  const { server, gate } = await faultServer({ controlPort: 0 });
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${server.controlUrl}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const client = clientOf(server.grpcUrl);
  const call = (options = {}) => codeOf(client.infer('same', ints(1), options));
  return { server, gate, ask, client, call };
}

test('faults of requests: made, listed with what they met, removed', async () => {
  const { server, ask, call } = await controlled();
  const fault = { kind: 'refuse', code: 'INTERNAL', message: 'no' };
  expect(await ask('POST', '/faults', fault)).toEqual({ status: 200, body: { id: 1, fault, met: 0 } });
  expect(await call()).not.toBe('OK');
  const delay = { kind: 'delay', ms: 1, model: 'texts', times: 2 };
  await ask('POST', '/faults', delay);
  const listed = [
    { id: 1, fault, met: 1 },
    { id: 2, fault: delay, met: 0 },
  ];
  expect((await ask('GET', '/faults')).body).toEqual(listed);
  expect(server.faults).toMatchObject(listed);
  expect((await ask('GET', '/')).body).toEqual({
    grpcUrl: server.grpcUrl,
    httpUrl: server.httpUrl,
    metricsUrl: server.metricsUrl,
    frozen: false,
    inFlight: 0,
    faults: listed,
  });
  expect((await ask('DELETE', '/faults/1')).body).toEqual(listed[0]);
  expect(await call()).toBe('OK');
  expect(await ask('DELETE', '/faults/1')).toEqual({ status: 400, body: { error: 'There is no fault 1 in effect' } });
  expect((await ask('DELETE', '/faults')).body).toEqual([]);
  expect(server.faults).toEqual([]);
});

test('freeze and thaw, which do not meet the endpoint', async () => {
  const { server, ask, call } = await controlled();
  expect((await ask('POST', '/freeze')).body.frozen).toBe(true);
  expect(server.frozen).toBe(true);
  expect(await call({ timeoutMs: 100 })).toBe('TRITON_TIMEOUT');
  expect((await ask('POST', '/thaw', {})).body.frozen).toBe(false);
  expect(await call()).toBe('OK');
});

test('drop, GOAWAY, refuse and accept', async () => {
  const { server, gate, ask, client, call } = await controlled();
  const lost = codeOf(client.infer('held', ints(1)));
  await expect.poll(() => gate.waiting).toBe(1);
  await ask('POST', '/drop');
  expect(await lost).toBe('TRITON_CONNECTION_LOST');
  await recovers(() => client.infer('same', ints(1)));
  const cut = codeOf(client.infer('held', ints(1), { headers: { 'x-test': '1' } }));
  await expect.poll(() => gate.waiting).toBe(2);
  await ask('POST', '/goaway', { graceMs: 1 });
  // Which of the two tells how far the session had come in ending.
  expect(['TRITON_CONNECTION_LOST', 'TRITON_INTERNAL']).toContain(await cut);
  await ask('POST', '/refuse');
  const late = clientOf(server.grpcUrl, { connectTimeoutMs: 300 });
  expect(await codeOf(late.infer('same', ints(1)))).toBe('TRITON_UNAVAILABLE');
  await ask('POST', '/accept');
  await recovers(() => late.infer('same', ints(1)));
  await recovers(() => client.infer('same', ints(1)));
  expect(await call()).toBe('OK');
});

test('slow reads and metrics', async () => {
  const { server, ask, client, call } = await controlled();
  expect(await call()).toBe('OK');
  await ask('POST', '/slow-reads', { bytesPerSecond: 100 });
  const large = ints(...Array.from({ length: 10_000 }, () => 1));
  expect(await codeOf(client.infer('same', large, { timeoutMs: 100 }))).toBe('TRITON_TIMEOUT');
  await ask('POST', '/slow-reads', {});
  await recovers(() => client.infer('same', large));
  await ask('POST', '/metrics', { open: false });
  await expect(fetch(server.metricsUrl)).rejects.toThrow();
  await ask('POST', '/metrics', { open: true });
  expect((await fetch(server.metricsUrl)).status).toBe(200);
});

test('restart and replace', async () => {
  const { server, ask, client } = await controlled();
  const names = async () => {
    let listed: string[] = [];
    await recovers(async () => {
      listed = (await client.systemSharedMemory.status()).map(({ name }) => name);
    });
    return listed;
  };
  const object = new ShmObject(4096);
  await client.systemSharedMemory.register({ name: 'a', key: object.key, byteLength: 4096 });
  expect((await ask('POST', '/restart', { keepRegions: true })).status).toBe(200);
  expect(await names()).toEqual(['a']);
  await ask('POST', '/restart');
  expect(await names()).toEqual([]);
  await ask('POST', '/replace', { version: '2.48' });
  expect((await clientOf(server.grpcUrl).serverMetadata()).version).toBe('2.48.0');
});

test.each([
  ['GET', '/nope', undefined, /^There is no GET \/nope\. There are GET, POST and DELETE \/faults, .*\/freeze, \/thaw/],
  ['GET', '/freeze', undefined, /^There is no GET \/freeze\. /],
  ['POST', '/freeze/1', undefined, /^There is no POST \/freeze\/1\. /],
  ['POST', '/a/b/c', undefined, /^There is no \/a\/b\/c\. /],
  ['PUT', '/faults', {}, /^There is no PUT \/faults\. /],
  ['POST', '/faults', '{', /^The body has to be JSON$/],
  ['POST', '/faults', undefined, /^A fault's 'kind' has to be one of delay, refuse, /],
  ['POST', '/faults', { kind: 'delay', ms: -1 }, /^The fault 'delay': 'ms' has to be a number of milliseconds from 0$/],
  ['POST', '/restart', { keep: true }, /^'restart' has no field 'keep': it has keepRegions$/],
  ['POST', '/freeze', { ms: 1 }, /^'freeze' has no field 'ms': it has none$/],
  ['POST', '/drop', [], /^'drop' has to be an object$/],
  ['POST', '/slow-reads', { bytesPerSecond: 0 }, /^'slow-reads': 'bytesPerSecond' has to be a whole number from 1$/],
  ['POST', '/metrics', {}, /^'metrics': 'open' has to be true or false$/],
  ['POST', '/replace', { version: '1' }, /^'replace': 'version' has to be one of 2\.48, 2\.51, 2\.53, 2\.68$/],
])('%s %s with %j is refused with a sentence', async (method, path, body, text) => {
  const { server, ask } = await controlled();
  const answer = await ask(method, path, body);
  expect([answer.status, answer.body.error]).toEqual([400, expect.stringMatching(text)]);
  expect([server.frozen, server.faults.length]).toEqual([false, 0]);
});

test.each([
  { origin: 'http://x' },
  { origin: 'null' },
  { 'sec-fetch-site': 'cross-site' },
  // A page whose own name was made to mean this machine needs no origin for a GET.
  { Host: 'x.example:8003' },
  { Host: '127.0.0.1.x.example' },
  { Host: '' },
])('a web page is refused: %j', async (headers: Readonly<Record<string, string>>) => {
  const { server } = await controlled();
  const url = server.controlUrl as string;
  const all = { Host: new URL(url).host, ...headers };
  expect((await rawHttp(url, { method: 'POST', path: '/freeze', headers: all })).status).toContain('400');
  expect((await rawHttp(url, { method: 'GET', path: '/faults', headers: all })).status).toContain('400');
  expect(server.frozen).toBe(false);
  for (const host of ['localhost', 'LOCALHOST:1', new URL(url).host]) {
    expect((await rawHttp(url, { method: 'GET', path: '/', headers: { Host: host } })).status).toContain('200');
  }
});

test('its port: taken, and free after the end', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  await expect(DevServer.start({ controlPort: port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  const { server } = await faultServer({ controlPort: 0 });
  const url = server.controlUrl as string;
  await server.stop();
  await expect(fetch(url)).rejects.toThrow();
});

test('requests: listed, waited for, forgotten', async () => {
  const { server, gate, ask, client } = await controlled();
  const waited = ask('POST', '/when-in-flight', { count: 2, model: 'held' });
  const calls = [1, 2].map((value) => client.infer('held', { ...ints(value), id: `r${value}`, parameters: { n: 7n } }));
  expect((await waited).body).toMatchObject({ inFlight: 2 });
  gate.open();
  await Promise.all(calls);
  const input = { name: 'X', datatype: 'INT32', shape: [1] };
  const seen = {
    model: 'held',
    version: '',
    inputs: [input],
    parameters: { n: 7 },
    state: 'answered',
    cancelled: false,
  };
  expect((await ask('GET', '/requests')).body).toMatchObject([
    { id: 'r1', ...seen },
    { id: 'r2', ...seen },
  ]);
  expect((await ask('DELETE', '/requests')).body).toEqual([]);
  expect(server.requests).toEqual([]);
  const late = await ask('POST', '/when-in-flight', { count: 1, timeoutMs: 1 });
  expect(late).toEqual({ status: 500, body: { error: expect.stringContaining('timeout') as string } });
});
