import { status as Status } from '@grpc/grpc-js';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { GrpcTransport } from '../../src/grpc/transport.js';
import { type CallOptions, TritonClient } from '../../src/index.js';
import { resolveOptions } from '../../src/options.js';
import { checkRequest } from '../../src/request.js';
import { RequestRecorder } from '../../src/request-recorder.js';
import { abortable } from '../support/abortable.js';
import type { FaultServer } from '../support/fault-server.js';
import { connect, start } from '../support/for-one-test.js';
import { failure, now } from '../support/outcome.js';
import { HEADERS, IN_MESSAGE, IN_REGION, REASON } from '../support/requests.js';

let server: FaultServer;
let client: TritonClient;

beforeEach(async () => {
  server = await start();
});

describe('a call with headers', () => {
  test('is unary, with the headers of the client too', async () => {
    client = connect(server.url, { headers: { 'x-of-the-client': 'yes' } });
    const call = client.infer('m', { ...IN_MESSAGE, id: 'u' }, { headers: HEADERS });
    const exchange = await server.nextUnary();
    expect(exchange.metadata.get('x-token')).toEqual(['secret']);
    expect(exchange.metadata.get('x-of-the-client')).toEqual(['yes']);
    expect(exchange.metadata.get('grpc-timeout')).toEqual([]);
    expect(client.stats.lanes).toEqual({ open: 1, idle: 0, busy: 1, detached: 0 });
    exchange.answer();
    expect((await call).id).toBe('u');
    expect(await call.settled).toBe('answered');
    expect(client.stats).toMatchObject({
      requests: 1,
      lanesOpened: 0,
      lanes: { open: 0 },
      unary: { headers: 1, compression: 0, trace: 0, forbidden: 0 },
    });
  });

  test('sends the bytes that a lane would, prepared requests too', async () => {
    client = connect(server.url);
    server.autoAnswer = true;
    const prepared = client.prepare('m', IN_REGION);
    await prepared.infer();
    await prepared.infer({ headers: HEADERS });
    expect((await server.nextUnary()).bytes).toEqual((await server.next()).bytes);
  });

  test('without any header goes on a lane', async () => {
    client = connect(server.url);
    server.autoAnswer = true;
    await client.infer('m', IN_MESSAGE, { headers: {}, compression: 'none' });
    expect(server.streams).toBe(1);
  });

  test.each<[string, CallOptions, string | undefined]>([
    ['triton_grpc_error', { headers: { triton_grpc_error: 'true' } }, 'TRITON_UNSAFE_REQUEST'],
    ['triton_grpc_error in any case', { headers: { Triton_gRPC_Error: 'false' } }, 'TRITON_UNSAFE_REQUEST'],
    ["the protocol's own", { headers: { 'grpc-timeout': '1S' } }, undefined],
    ['an unknown compression', { compression: 'br' as 'gzip' }, undefined],
  ])('%s is refused before anything is sent', (_, options, code) => {
    client = connect(server.url);
    const wrong = expect.objectContaining(code === undefined ? { name: 'TypeError' } : { name: 'TypeError', code });
    expect(() => client.infer('m', IN_MESSAGE, options)).toThrow(wrong);
    expect(() => client.prepare('m', IN_MESSAGE).infer(options)).toThrow(wrong);
    expect(() => client.stream('m', [], options)).toThrow(wrong);
    if (options.headers === undefined) return;
    const { headers } = options;
    expect(() => new TritonClient(server.url, { headers })).toThrow(wrong);
  });
});

test('a call of a sampled trace is unary, and carries its headers', async () => {
  client = connect(server.url);
  const address = {
    url: server.url,
    scheme: 'grpc',
    host: '127.0.0.1',
    port: server.port,
    basePath: '',
    isLocal: true,
  } as const;
  const transport = new GrpcTransport(address, resolveOptions({}), new RequestRecorder(server.url));
  const call = transport.submit(checkRequest('m', IN_MESSAGE), { traceHeaders: { traceparent: '00-1-2-01' } });
  const exchange = await server.nextUnary();
  expect(exchange.metadata.get('traceparent')).toEqual(['00-1-2-01']);
  exchange.answer();
  await call;
  expect(transport.stats.unary.trace).toBe(1);
  await transport.close(100);
});

describe('errors of a unary call', () => {
  test.each<[Status, string, string]>([
    [Status.NOT_FOUND, "Request for unknown model: 'm' is not found", 'TRITON_NOT_FOUND'],
    [Status.INTERNAL, 'anything that a model says', 'TRITON_INTERNAL'],
    [Status.UNAVAILABLE, 'Request timeout expired', 'TRITON_UNAVAILABLE'],
  ])("status %d of the server's own is an answer", async (code, details, expected) => {
    client = connect(server.url);
    const call = client.infer('m', { ...IN_REGION, id: 'q' }, { headers: HEADERS });
    (await server.nextUnary()).refuse(code, `[request id: q] ${details}`);
    const error = await failure(call);
    expect(error).toMatchObject({ code: expected, grpcStatus: code, requestId: 'q', model: 'm' });
    expect((error as Error).message).toBe(`ModelInfer of 'm': ${details}`);
    expect(await call.settled).toBe('answered');
    expect(client.stats).toMatchObject({ lost: 0, lanes: { open: 0 } });
  });

  test('UNAVAILABLE with the text of a proxy proves nothing', async () => {
    client = connect(server.url);
    const call = client.infer('m', IN_REGION, { headers: HEADERS });
    (await server.nextUnary()).refuse(Status.UNAVAILABLE, 'upstream connect error or disconnect');
    expect(await failure(call)).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(await call.settled).toBe('lost');
  });

  test('an unknown region did not run', async () => {
    client = connect(server.url);
    const call = client.infer('m', IN_REGION, { headers: HEADERS });
    (await server.nextUnary()).refuse(Status.NOT_FOUND, "Unable to find shared memory region: 'r'");
    expect(await failure(call)).toMatchObject({ code: 'TRITON_NOT_FOUND', region: 'r', didNotRun: true });
  });

  test('garbage is a typed error', async () => {
    client = connect(server.url);
    const call = client.infer('m', IN_REGION, { headers: HEADERS });
    (await server.nextUnary()).write(Buffer.alloc(20, 0xff));
    expect(await failure(call)).toMatchObject({ code: 'TRITON_MALFORMED_RESPONSE' });
    expect(await call.settled).toBe('answered');
  });

  test('a connection that breaks loses the request', async () => {
    client = connect(server.url);
    const call = client.infer('m', IN_REGION, { headers: HEADERS });
    await server.nextUnary();
    server.kill();
    expect(await failure(call)).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(await call.settled).toBe('lost');
  });

  test('no server: nothing was sent', async () => {
    client = connect(server.url);
    server.kill();
    const call = client.infer('m', IN_REGION, { headers: HEADERS });
    expect(await failure(call)).toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
    expect(await call.settled).toBe('not-sent');
  });
});

describe('the rules of lanes hold', () => {
  test('a caller that leaves: a region detaches, and does not count against lanes', async () => {
    client = connect(server.url, { lanes: 1 });
    const { call, abort } = abortable(client, IN_REGION, { headers: HEADERS });
    const exchange = await server.nextUnary();
    const second = client.infer('m', IN_MESSAGE, { headers: HEADERS });
    expect(client.stats.queued).toBe(1);
    abort();
    expect(await failure(call)).toBe(REASON);
    const next = await server.nextUnary();
    expect(client.stats.lanes).toMatchObject({ busy: 1, detached: 1 });
    next.answer();
    await second;
    expect(await now(call.settled)).toBe('pending');
    expect(exchange.cancelled).toBe(false);
    exchange.answer();
    expect(await call.settled).toBe('answered');
  });

  test('a caller that leaves: without a region the call is cancelled', async () => {
    client = connect(server.url);
    const { call, abort } = abortable(client, IN_MESSAGE, { headers: HEADERS });
    const exchange = await server.nextUnary();
    abort();
    expect(await failure(call)).toBe(REASON);
    expect(await call.settled).toBe('lost');
    await exchange.whenCancelled();
    expect(client.stats.lanes).toMatchObject({ busy: 0, detached: 0 });
  });

  test('a caller that leaves: past maxDetached and detachLimitMs the call is cancelled', async () => {
    client = connect(server.url, { maxDetached: 1 });
    const first = abortable(client, IN_REGION, { headers: HEADERS, detachLimitMs: 50 });
    const firstExchange = await server.nextUnary();
    const second = abortable(client, IN_REGION, { headers: HEADERS });
    const secondExchange = await server.nextUnary();
    first.abort();
    second.abort();
    expect([await failure(first.call), await failure(second.call)]).toEqual([REASON, REASON]);
    expect(await second.call.settled).toBe('lost');
    await secondExchange.whenCancelled();
    expect(await first.call.settled).toBe('lost');
    await firstExchange.whenCancelled();
  });

  test('a caller that leaves while it connects has not sent the request', async () => {
    client = connect(server.url);
    const { call, abort } = abortable(client, IN_REGION, { headers: HEADERS });
    abort();
    expect(await failure(call)).toBe(REASON);
    expect(await call.settled).toBe('not-sent');
    expect(client.stats.lanes.busy).toBe(0);
  });

  test('its own timer', async () => {
    client = connect(server.url);
    const call = client.infer('m', IN_MESSAGE, { headers: HEADERS, timeoutMs: 200 });
    const exchange = await server.nextUnary();
    expect(await failure(call)).toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect(await call.settled).toBe('lost');
    await exchange.whenCancelled();
  });

  test('idle lanes make room', async () => {
    client = connect(server.url, { lanes: 1, idleLaneMs: 60_000 });
    server.autoAnswer = true;
    await client.infer('m', IN_MESSAGE);
    expect(client.stats.lanes.idle).toBe(1);
    await client.infer('m', IN_MESSAGE, { headers: HEADERS });
    await vi.waitFor(() => expect(server.openStreams).toBe(0));
    await client.infer('m', IN_MESSAGE);
    expect(client.stats).toMatchObject({ lanesOpened: 2, lanes: { open: 1 } });
  });

  test('lanes and unary calls queue together', async () => {
    client = connect(server.url, { lanes: 1 });
    const options: (CallOptions | undefined)[] = [
      undefined,
      { headers: HEADERS },
      undefined,
      undefined,
      { headers: HEADERS },
    ];
    const order: number[] = [];
    const calls = options.map((option, index) => client.infer('m', IN_MESSAGE, option).then(() => order.push(index)));
    for (const option of options) {
      (await (option === undefined ? server.next() : server.nextUnary())).answer();
    }
    await Promise.all(calls);
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });

  test('close waits, and then cancels', async () => {
    client = connect(server.url, { closeTimeoutMs: 100 });
    const answered = client.infer('m', IN_MESSAGE, { headers: HEADERS });
    const first = await server.nextUnary();
    const left = client.infer('m', IN_MESSAGE, { headers: HEADERS });
    const second = await server.nextUnary();
    const closing = client.close();
    first.answer();
    await answered;
    expect(await failure(left)).toMatchObject({ code: 'TRITON_CANCELLED' });
    expect(await left.settled).toBe('lost');
    await second.whenCancelled();
    await closing;
  });
});

describe('a server that lets no stream through', () => {
  test.each<[Status, string]>([
    [Status.UNIMPLEMENTED, 'no streams here'],
    [Status.PERMISSION_DENIED, 'streams are not for you'],
    [Status.UNAVAILABLE, "This protocol is restricted, expecting header 'triton-grpc-protocol-k'"],
  ])('with status %d: the request goes unary, and so do all later ones', async (code, details) => {
    client = connect(server.url);
    server.autoAnswer = true;
    server.forbidsStreams = { code, details };
    for (const id of ['one', 'two', 'three']) {
      const call = client.infer('m', { ...IN_REGION, id });
      expect((await call).id).toBe(id);
      expect(await call.settled).toBe('answered');
    }
    expect(server.streams).toBe(1);
    expect(client.stats).toMatchObject({ lost: 0, retried: 0, streamsForbidden: details, unary: { forbidden: 3 } });
  });

  test('several at once: each falls back', async () => {
    client = connect(server.url);
    server.autoAnswer = true;
    server.forbidsStreams = { code: Status.UNIMPLEMENTED, details: 'no streams here' };
    const calls = Array.from({ length: 8 }, () => client.infer('m', IN_REGION));
    await Promise.all(calls);
    expect(client.stats).toMatchObject({ lost: 0, lanes: { open: 0 }, unary: { forbidden: 8 } });
  });

  test('a stream that was read is lost all the same', async () => {
    client = connect(server.url);
    const call = client.infer('m', IN_REGION);
    const exchange = await server.next();
    exchange.answer();
    await call;
    const second = client.infer('m', IN_REGION);
    (await server.next()).destroy(Status.PERMISSION_DENIED, 'not any more');
    expect(await failure(second)).toMatchObject({ code: 'TRITON_PERMISSION_DENIED' });
    expect(await second.settled).toBe('lost');
    expect(client.stats.streamsForbidden).toBeUndefined();
  });
});
