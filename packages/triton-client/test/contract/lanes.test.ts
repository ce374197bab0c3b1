import { status as Status } from '@grpc/grpc-js';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { CallOptions, TritonClient } from '../../src/index.js';
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

describe('an answered request', () => {
  test('resolves and settles as answered, and its lane takes the next', async () => {
    client = connect(server.url);
    for (const id of ['one', 'two']) {
      const call = client.infer('m', { ...IN_MESSAGE, id });
      (await server.next()).answer();
      expect((await call).id).toBe(id);
      expect(await call.settled).toBe('answered');
    }
    expect(server.streams).toBe(1);
    expect(client.stats).toMatchObject({
      requests: 2,
      queued: 0,
      lost: 0,
      retried: 0,
      lanesOpened: 1,
      lanes: { open: 1, idle: 1, busy: 0, detached: 0 },
    });
  });

  test('an error of the server is an answer: the lane lives', async () => {
    client = connect(server.url);
    const call = client.infer('m', { ...IN_REGION, id: 'q' });
    (await server.next()).answer({ error: "[request id: q] Unable to find shared memory region: 'r'" });
    expect(await failure(call)).toMatchObject({ code: 'TRITON_NOT_FOUND', region: 'r', requestId: 'q', model: 'm' });
    expect(await call.settled).toBe('answered');
    expect(client.stats.lanes.idle).toBe(1);
  });

  test('streams carry no metadata of their own: triton_grpc_error can kill a server', async () => {
    client = connect(server.url);
    const call = client.infer('m', IN_MESSAGE);
    const exchange = await server.next();
    expect(Object.keys(exchange.metadata.getMap())).toEqual(['user-agent']);
    exchange.answer();
    await call;
  });

  test('streams carry the headers of the client', async () => {
    client = connect(server.url, { headers: HEADERS });
    const call = client.infer('m', IN_MESSAGE);
    const exchange = await server.next();
    expect(exchange.metadata.get('x-token')).toEqual(['secret']);
    exchange.answer();
    await call;
  });

  test('a prepared request sends the same bytes each time, several at once too', async () => {
    client = connect(server.url);
    server.autoAnswer = true;
    const prepared = client.prepare('m', { ...IN_REGION, id: 'p' });
    await Promise.all(Array.from({ length: 5 }, () => prepared.infer()));
    await prepared.infer();
    expect(server.seen).toHaveLength(6);
    for (const { bytes } of server.seen) {
      expect(bytes.byteLength).toBe(prepared.byteLength);
      expect(bytes.equals(server.seen[0]?.bytes ?? Buffer.alloc(0))).toBe(true);
    }
  });
});

describe('a caller that stops waiting', () => {
  test('of a request with a region leaves the stream open until the answer', async () => {
    client = connect(server.url, { lanes: 1 });
    const { call, abort } = abortable(client, IN_REGION);
    const exchange = await server.next();
    abort();
    expect(await failure(call)).toBe(REASON);
    expect(await now(call.settled)).toBe('pending');
    expect(client.stats.lanes).toEqual({ open: 0, idle: 0, busy: 0, detached: 1 });
    expect(exchange.cancelled).toBe(false);
    exchange.answer();
    expect(await call.settled).toBe('answered');
    expect(client.stats.lanes).toEqual({ open: 1, idle: 1, busy: 0, detached: 0 });
  });

  test('by time gets TRITON_TIMEOUT; a late error is an answer too', async () => {
    client = connect(server.url);
    const call = client.infer('m', { ...IN_REGION, id: 'q' }, { timeoutMs: 500 });
    const exchange = await server.next();
    expect(await failure(call)).toMatchObject({
      code: 'TRITON_TIMEOUT',
      message: "No answer to ModelInfer of 'm' within 500 ms",
      requestId: 'q',
    });
    expect(await failure(call)).not.toHaveProperty('didNotRun');
    expect(await now(call.settled)).toBe('pending');
    exchange.answer({ error: 'boom' });
    expect(await call.settled).toBe('answered');
  });

  test('does not take a lane from others', async () => {
    client = connect(server.url, { lanes: 1 });
    const { call: first, abort } = abortable(client, IN_REGION);
    const hung = await server.next();
    abort();
    expect(await failure(first)).toBe(REASON);
    const second = client.infer('m', IN_REGION);
    const served = await server.next();
    expect(served.lane).not.toBe(hung.lane);
    served.answer();
    await second;
    hung.answer();
    expect(await first.settled).toBe('answered');
    // The lanes are full again: the one that comes back is ended.
    await vi.waitFor(() => expect(server.openStreams).toBe(1));
    expect(client.stats.lanes).toEqual({ open: 1, idle: 1, busy: 0, detached: 0 });
  });

  test('past maxDetached the request is cancelled', async () => {
    client = connect(server.url, { maxDetached: 1 });
    const first = abortable(client, IN_REGION);
    const firstExchange = await server.next();
    const second = abortable(client, IN_REGION);
    const secondExchange = await server.next();
    first.abort();
    second.abort();
    expect([await failure(first.call), await failure(second.call)]).toEqual([REASON, REASON]);
    expect(await second.call.settled).toBe('lost');
    await secondExchange.whenCancelled();
    expect(firstExchange.cancelled).toBe(false);
    firstExchange.answer();
    expect(await first.call.settled).toBe('answered');
    expect(client.stats.lost).toBe(1);
  });

  test('past detachLimitMs the request is lost', async () => {
    client = connect(server.url);
    const { call, abort } = abortable(client, IN_REGION, { detachLimitMs: 30 });
    const exchange = await server.next();
    abort();
    expect(await failure(call)).toBe(REASON);
    expect(await call.settled).toBe('lost');
    await exchange.whenCancelled();
    expect(client.stats).toMatchObject({ lost: 1, lanes: { open: 0, detached: 0 } });
  });

  test('of a request without a region cancels it, and only it', async () => {
    client = connect(server.url);
    const other = client.infer('m', IN_MESSAGE);
    const otherExchange = await server.next();
    const { call, abort } = abortable(client, IN_MESSAGE);
    const exchange = await server.next();
    abort();
    expect(await failure(call)).toBe(REASON);
    expect(await call.settled).toBe('lost');
    await exchange.whenCancelled();
    otherExchange.answer();
    await other;
    expect(await other.settled).toBe('answered');
  });

  test('may choose: cancel with a region, detach without one', async () => {
    client = connect(server.url);
    const cancelled = abortable(client, IN_REGION, { onAbort: 'cancel' });
    const first = await server.next();
    const detached = abortable(client, IN_MESSAGE, { onAbort: 'detach' });
    const second = await server.next();
    cancelled.abort();
    detached.abort();
    expect([await failure(cancelled.call), await failure(detached.call)]).toEqual([REASON, REASON]);
    expect(await cancelled.call.settled).toBe('lost');
    await first.whenCancelled();
    second.answer();
    expect(await detached.call.settled).toBe('answered');
  });

  test('before the request was sent has not sent it', async () => {
    client = connect(server.url, { lanes: 1 });
    const aborted = client.infer('m', IN_REGION, { signal: AbortSignal.abort('early') });
    expect(await failure(aborted)).toBe('early');
    expect(await aborted.settled).toBe('not-sent');

    const busy = client.infer('m', IN_REGION);
    const exchange = await server.next();
    const queued = client.infer('m', IN_REGION, { timeoutMs: 20 });
    expect(client.stats.queued).toBe(1);
    expect(await failure(queued)).toMatchObject({ code: 'TRITON_TIMEOUT', didNotRun: true });
    expect(await queued.settled).toBe('not-sent');
    expect(client.stats.queued).toBe(0);
    exchange.answer();
    await busy;
    expect(server.seen).toHaveLength(1);
  });

  test('leaves no listener on its signal', async () => {
    client = connect(server.url);
    server.autoAnswer = true;
    const controller = new AbortController();
    const remove = vi.spyOn(controller.signal, 'removeEventListener');
    await client.infer('m', IN_MESSAGE, { signal: controller.signal, timeoutMs: 10_000 });
    expect(remove).toHaveBeenCalledOnce();
  });

  test.each([
    [{ timeoutMs: 0 }, RangeError],
    [{ timeoutMs: 1.5 }, RangeError],
    [{ timeoutMs: 2 ** 31 }, RangeError],
    [{ detachLimitMs: -1 }, RangeError],
    [{ onAbort: 'ignore' }, TypeError],
    [{ signal: null }, TypeError],
  ])('wrong options %j throw', async (options, kind) => {
    client = connect(server.url);
    expect(() => client.infer('m', IN_REGION, options as object)).toThrow(kind);
  });

  test('a controller in place of its signal throws, and costs no other request its place in the queue', async () => {
    client = connect(server.url, { lanes: 1 });
    const busy = client.infer('m', IN_REGION);
    const exchange = await server.next();
    const queued = client.infer('m', IN_REGION);
    const options = { signal: new AbortController(), timeoutMs: 10 } as unknown as CallOptions;
    expect(() => client.infer('m', IN_REGION, options)).toThrow(
      'Expected AbortSignal for signal but received AbortController of type object',
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(client.stats).toMatchObject({ requests: 2, queued: 1 });
    exchange.answer();
    await busy;
    (await server.next()).answer();
    await queued;
  });
});

describe('a lane that ends', () => {
  test.each([
    [Status.UNAVAILABLE, 'Socket closed', 'TRITON_CONNECTION_LOST'],
    [Status.INTERNAL, 'broken', 'TRITON_INTERNAL'],
    [Status.RESOURCE_EXHAUSTED, 'too much', 'TRITON_RESOURCE_EXHAUSTED'],
  ])('with status %d loses its request, and only its own', async (status, details, code) => {
    client = connect(server.url);
    const other = client.infer('m', IN_REGION);
    const otherExchange = await server.next();
    const call = client.infer('m', IN_REGION);
    (await server.next()).destroy(status, details);
    expect(await failure(call)).toMatchObject({ code, grpcStatus: status, details });
    expect(await call.settled).toBe('lost');
    otherExchange.answer();
    await other;
    expect(client.stats).toMatchObject({ lost: 1, lanes: { open: 1, idle: 1 } });
  });

  test('with status OK loses its request too', async () => {
    client = connect(server.url);
    const call = client.infer('m', IN_REGION);
    (await server.next()).end();
    expect(await failure(call)).toMatchObject({ code: 'TRITON_CONNECTION_LOST', grpcStatus: Status.OK });
    expect(await call.settled).toBe('lost');
  });

  test('while idle is forgotten', async () => {
    client = connect(server.url);
    const call = client.infer('m', IN_REGION);
    const exchange = await server.next();
    exchange.answer();
    await call;
    exchange.end();
    await vi.waitFor(() => expect(client.stats.lanes.open).toBe(0));
    server.autoAnswer = true;
    await client.infer('m', IN_REGION);
    expect(client.stats.lost).toBe(0);
  });

  test('under a detached request settles it as lost', async () => {
    client = connect(server.url);
    const { call, abort } = abortable(client, IN_REGION);
    const exchange = await server.next();
    abort();
    expect(await failure(call)).toBe(REASON);
    exchange.destroy(Status.UNAVAILABLE, 'Socket closed');
    expect(await call.settled).toBe('lost');
    expect(client.stats.lanes).toMatchObject({ open: 0, detached: 0 });
  });
});

describe('an answer that cannot be trusted', () => {
  test('garbage is a typed error, and the lane is not used again', async () => {
    client = connect(server.url);
    const call = client.infer('m', IN_REGION);
    const exchange = await server.next();
    exchange.write(Buffer.alloc(20, 0xff));
    expect(await failure(call)).toMatchObject({ code: 'TRITON_MALFORMED_RESPONSE' });
    expect(await call.settled).toBe('lost');
    await exchange.whenCancelled();
    server.autoAnswer = true;
    await client.infer('m', IN_REGION);
    expect(server.streams).toBe(2);
  });

  test('one that says more will follow is a decoupled model’s', async () => {
    client = connect(server.url);
    const call = client.infer('m', IN_REGION);
    const exchange = await server.next();
    exchange.answer({ final: false });
    expect(await failure(call)).toMatchObject({ code: 'TRITON_UNIMPLEMENTED', model: 'm' });
    expect(await call.settled).toBe('lost');
    await exchange.whenCancelled();
  });

  test('one that nobody waits for ends the lane: the next request would take it for its own', async () => {
    client = connect(server.url);
    const call = client.infer('m', { ...IN_REGION, id: 'first' });
    const exchange = await server.next();
    exchange.answer();
    await call;
    exchange.answer();
    await exchange.whenCancelled();
    const second = client.infer('m', { ...IN_REGION, id: 'second' });
    (await server.next()).answer();
    expect((await second).id).toBe('second');
    expect(server.streams).toBe(2);
  });
});

describe('more requests than lanes', () => {
  test('queue, in order, one on each lane', async () => {
    client = connect(server.url, { lanes: 2 });
    const calls = ['0', '1', '2', '3', '4'].map((id) => client.infer('m', { ...IN_REGION, id }));
    const first = [await server.next(), await server.next()];
    expect(client.stats).toMatchObject({ queued: 3, lanes: { open: 2, busy: 2 } });
    const order = [...first.map((exchange) => exchange.request.id)];
    for (let exchange = first.shift(); exchange !== undefined; exchange = first.shift()) {
      exchange.answer();
      if (order.length < 5) {
        const next = await server.next();
        order.push(next.request.id);
        first.push(next);
      }
    }
    expect((await Promise.all(calls)).map((result) => result.id)).toEqual(['0', '1', '2', '3', '4']);
    expect(order).toEqual(['0', '1', '2', '3', '4']);
    expect(server.streams).toBe(2);
  });

  test('a lane that ends makes room', async () => {
    client = connect(server.url, { lanes: 1 });
    const lost = client.infer('m', IN_REGION);
    const exchange = await server.next();
    const queued = client.infer('m', IN_REGION);
    exchange.destroy(Status.INTERNAL, 'broken');
    await failure(lost);
    (await server.next()).answer();
    await queued;
    expect(await queued.settled).toBe('answered');
  });
});
