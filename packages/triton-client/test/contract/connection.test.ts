import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { DisposedError, type InferCall, TritonClient } from '../../src/index.js';
import { connect, listen, start } from '../support/for-one-test.js';
import { failure } from '../support/outcome.js';
import { IN_REGION } from '../support/requests.js';

describe('no server', () => {
  test('one sentence with the address; nothing was sent', async () => {
    const server = await start();
    server.kill();
    const client = connect(server.url);
    const call: InferCall = client.infer('m', IN_REGION);
    const expected = {
      code: 'TRITON_UNAVAILABLE',
      message: `No Triton server answers at ${server.url} (connect ECONNREFUSED 127.0.0.1:${server.port}); start it there or give its gRPC address`,
    };
    expect(await failure(call)).toMatchObject(expected);
    expect(await call.settled).toBe('not-sent');
    expect(await failure(client.serverMetadata())).toMatchObject({ ...expected, method: 'ServerMetadata' });
    expect([await client.isLive(), await client.isReady(), await client.isModelReady('m')]).toEqual([
      false,
      false,
      false,
    ]);
    expect(client.connectionEpoch).toBe(0);
  });

  test('a socket that is not there', async () => {
    const client = connect('unix:/nonexistent/zerohop-test.sock');
    expect(client.isLocal).toBe(true);
    expect(await failure(client.infer('m', IN_REGION))).toMatchObject({ code: 'TRITON_UNAVAILABLE' });
  });

  test('a listener that never speaks costs connectTimeoutMs', async () => {
    const silent = createTcpServer(() => {});
    const port = await listen(silent);
    const client = connect(`grpc://127.0.0.1:${port}`, { connectTimeoutMs: 50 });
    const call = client.infer('m', IN_REGION);
    expect(await failure(call)).toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect(await call.settled).toBe('not-sent');
  });
});

test('a server on a unix socket', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-client-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const server = await start(join(folder, 'socket'));
  server.autoAnswer = true;
  const client = connect(server.url);
  expect((await client.infer('m', { ...IN_REGION, id: 'u' })).id).toBe('u');
  expect([client.url, client.isLocal]).toEqual([server.url, true]);
});

describe('a server that goes', () => {
  test('loses what is under way, and the client finds its successor', async () => {
    const server = await start();
    const client = connect(server.url);
    const call = client.infer('m', IN_REGION);
    await server.next();
    const before = client.connectionEpoch;
    server.kill();
    expect(await failure(call)).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(await call.settled).toBe('lost');
    await vi.waitFor(() => expect(client.connectionEpoch).toBeGreaterThan(before));
    expect(await failure(client.infer('m', IN_REGION))).toMatchObject({ code: 'TRITON_UNAVAILABLE' });

    const between = client.connectionEpoch;
    const successor = await start(server.port);
    successor.autoAnswer = true;
    await vi.waitFor(() => client.infer('m', IN_REGION), { timeout: 5000 });
    expect(client.connectionEpoch).toBeGreaterThan(between);
  });

  test('finds no idle lane in its way', async () => {
    const server = await start();
    server.autoAnswer = true;
    const client = connect(server.url, { idleLaneMs: 60_000 });
    await Promise.all([client.infer('m', IN_REGION), client.infer('m', IN_REGION)]);
    expect(client.stats.lanes.idle).toBe(2);
    // Resolves only when every stream has ended.
    await server.shutdown();
    expect(client.stats.lanes.open).toBe(0);
  });

  test('gets the busy lane back after its answer', async () => {
    const server = await start();
    const client = connect(server.url, { idleLaneMs: 60_000 });
    const call = client.infer('m', IN_REGION);
    const exchange = await server.next();
    const gone = server.shutdown();
    const { connectionEpoch } = client;
    await vi.waitFor(() => expect(client.connectionEpoch).toBeGreaterThan(connectionEpoch));
    exchange.answer();
    await call;
    await gone;
    expect(client.stats.lanes.open).toBe(0);
  });

  test('that says so ends idle lanes before it breaks the connection', async () => {
    const server = await start();
    const client = connect(server.url, { idleLaneMs: 60_000 });
    const calls = [client.infer('m', IN_REGION), client.infer('m', IN_REGION)];
    const exchanges = [await server.next(), await server.next()];
    exchanges[0]?.answer();
    await calls[0];
    server.ready = false;
    exchanges[1]?.answer({ error: "Request for unknown model: 'm' has no available versions" });
    expect(await failure(calls[1] as InferCall)).toMatchObject({ code: 'TRITON_NOT_FOUND' });
    await vi.waitFor(() => expect(server.openStreams).toBe(0));
    expect(client.stats.lanes.open).toBe(0);
  });

  test('an unloaded model on a server that stays costs no lane', async () => {
    const server = await start();
    const client = connect(server.url, { idleLaneMs: 60_000 });
    const call = client.infer('m', IN_REGION);
    (await server.next()).answer({ error: "Request for unknown model: 'm' has no available versions" });
    await failure(call);
    expect(await client.isReady()).toBe(true);
    expect(client.stats.lanes.idle).toBe(1);
  });
});

describe('idle lanes', () => {
  test('are ended after a while; the next request opens one', async () => {
    const server = await start();
    server.autoAnswer = true;
    const client = connect(server.url, { idleLaneMs: 20 });
    await Promise.all([client.infer('m', IN_REGION), client.infer('m', IN_REGION)]);
    await vi.waitFor(() => expect(server.openStreams).toBe(0));
    expect(client.stats.lanes.open).toBe(0);
    await client.infer('m', IN_REGION);
    expect(client.stats.lanesOpened).toBe(3);
  });
});

describe('close', () => {
  test('waits for requests under way, queued and detached ones too', async () => {
    const server = await start();
    const client = connect(server.url, { lanes: 1, closeTimeoutMs: 60_000 });
    const controller = new AbortController();
    const detached = client.infer('m', IN_REGION, { signal: controller.signal });
    const first = await server.next();
    controller.abort();
    await failure(detached);
    const busy = client.infer('m', IN_REGION);
    const second = await server.next();
    const queued = client.infer('m', IN_REGION);
    let closed = false;
    const closing = client.close().then(() => {
      closed = true;
    });
    expect(client.closed).toBe(true);
    second.answer();
    await busy;
    (await server.next()).answer();
    await queued;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(closed).toBe(false);
    first.answer();
    expect(await detached.settled).toBe('answered');
    await closing;
    expect(client.stats.lanes).toEqual({ open: 0, idle: 0, busy: 0, detached: 0 });
  });

  test('cancels after closeTimeoutMs', async () => {
    const server = await start();
    const client = connect(server.url, { lanes: 1, closeTimeoutMs: 50 });
    const busy = client.infer('m', IN_REGION);
    const exchange = await server.next();
    const queued = client.infer('m', IN_REGION);
    const closing = client.close();
    expect(await failure(busy)).toMatchObject({ code: 'TRITON_CANCELLED' });
    expect(await busy.settled).toBe('lost');
    expect(await failure(queued)).toBeInstanceOf(DisposedError);
    expect(await queued.settled).toBe('not-sent');
    await closing;
    await exchange.whenCancelled();
  });

  test('ends idle lanes, and refuses what comes later', async () => {
    const server = await start();
    server.autoAnswer = true;
    const client = connect(server.url);
    const prepared = client.prepare('m', IN_REGION);
    await prepared.infer();
    await client.close();
    await client.close();
    await client[Symbol.asyncDispose]();
    await vi.waitFor(() => expect(server.openStreams).toBe(0));
    const late = prepared.infer();
    expect(await failure(late)).toMatchObject({ code: 'ERR_DISPOSED', message: 'The TritonClient is closed' });
    expect(await late.settled).toBe('not-sent');
    expect(await failure(client.infer('m', IN_REGION))).toMatchObject({ code: 'ERR_DISPOSED' });
    expect(await failure(client.isLive())).toMatchObject({ code: 'ERR_DISPOSED' });
    expect(await failure(client.systemSharedMemory.status())).toMatchObject({ code: 'ERR_DISPOSED' });
    expect(() => client.prepare('m', IN_REGION)).toThrow(DisposedError);
  });

  test('cancels control calls that nobody answers, which then keep no process alive', async () => {
    const silent = createTcpServer(() => {});
    const port = await listen(silent);
    const client = connect(`grpc://127.0.0.1:${port}`, { closeTimeoutMs: 50, controlTimeoutMs: 60_000 });
    const metadata = failure(client.modelMetadata('m'));
    const live = failure(client.isLive());
    await client.close();
    expect(await metadata).toMatchObject({ code: 'TRITON_CANCELLED', method: 'ModelMetadata', model: 'm' });
    expect(await live).toMatchObject({ code: 'TRITON_CANCELLED', method: 'ServerLive' });
  });

  test('of a client that never connected', async () => {
    await new TritonClient('grpc://localhost:1').close();
  });
});

describe('arguments', () => {
  const client = new TritonClient('grpc://localhost:1');
  const handle = new Uint8Array(64);

  test.each<[string, () => Promise<unknown>]>([
    ['an empty region name means all', () => client.systemSharedMemory.unregister('')],
    ['an empty region name means all', () => client.cudaSharedMemory.unregister('')],
    ['an empty region name means all', () => client.systemSharedMemory.status('')],
    ['an empty region name', () => client.systemSharedMemory.register({ name: '', key: '/k', byteLength: 1 })],
    ['an empty key', () => client.systemSharedMemory.register({ name: 'n', key: '', byteLength: 1 })],
    ['a size of 0', () => client.systemSharedMemory.register({ name: 'n', key: '/k', byteLength: 0 })],
    [
      'a handle of 63 bytes',
      () => client.cudaSharedMemory.register({ name: 'n', rawHandle: handle.subarray(1), deviceId: 0, byteLength: 1 }),
    ],
    [
      'a negative device',
      () => client.cudaSharedMemory.register({ name: 'n', rawHandle: handle, deviceId: -1, byteLength: 1 }),
    ],
    ['an empty model name', () => client.modelMetadata('')],
    ['an empty model name means all', () => client.modelStatistics('')],
    ['files without a config', () => client.loadModel('m', { files: { '1/model.py': new Uint8Array(1) } })],
  ])('%s is refused before anything is sent', async (_, call) => {
    expect(await failure(call())).toSatisfy((error) => error instanceof TypeError || error instanceof RangeError);
  });

  test.each([
    { lanes: 0 },
    { maxDetached: -1 },
    { idleLaneMs: 0 },
    { connectTimeoutMs: 2 ** 31 },
    { metricsUrl: 'localhost:8002' },
  ])('the option %j is refused', (options) => {
    expect(() => new TritonClient('grpc://localhost:1', options)).toThrow(/^Expected /);
  });
});

describe('gpuUuids', () => {
  async function metrics(body: string, status = 200): Promise<string> {
    const http = createServer((_, response) => response.writeHead(status, { location: '/elsewhere' }).end(body));
    return `http://127.0.0.1:${await listen(http)}/metrics`;
  }

  test('are those that the gauges name, each once', async () => {
    const metricsUrl = await metrics(
      [
        '# HELP nv_gpu_utilization GPU utilization rate [0.0 - 1.0)',
        'nv_gpu_utilization{gpu_uuid="GPU-b"} 0.5',
        'nv_gpu_utilization{gpu_uuid="GPU-a"} 0',
        'nv_gpu_memory_total_bytes{gpu_uuid="GPU-b"} 1',
        'nv_energy_consumption{gpu_uuid="GPU-c"} 1',
      ].join('\n'),
    );
    expect(await connect('grpc://localhost:1', { metricsUrl }).gpuUuids()).toEqual(['GPU-a', 'GPU-b']);
  });

  test('undefined without an address', async () => {
    expect(await connect('grpc://localhost:1').gpuUuids()).toBeUndefined();
  });

  test.each([404, 302])('HTTP status %d is an error with the address', async (status) => {
    const metricsUrl = await metrics('', status);
    expect(await failure(connect('grpc://localhost:1', { metricsUrl }).gpuUuids())).toMatchObject({
      code: 'TRITON_UNAVAILABLE',
      message: expect.stringContaining(metricsUrl),
    });
  });
});
