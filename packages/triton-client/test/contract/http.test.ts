import { createServer, type Socket } from 'node:net';
import { gzipSync, inflateSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { DisposedError, region, TritonClient, type TritonClientOptions, tensor } from '../../src/index.js';
import type { FaultHttpServer, HttpExchange } from '../support/fault-http-server.js';
import { connect, listen, startHttp } from '../support/for-one-test.js';

let server: FaultHttpServer;
let client: TritonClient;

function open(options: TritonClientOptions = {}, url = server.url): TritonClient {
  client = connect(url, options);
  return client;
}

beforeEach(async () => {
  server = await startHttp();
  open();
});

const PLAIN = { inputs: { X: tensor('FP32', [1], Float32Array.of(1)) } };
const WITH_REGION = { inputs: { X: region('r', { datatype: 'FP32', shape: [1] }) } };

/** A port that takes connections and says what the test says. */
const rawServer = (onConnection: (socket: Socket) => void): Promise<number> => listen(createServer(onConnection));

describe('what a request looks like', () => {
  test('path, headers, body', async () => {
    await client.close();
    open({ headers: { authorization: 'Bearer 1', 'X-Mine': 'client' } }, `${server.url}/base/path/`);
    const call = client.infer('m', PLAIN, { headers: { 'x-mine': 'call' } });
    const exchange = await server.next();
    expect(exchange.request).toMatchObject({ method: 'POST', url: '/base/path/v2/models/m/infer' });
    const { headers, rawHeaders } = exchange.request;
    expect(headers).toMatchObject({
      authorization: 'Bearer 1',
      'x-mine': 'call',
      'content-length': String(exchange.body.byteLength),
      'inference-header-content-length': String(exchange.body.byteLength - 4),
      host: `127.0.0.1:${server.port}`,
    });
    expect(rawHeaders.filter((name) => name.toLowerCase() === 'x-mine')).toHaveLength(1);
    expect(headers['transfer-encoding']).toBeUndefined();
    exchange.answer();
    expect((await call).outputs).toEqual([]);
  });

  test('a large tensor arrives whole, with its length told', async () => {
    const data = new Uint8Array(3_000_000).map((_, index) => index);
    const call = client.infer('m', { inputs: { X: tensor('UINT8', [3_000_000], data), Y: PLAIN.inputs.X } });
    const exchange = await server.next();
    const { body, request } = exchange;
    expect(request.headers['content-length']).toBe(String(body.byteLength));
    const start = Number(request.headers['inference-header-content-length']);
    expect(Buffer.compare(body.subarray(start, start + data.length), data)).toBe(0);
    exchange.answer();
    expect((await call).model).toBe('m');
  });

  test('a compressed body: its length, its encoding, and the length of the JSON that it holds', async () => {
    const call = client.infer('m', PLAIN, { compression: 'deflate' });
    const exchange = await server.next();
    const { headers } = exchange.request;
    const plain = inflateSync(exchange.body);
    expect(headers).toMatchObject({
      'content-encoding': 'deflate',
      'accept-encoding': 'deflate',
      'content-length': String(exchange.body.byteLength),
      'inference-header-content-length': String(plain.byteLength - 4),
    });
    exchange.answer();
    await call;
    expect(() => client.infer('m', PLAIN, { compression: 'br' as 'gzip' })).toThrow(TypeError);
  });

  test.each(['Content-Length', 'inference-header-content-length', 'Host', 'Connection', 'a b', 'x:y'])(
    'the header %s is refused',
    (name) => {
      expect(() => client.infer('m', PLAIN, { headers: { [name]: '1' } })).toThrow(TypeError);
      expect(() => new TritonClient(server.url, { headers: { [name]: '1' } })).toThrow(TypeError);
    },
  );

  test('a value with a line end is refused', () => {
    expect(() => client.infer('m', PLAIN, { headers: { a: 'b\r\nc: d' } })).toThrow(TypeError);
  });
});

describe('answers that are none', () => {
  const answered = async (treat: (exchange: HttpExchange) => void) => {
    const call = client.infer('m', PLAIN, { onAbort: 'cancel' });
    treat(await server.next());
    const error: unknown = await call.then(
      (result) => result.outputs,
      (reason: unknown) => reason,
    );
    return [error, await call.settled] as const;
  };
  const failure = (code: string) => expect.objectContaining({ code, method: 'ModelInfer', model: 'm' }) as unknown;

  test.each<[string, (exchange: HttpExchange) => void, string, string]>([
    ['a reset', (exchange) => exchange.reset(), 'TRITON_CONNECTION_LOST', 'lost'],
    [
      'a body that breaks off',
      ({ response, socket }) => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('{"model_name":', () => socket.destroy());
      },
      'TRITON_CONNECTION_LOST',
      'lost',
    ],
    [
      'a chunked body that breaks off',
      ({ response, socket }) => response.write('{"model_name":', () => socket.destroy()),
      'TRITON_CONNECTION_LOST',
      'lost',
    ],
    ['an empty body', (exchange) => exchange.send(200, ''), 'TRITON_MALFORMED_RESPONSE', 'lost'],
    ['a page', (exchange) => exchange.send(200, '<html>'), 'TRITON_MALFORMED_RESPONSE', 'lost'],
    [
      'JSON past the end',
      (exchange) => exchange.send(200, '{}', { 'inference-header-content-length': '3' }),
      'TRITON_MALFORMED_RESPONSE',
      'lost',
    ],
    [
      'a length that is none',
      (exchange) => exchange.send(200, '{}', { 'inference-header-content-length': 'x' }),
      'TRITON_MALFORMED_RESPONSE',
      'lost',
    ],
    [
      'an encoding that nobody asked for',
      (exchange) => exchange.send(200, '{}', { 'content-encoding': 'br' }),
      'TRITON_MALFORMED_RESPONSE',
      'lost',
    ],
    [
      'an encoding that it has not',
      (exchange) => exchange.send(200, '{}', { 'content-encoding': 'gzip' }),
      'TRITON_MALFORMED_RESPONSE',
      'lost',
    ],
    ["a proxy's page", (exchange) => exchange.send(502, '<html>'), 'TRITON_UNAVAILABLE', 'lost'],
    ["a proxy's time limit", (exchange) => exchange.send(504, ''), 'TRITON_UNAVAILABLE', 'lost'],
    ["the server's own error", (exchange) => exchange.fail(404, 'nope'), 'TRITON_NOT_FOUND', 'answered'],
    [
      "the server's own error as text/plain",
      (exchange) => exchange.send(500, '{"error":"x"}', { 'content-type': 'text/plain' }),
      'TRITON_INTERNAL',
      'answered',
    ],
  ])('%s', async (_, treat, code, settled) => {
    expect(await answered(treat)).toEqual([failure(code), settled]);
    expect(server.seen).toHaveLength(1);
    expect(client.stats).toMatchObject({ lost: settled === 'lost' ? 1 : 0, lanes: { busy: 0 } });
  });

  test('a redirect is not followed', async () => {
    const other = await startHttp();
    const [error] = await answered((exchange) => exchange.send(307, '', { location: `${other.url}/v2` }));
    expect(error).toEqual(failure('TRITON_UNAVAILABLE'));
    const call = client.serverMetadata();
    (await server.next()).send(301, '', { location: `${other.url}/v2` });
    await expect(call).rejects.toMatchObject({ message: expect.stringContaining(other.url), httpStatus: 301 });
    expect(other.connections).toBe(0);
  });

  test('what is not HTTP', async () => {
    const port = await rawServer((socket) => socket.on('data', () => socket.write('SSH-2.0-OpenSSH\r\n\r\n')));
    const other = connect(`http://127.0.0.1:${port}`);
    await expect(other.serverMetadata()).rejects.toMatchObject({ code: 'TRITON_MALFORMED_RESPONSE' });
  });

  test('informational answers are not the answer', async () => {
    const [result] = await answered((exchange) => {
      exchange.response.writeEarlyHints({ link: '</x>; rel=preload' });
      exchange.answer();
    });
    expect(result).toEqual([]);
  });

  test('a compressed answer, though nobody asked', async () => {
    const json = gzipSync('{"model_name":"m","model_version":"1","outputs":[]}');
    const [result] = await answered((exchange) => exchange.send(200, json, { 'content-encoding': 'gzip' }));
    expect(result).toEqual([]);
  });

  test('control answers that cannot be read', async () => {
    for (const body of ['', '[]', '{"name":1}', '{"extensions":[1]}', 'null', '{"name":']) {
      const call = client.serverMetadata();
      (await server.next()).send(200, body);
      await expect(call).rejects.toMatchObject({ code: 'TRITON_MALFORMED_RESPONSE' });
    }
    const call = client.modelStatistics();
    (await server.next()).answer({ model_stats: [{ name: 'm', inference_count: 2 ** 60 }] });
    await expect(call).rejects.toMatchObject({ code: 'TRITON_MALFORMED_RESPONSE' });
  });

  test('nanoseconds past 2^53 are exact', async () => {
    const call = client.modelStatistics();
    const stats = '{"model_stats":[{"name":"m","inference_stats":{"success":{"count":1,"ns":18014398509481985}}}]}';
    (await server.next()).send(200, stats);
    expect((await call)[0]?.success).toEqual({ count: 1, totalNs: 18014398509481985n });
  });

  test('models that were never loaded have a name alone', async () => {
    const call = client.repositoryIndex();
    (await server.next()).send(200, '[{"name":"m"}]');
    expect(await call).toEqual([{ name: 'm', version: '', state: '', reason: '' }]);
  });
});

describe('connections', () => {
  test('nothing answers: not sent', async () => {
    const port = server.port;
    await client.close();
    await server.stop();
    server = await startHttp();
    open({}, `http://127.0.0.1:${port}`);
    const call = client.infer('m', PLAIN);
    await expect(call).rejects.toMatchObject({
      code: 'TRITON_UNAVAILABLE',
      message: expect.stringContaining('No Triton server answers'),
    });
    expect(await call.settled).toBe('not-sent');
    expect([await client.isLive(), await client.isReady(), await client.isModelReady('m')]).toEqual([
      false,
      false,
      false,
    ]);
    expect(client.connectionEpoch).toBe(0);
  });

  test('connecting that takes too long, and one that is given up', async () => {
    const port = await rawServer(() => {});
    // A server that never answers the greeting of TLS.
    const other = connect(`https://127.0.0.1:${port}`, { connectTimeoutMs: 50 });
    const call = other.infer('m', WITH_REGION);
    await expect(call).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect(await call.settled).toBe('not-sent');
    const given = other.infer('m', WITH_REGION, { timeoutMs: 400 });
    await expect(given).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect(await given.settled).toBe('not-sent');
  });

  test('are kept and used again', async () => {
    server.handler = (exchange) => exchange.answer();
    for (let index = 0; index < 5; index += 1) await client.infer('m', PLAIN);
    expect(server.connections).toBe(1);
    await Promise.all(Array.from({ length: 4 }, () => client.infer('m', PLAIN)));
    expect(server.connections).toBe(4);
    expect(client.stats).toMatchObject({ lanesOpened: 4, lanes: { open: 4, idle: 4, busy: 0 } });
  });

  test('one that the server has closed meanwhile is not used, whatever the event loop has seen of it', async () => {
    server.handler = (exchange) => exchange.answer();
    for (let index = 0; index < 10; index += 1) {
      await client.infer('m', PLAIN);
      // Still among the callbacks of the network: the client cannot have been told.
      server.closeConnections();
      // As after a long computation.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 25);
      const call = client.infer('m', PLAIN);
      await call;
      expect(await call.settled).toBe('answered');
    }
    expect(client.stats.lost).toBe(0);
  });

  test('the epoch rises when the first comes and when the last goes', async () => {
    server.handler = (exchange) => exchange.answer();
    expect(client.connectionEpoch).toBe(0);
    await Promise.all([client.infer('m', PLAIN), client.infer('m', PLAIN)]);
    expect(client.connectionEpoch).toBe(1);
    server.closeConnections();
    await expect.poll(() => client.connectionEpoch).toBe(2);
    await client.infer('m', PLAIN);
    expect(client.connectionEpoch).toBe(3);
  });

  test('the calls about regions share one of their own, and its loss is told though others stay', async () => {
    server.handler = (exchange) => {
      if (exchange.request.url?.endsWith('/status')) exchange.send(200, '[]');
      else exchange.answer();
    };
    await client.infer('m', PLAIN);
    await Promise.all([client.systemSharedMemory.status(), client.cudaSharedMemory.status('x')]);
    await client.systemSharedMemory.unregister('x');
    const ports = server.seen.slice(1).map(({ socket }) => socket.remotePort);
    expect(new Set(ports).size).toBe(1);
    expect(ports).not.toContain(server.seen[0]?.socket.remotePort);
    const before = client.connectionEpoch;
    server.seen[1]?.socket.destroy();
    await expect.poll(() => client.connectionEpoch).toBe(before + 1);
    await client.cudaSharedMemory.unregister('x');
    expect(client.connectionEpoch).toBe(before + 2);
  });
});

describe('a caller that stops waiting', () => {
  test('in the queue: not sent', async () => {
    await client.close();
    open({ lanes: 1 });
    const first = client.infer('m', PLAIN);
    const exchange = await server.next();
    const controller = new AbortController();
    const queued = client.infer('m', PLAIN, { signal: controller.signal });
    const third = client.infer('m', PLAIN);
    expect(client.stats).toMatchObject({ queued: 2, lanes: { busy: 1 } });
    controller.abort(new Error('enough'));
    await expect(queued).rejects.toThrow('enough');
    expect(await queued.settled).toBe('not-sent');
    exchange.answer();
    await first;
    (await server.next()).answer();
    await third;
    expect(server.seen).toHaveLength(2);
    await expect(client.infer('m', PLAIN, { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no');
  });

  test('with a region: the connection stays until the server answers', async () => {
    await client.close();
    open({ lanes: 1 });
    const call = client.infer('m', WITH_REGION, { timeoutMs: 400 });
    const exchange = await server.next();
    await expect(call).rejects.toMatchObject({ code: 'TRITON_TIMEOUT', model: 'm' });
    expect(client.stats.lanes).toMatchObject({ busy: 0, detached: 1 });
    let settled = '';
    void call.settled.then((settlement) => {
      settled = settlement;
    });
    // It does not count against `lanes`.
    const next = client.infer('m', PLAIN);
    (await server.next()).answer();
    await next;
    expect([settled, exchange.socket.closed]).toEqual(['', false]);
    exchange.fail(500, 'late, and an error: an answer all the same');
    expect(await call.settled).toBe('answered');
    expect(client.stats).toMatchObject({ lost: 0, lanes: { detached: 0 } });
  });

  test('without one: the connection is closed, and the outcome unknown', async () => {
    const call = client.infer('m', PLAIN, { timeoutMs: 400 });
    const exchange = await server.next();
    await expect(call).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect(await call.settled).toBe('lost');
    await exchange.whenClosed();
  });

  test('a detached request is given up after detachLimitMs, and beyond maxDetached at once', async () => {
    await client.close();
    open({ maxDetached: 1 });
    const [one, other] = [new AbortController(), new AbortController()];
    const first = client.infer('m', WITH_REGION, { signal: one.signal, detachLimitMs: 60 });
    const second = client.infer('m', WITH_REGION, { signal: other.signal });
    const outcomes = Promise.allSettled([first, second]);
    const exchanges = [await server.next(), await server.next()];
    one.abort('first');
    other.abort('second');
    expect(await outcomes).toMatchObject([{ reason: 'first' }, { reason: 'second' }]);
    expect([await first.settled, await second.settled]).toEqual(['lost', 'lost']);
    for (const exchange of exchanges) await exchange.whenClosed();
  });

  test('of a control call', async () => {
    const controller = new AbortController();
    const call = client.serverMetadata({ signal: controller.signal });
    const exchange = await server.next();
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await exchange.whenClosed();
    await expect(client.serverMetadata({ timeoutMs: 20 })).rejects.toMatchObject({
      code: 'TRITON_TIMEOUT',
      method: 'ServerMetadata',
    });
    await expect(client.serverMetadata({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('requests that did not run', () => {
  const unknown = "Unable to find shared memory region: 'r'";

  test('say so', async () => {
    const call = client.infer('m', WITH_REGION);
    (await server.next()).fail(404, unknown);
    await expect(call).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND', region: 'r', didNotRun: true });
    const lost = client.infer('m', WITH_REGION);
    (await server.next()).reset();
    const error: unknown = await lost.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(error).not.toHaveProperty('didNotRun');
  });

  test('one that names an unknown region is sent again when that was mended', async () => {
    const regions: string[] = [];
    const onUnknownRegion = async (name: string) => {
      regions.push(name);
      return regions.length === 1;
    };
    const call = client.infer('m', WITH_REGION, { retry: { attempts: 3, onUnknownRegion } });
    for (let index = 0; index < 2; index += 1) (await server.next()).fail(404, unknown);
    await expect(call).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND' });
    expect(await call.settled).toBe('answered');
    expect([regions, client.stats.retried]).toEqual([['r', 'r'], 1]);
  });

  test('one that found nobody is sent again, and one that was lost is not', async () => {
    const { port } = server;
    await client.close();
    await server.stop();
    open({ retry: { attempts: 100, delayMs: 10 } }, `http://127.0.0.1:${port}`);
    const call = client.infer('m', WITH_REGION);
    await expect.poll(() => client.stats.retried).toBeGreaterThan(1);
    // Between two attempts.
    await expect.poll(() => client.stats).toMatchObject({ queued: 1, lanes: { busy: 0 } });
    server = await startHttp(port);
    (await server.next()).reset();
    await expect(call).rejects.toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect([await call.settled, server.seen.length]).toEqual(['lost', 1]);
  });

  test('a caller that gives up while its request waits to be sent again', async () => {
    const { port } = server;
    await client.close();
    await server.stop();
    open({ retry: { attempts: 2, delayMs: 60_000 } }, `http://127.0.0.1:${port}`);
    const call = client.infer('m', WITH_REGION, { timeoutMs: 200 });
    await expect(call).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect([await call.settled, client.stats.queued]).toEqual(['not-sent', 0]);
    server = await startHttp();
  });
});

describe('close', () => {
  test('waits for what is under way', async () => {
    await client.close();
    open({ closeTimeoutMs: 30_000 });
    const call = client.infer('m', PLAIN);
    const metadata = client.serverMetadata();
    const exchanges = [await server.next(), await server.next()];
    let closed = false;
    const closing = client.close().then(() => {
      closed = true;
    });
    const late = client.infer('m', PLAIN);
    await expect(late).rejects.toBeInstanceOf(DisposedError);
    expect(await late.settled).toBe('not-sent');
    await expect(client.serverMetadata()).rejects.toBeInstanceOf(DisposedError);
    expect(closed).toBe(false);
    for (const { request, response } of exchanges) {
      response.end(request.url === '/v2' ? '{"name":"x"}' : '{"model_name":"m","outputs":[]}');
    }
    await Promise.all([call, metadata, closing]);
    await expect.poll(() => server.openConnections).toBe(0);
  });

  test('gives up what is left after closeTimeoutMs', async () => {
    await client.close();
    open({ closeTimeoutMs: 30, lanes: 1 });
    const call = client.infer('m', PLAIN);
    const queued = client.infer('m', PLAIN);
    const metadata = client.serverMetadata();
    const outcomes = Promise.allSettled([call, queued, metadata]);
    await server.next();
    await client.close();
    expect(await outcomes).toMatchObject([
      { reason: { code: 'TRITON_CANCELLED' } },
      { reason: { code: 'ERR_DISPOSED' } },
      { reason: { code: 'TRITON_CANCELLED' } },
    ]);
    expect([await call.settled, await queued.settled]).toEqual(['lost', 'not-sent']);
  });

  test('of a client that never connected', async () => {
    await client.close();
    expect(server.connections).toBe(0);
  });
});
