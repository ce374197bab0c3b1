import { createServer } from 'node:net';
import { status as Status } from '@grpc/grpc-js';
import { describe, expect, test, vi } from 'vitest';
import { ModelStreamInferResponse } from '../../src/grpc/gen/grpc_service.js';
import { type CallOptions, type InferRequest, type RetryOptions, TritonClient } from '../../src/index.js';
import type { FaultServer } from '../support/fault-server.js';
import { connect, listen, start, startRaw } from '../support/for-one-test.js';
import { failure } from '../support/outcome.js';
import { answer, type RawGrpcServer, refuse } from '../support/raw-grpc-server.js';
import { HEADERS, IN_REGION } from '../support/requests.js';

const SEQUENCE: InferRequest = { ...IN_REGION, sequence: { id: 1, start: true } };
const UNKNOWN_REGION = "Unable to find shared memory region: 'r'";

/** As a lane and as a unary call. */
const WAYS: [string, CallOptions][] = [
  ['on a lane', {}],
  ['in a unary call', { headers: HEADERS }],
];

const ANSWER = ModelStreamInferResponse.encode({
  errorMessage: '',
  inferResponse: {
    modelName: 'm',
    modelVersion: '1',
    id: 'raw',
    parameters: { triton_final_response: { parameterChoice: { $case: 'boolParam', value: true } } },
    outputs: [],
    rawOutputContents: [],
  },
}).finish();

describe.each(WAYS)('no connection, %s', (_, options) => {
  test('without retries the request fails', async () => {
    const server = await start();
    server.kill();
    const client = connect(server.url);
    const call = client.infer('m', IN_REGION, options);
    expect(await failure(call)).toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
    expect(await call.settled).toBe('not-sent');
    expect(client.stats.retried).toBe(0);
  });

  test.each([IN_REGION, SEQUENCE])('with retries it is sent when a server is there', async (request) => {
    const server = await start();
    server.kill();
    const client = connect(server.url, { retry: { attempts: 200, delayMs: 10 } });
    const call = client.infer('m', request, options);
    await vi.waitFor(() => expect(client.stats.retried).toBeGreaterThan(1));
    expect(client.stats.queued + client.stats.lanes.busy).toBe(1);
    const successor = await start(server.port);
    successor.autoAnswer = true;
    await call;
    expect(await call.settled).toBe('answered');
  });

  test('attempts are counted, and a call has its own', async () => {
    const server = await start();
    server.kill();
    const client = connect(server.url, { retry: { attempts: 100 } });
    const call = client.infer('m', IN_REGION, { ...options, retry: { attempts: 3, delayMs: 1 } });
    expect(await failure(call)).toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
    expect(client.stats).toMatchObject({ retried: 2, queued: 0, lanes: { busy: 0 } });
  });

  test('a caller that leaves between two attempts is gone at once', async () => {
    const server = await start();
    server.kill();
    const client = connect(server.url, { retry: { attempts: 100, delayMs: 60_000 } });
    const controller = new AbortController();
    const call = client.infer('m', IN_REGION, { ...options, signal: controller.signal });
    await vi.waitFor(() => expect(client.stats).toMatchObject({ queued: 1, lanes: { busy: 0 } }));
    await new Promise((resolve) => setTimeout(resolve, 50));
    controller.abort('left');
    expect(await failure(call)).toBe('left');
    expect(await call.settled).toBe('not-sent');
    expect(client.stats.queued).toBe(0);
    await client.close();
  });

  test('close() does not wait for another attempt', async () => {
    const server = await start();
    server.kill();
    const client = connect(server.url, { retry: { attempts: 100, delayMs: 60_000 }, closeTimeoutMs: 50 });
    const call = client.infer('m', IN_REGION, options);
    // What was asked later has failed, so the first attempt too; the second is a minute away.
    expect(await client.isLive()).toBe(false);
    await client.close();
    expect(await failure(call)).toMatchObject({ code: 'ERR_DISPOSED' });
    expect(await call.settled).toBe('not-sent');
  });
});

describe('a stream that the server refused unread', () => {
  async function refusing(times: number, settings: RetryOptions = {}): Promise<[RawGrpcServer, TritonClient]> {
    let left = times;
    const server = await startRaw((stream, method) => {
      if (method === 'ServerLive') answer(stream, new Uint8Array(0));
      else if (left > 0) {
        left -= 1;
        refuse(stream);
      } else stream.once('data', () => answer(stream, ANSWER));
    });
    return [server, connect(server.url, { retry: settings })];
  }

  test.each(WAYS)('was not sent, %s', async (_, options) => {
    const [server, client] = await refusing(1);
    const call = client.infer('m', IN_REGION, options);
    expect(await failure(call)).toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
    expect(await call.settled).toBe('not-sent');
    expect(client.stats).toMatchObject({ lost: 0, streamsForbidden: undefined });
    expect(server.calls.filter((method) => method !== 'ServerLive')).toHaveLength(1);
  });

  test('is opened again by a retry', async () => {
    const [server, client] = await refusing(2, { attempts: 3, delayMs: 1 });
    expect((await client.infer('m', IN_REGION)).id).toBe('raw');
    expect(client.stats).toMatchObject({ retried: 2, lost: 0 });
    expect(server.calls.filter((method) => method === 'ModelStreamInfer')).toHaveLength(3);
  });

  test('and of stream() was not sent either', async () => {
    const [, client] = await refusing(1);
    const stream = client.stream('m', [IN_REGION]);
    expect(await failure(stream.next())).toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
    expect(await stream.settled).toBe('not-sent');
  });

  test('after it was answered once is lost: it was read before', async () => {
    const server = await startRaw((stream, method) => {
      if (method === 'ServerLive') {
        answer(stream, new Uint8Array(0));
        return;
      }
      let seen = 0;
      stream.on('data', () => {
        seen += 1;
        if (seen === 2) {
          refuse(stream);
          return;
        }
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
        const prefix = Buffer.alloc(5);
        prefix.writeUInt32BE(ANSWER.byteLength, 1);
        stream.write(Buffer.concat([prefix, ANSWER]));
      });
    });
    const client = connect(server.url, { retry: { attempts: 5, delayMs: 1 } });
    await client.infer('m', IN_REGION);
    const call = client.infer('m', IN_REGION);
    expect(await failure(call)).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(await call.settled).toBe('lost');
    expect(client.stats.retried).toBe(0);
  });

  test('by the text of a server is not proven', async () => {
    const server = await start();
    const client = connect(server.url, { retry: { attempts: 5, delayMs: 1 } });
    const call = client.infer('m', IN_REGION);
    (await server.next()).destroy(Status.UNAVAILABLE, 'Stream refused by server');
    const error = await failure(call);
    expect(error).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(error).not.toHaveProperty('didNotRun');
    expect(await call.settled).toBe('lost');
  });
});

describe('an unknown region', () => {
  test.each(WAYS)('that is mended: the request is sent again, %s', async (_, options) => {
    const server = await start();
    const onUnknownRegion = vi.fn(async () => true);
    const client = connect(server.url, { retry: { attempts: 2, delayMs: 60_000, onUnknownRegion } });
    const call = client.infer('m', SEQUENCE, options);
    if (options.headers === undefined) {
      (await server.next()).refuse(UNKNOWN_REGION);
      (await server.next()).answer();
    } else {
      (await server.nextUnary()).refuse(Status.NOT_FOUND, UNKNOWN_REGION);
      (await server.nextUnary()).answer();
    }
    await call;
    expect(await call.settled).toBe('answered');
    expect(onUnknownRegion.mock.calls).toEqual([['r']]);
    expect(client.stats).toMatchObject({ retried: 1, queued: 0 });
  });

  test('is asked for once, whatever the number of requests', async () => {
    const server = await start();
    let mended = false;
    const onUnknownRegion = vi.fn(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      mended = true;
      return true;
    });
    const client = connect(server.url, { retry: { attempts: 2, onUnknownRegion } });
    const calls = Array.from({ length: 10 }, () => client.infer('m', IN_REGION));
    for (let index = 0; index < 20; index += 1) {
      const exchange = await server.next();
      if (mended) exchange.answer();
      else exchange.refuse(UNKNOWN_REGION);
    }
    await Promise.all(calls);
    expect(onUnknownRegion).toHaveBeenCalledOnce();
    expect(client.stats.retried).toBe(10);
  });

  test.each<[string, RetryOptions, unknown]>([
    ['cannot be mended', { attempts: 2, onUnknownRegion: async () => false }, undefined],
    ['fails to be mended', { attempts: 2, onUnknownRegion: () => Promise.reject(new Error('no')) }, new Error('no')],
    ['is unknown again', { attempts: 2, onUnknownRegion: async () => true }, undefined],
    ['may not be retried', { attempts: 1, onUnknownRegion: async () => true }, undefined],
    ['nobody mends', { attempts: 2 }, undefined],
  ])('that %s is the error', async (_, retry, cause) => {
    const server = await start();
    const client = connect(server.url, { retry });
    const call = client.infer('m', IN_REGION);
    void (async () => {
      for (;;) (await server.next()).refuse(UNKNOWN_REGION);
    })();
    const error = await failure(call);
    expect(error).toMatchObject({ code: 'TRITON_NOT_FOUND', region: 'r', didNotRun: true });
    expect((error as Error).cause).toEqual(cause);
    expect(await call.settled).toBe('answered');
  });

  test('that comes with the mark of a model which ran is not retried', async () => {
    const server = await start();
    const onUnknownRegion = vi.fn(async () => true);
    const client = connect(server.url, { retry: { attempts: 2, onUnknownRegion } });
    const call = client.infer('m', IN_REGION);
    (await server.next()).answer({ error: UNKNOWN_REGION });
    const error = await failure(call);
    expect(error).toMatchObject({ code: 'TRITON_NOT_FOUND' });
    expect(error).not.toHaveProperty('didNotRun');
    expect(onUnknownRegion).not.toHaveBeenCalled();
  });

  test('of a caller that has gone is not mended', async () => {
    const server = await start();
    const onUnknownRegion = vi.fn(async () => true);
    const client = connect(server.url, { retry: { attempts: 2, onUnknownRegion } });
    const controller = new AbortController();
    const call = client.infer('m', IN_REGION, { signal: controller.signal });
    const exchange = await server.next();
    controller.abort('left');
    expect(await failure(call)).toBe('left');
    exchange.refuse(UNKNOWN_REGION);
    expect(await call.settled).toBe('answered');
    expect(onUnknownRegion).not.toHaveBeenCalled();
  });
});

test('what may have run is never sent again', async () => {
  const server = await start();
  const client = connect(server.url, { retry: { attempts: 10, delayMs: 1, onUnknownRegion: async () => true } });
  const ends: ((request: Awaited<ReturnType<FaultServer['next']>>) => void)[] = [
    (exchange) => exchange.destroy(Status.UNAVAILABLE, 'Socket closed'),
    (exchange) => exchange.end(),
    (exchange) => exchange.answer({ error: 'Request timeout expired' }),
    (exchange) => exchange.answer({ error: 'Exceeds maximum queue size' }),
    (exchange) => exchange.refuse("Request for unknown model: 'm' is not found"),
    (exchange) => exchange.answer({ final: false }),
    (exchange) => exchange.write(Buffer.alloc(20, 0xff)),
  ];
  for (const end of ends) {
    const call = client.infer('m', IN_REGION);
    end(await server.next());
    expect(await failure(call)).toHaveProperty('code');
  }
  const timed = client.infer('m', IN_REGION, { timeoutMs: 100 });
  expect(await failure(timed)).toMatchObject({ code: 'TRITON_TIMEOUT' });
  expect(server.seen).toHaveLength(ends.length + 1);
  expect(client.stats.retried).toBe(0);
});

describe('connecting', () => {
  test('a server that ends each connection at once is not stormed', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    const client = connect(`grpc://127.0.0.1:${await listen(server)}`, { connectTimeoutMs: 500 });
    const call = client.infer('m', IN_REGION);
    expect(await failure(call)).toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
    expect(connections).toBeLessThan(10);
  });

  test('a server that ends each connection after the handshake: not sent, and not stormed', async () => {
    const server = await startRaw((stream) => answer(stream, new Uint8Array(0)), {
      onSession: (session) => session.once('remoteSettings', () => session.goaway()),
    });
    const client = connect(server.url, { retry: { attempts: 3, delayMs: 20 } });
    const call = client.infer('m', IN_REGION);
    expect(await failure(call)).toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
    expect(await call.settled).toBe('not-sent');
    expect(server.connections).toBeLessThanOrEqual(3);
  });

  test('a server that never answers ServerLive serves requests', async () => {
    const server = await startRaw((stream, method) => {
      if (method !== 'ServerLive') stream.once('data', () => answer(stream, ANSWER));
    });
    const client = connect(server.url, { connectTimeoutMs: 5_000 });
    expect((await client.infer('m', IN_REGION)).id).toBe('raw');
    // The call that has no answer does not outlive the client.
    await client.close();
    await vi.waitFor(() => expect(server.sessions.size).toBe(0));
  });
});

test.each<[unknown]>([[null], [{ attempts: 0 }], [{ attempts: 1.5 }], [{ delayMs: -1 }], [{ onUnknownRegion: true }]])(
  'retry %j is refused',
  async (retry) => {
    const server = await start();
    const client = connect(server.url);
    expect(() => client.infer('m', IN_REGION, { retry: retry as RetryOptions })).toThrow(/^Expected /);
    expect(() => new TritonClient(server.url, { retry: retry as RetryOptions })).toThrow(/^Expected /);
    expect(client.stats.requests).toBe(0);
  },
);
