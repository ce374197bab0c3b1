import { status as Status } from '@grpc/grpc-js';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { InferRequest, InferStream, StreamOptions, StreamResult, TritonClient } from '../../src/index.js';
import type { FaultServer } from '../support/fault-server.js';
import { connect, start } from '../support/for-one-test.js';
import { failure } from '../support/outcome.js';
import { HEADERS, IN_MESSAGE, IN_REGION, REASON } from '../support/requests.js';

const OUT_REGION: InferRequest = {
  ...IN_MESSAGE,
  outputs: { b: { region: 'r', byteOffset: 0, byteLength: 16 } },
};

let server: FaultServer;
let client: TritonClient;

/** A source that gives requests, and then nothing until it is left. */
class Source implements AsyncIterableIterator<InferRequest> {
  readonly #requests: InferRequest[];
  returned = 0;

  constructor(requests: readonly InferRequest[] = []) {
    this.#requests = [...requests];
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<InferRequest>> {
    const value = this.#requests.shift();
    return value === undefined ? new Promise(() => {}) : Promise.resolve({ done: false, value });
  }

  async return(): Promise<IteratorResult<InferRequest>> {
    this.returned += 1;
    return { done: true, value: undefined };
  }
}

async function read(stream: InferStream): Promise<StreamResult> {
  const step = await stream.next();
  if (step.done === true) throw new Error('the stream is over');
  return step.value;
}

beforeEach(async () => {
  server = await start();
});

test('asks for empty final responses, and gives each request an id', async () => {
  client = connect(server.url);
  const stream = client.stream('m', [IN_MESSAGE, { ...IN_MESSAGE, id: 'mine' }], { headers: HEADERS });
  const exchanges = [await server.next(), await server.next()];
  expect(exchanges.map(({ request }) => request.id)).toEqual(['zerohop-0', 'mine']);
  for (const { request, metadata, lane } of exchanges) {
    expect(request.parameters).toEqual({
      triton_enable_empty_final_response: { parameterChoice: { $case: 'boolParam', value: true } },
    });
    expect(metadata.get('x-token')).toEqual(['secret']);
    expect(lane).toBe(0);
  }
  exchanges[1]?.answer();
  exchanges[0]?.answer();
  expect([(await read(stream)).requestIndex, (await read(stream)).requestIndex]).toEqual([1, 0]);
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect(await stream.settled).toBe('answered');
  expect(client.stats).toMatchObject({ requests: 0, lanesOpened: 0, streams: { opened: 1, open: 0 } });
});

test('no requests: nothing was sent', async () => {
  client = connect(server.url);
  const stream = client.stream('m', []);
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect(await stream.settled).toBe('not-sent');
});

describe('a request whose outputs lie in regions', () => {
  test('may get one answer, told when the server says that it is the last one', async () => {
    client = connect(server.url);
    const stream = client.stream('m', [OUT_REGION]);
    const exchange = await server.next();
    exchange.answer({ final: false, outputs: ['b'] });
    const next = stream.next();
    expect(await Promise.race([next, new Promise((resolve) => setTimeout(resolve, 50, 'pending'))])).toBe('pending');
    exchange.answer({ final: true });
    const { value } = await next;
    expect(value).toMatchObject({ requestIndex: 0, final: true });
    expect((value as StreamResult).outputs.map(({ name }) => name)).toEqual(['b']);
    expect((await stream.next()).done).toBe(true);
  });

  test('a second one lies over the first: an error, after which nothing of it is told', async () => {
    client = connect(server.url);
    const stream = client.stream('m', [OUT_REGION, IN_MESSAGE], { onError: 'yield' });
    const [first, second] = [await server.next(), await server.next()];
    for (let index = 0; index < 4; index += 1) first.answer({ final: false, outputs: ['b'] });
    second.answer();
    first.answer({ final: true });
    const results = [await read(stream), await read(stream), await read(stream)];
    expect(results.map(({ requestIndex, final, error }) => [requestIndex, final, error?.code])).toEqual([
      [0, false, 'TRITON_REGION_OVERWRITTEN'],
      [1, true, undefined],
      [0, true, undefined],
    ]);
    expect(await stream.settled).toBe('answered');
  });

  test('an error after an answer leaves that as it is', async () => {
    client = connect(server.url);
    const stream = client.stream('m', [OUT_REGION], { onError: 'yield' });
    const exchange = await server.next();
    exchange.answer({ final: false, outputs: ['b'] });
    exchange.answer({ final: true, error: 'boom' });
    const results = [await read(stream), await read(stream)];
    expect(results.map(({ final, error, outputs }) => [final, error?.details, outputs.length])).toEqual([
      [false, undefined, 1],
      [true, 'boom', 0],
    ]);
  });
});

describe('an answer that cannot be trusted', () => {
  test.each<[string, { id?: string; garbage?: true }]>([
    ['for a request that is none of the stream', { id: 'stranger' }],
    ['without an id', { id: '' }],
    ['that is garbage', { garbage: true }],
  ])('%s ends the stream', async (_, { id, garbage }) => {
    client = connect(server.url);
    const stream = client.stream('m', [IN_REGION]);
    const exchange = await server.next();
    if (garbage === true) exchange.write(Buffer.alloc(20, 0xff));
    else exchange.answer({ id: id ?? '' });
    expect(await failure(stream.next())).toMatchObject({ code: 'TRITON_MALFORMED_RESPONSE' });
    await exchange.whenCancelled();
    expect(await stream.settled).toBe('lost');
  });

  test('after the last one of its request ends the stream', async () => {
    client = connect(server.url);
    const stream = client.stream('m', new Source([IN_MESSAGE]));
    const exchange = await server.next();
    exchange.answer();
    exchange.answer();
    expect(await read(stream)).toMatchObject({ final: true });
    expect(await failure(stream.next())).toMatchObject({ code: 'TRITON_MALFORMED_RESPONSE' });
  });
});

describe('the end of the connection', () => {
  test('loses what is outstanding', async () => {
    client = connect(server.url);
    const stream = client.stream('m', [IN_REGION]);
    await server.next();
    server.kill();
    expect(await failure(stream.next())).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(await stream.settled).toBe('lost');
  });

  test('with status OK and requests outstanding loses them too', async () => {
    client = connect(server.url);
    const stream = client.stream('m', [IN_REGION]);
    (await server.next()).end();
    expect(await failure(stream.next())).toMatchObject({ code: 'TRITON_CONNECTION_LOST', grpcStatus: Status.OK });
    expect(await stream.settled).toBe('lost');
  });

  test('announced by the server: what was sent is answered, and the stream does not keep the server', async () => {
    client = connect(server.url);
    const source = new Source([IN_REGION]);
    const stream = client.stream('m', source);
    const exchange = await server.next();
    const { connectionEpoch } = client;
    const gone = server.shutdown();
    await vi.waitFor(() => expect(client.connectionEpoch).toBeGreaterThan(connectionEpoch));
    exchange.answer();
    expect(await read(stream)).toMatchObject({ final: true });
    expect(await failure(stream.next())).toMatchObject({ code: 'TRITON_UNAVAILABLE', method: 'ModelStreamInfer' });
    await gone;
    expect([await stream.settled, source.returned]).toEqual(['answered', 1]);
  });

  test('no server: nothing was sent; with retries it is found when it comes', async () => {
    client = connect(server.url);
    server.kill();
    const none = client.stream('m', [IN_REGION]);
    expect(await failure(none.next())).toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
    expect(await none.settled).toBe('not-sent');
    const stream = client.stream('m', [IN_REGION], { retry: { attempts: 100, delayMs: 20 } });
    server = await start(server.port);
    server.autoAnswer = true;
    expect(await read(stream)).toMatchObject({ final: true });
  });

  test('a server that lets no stream through: typed', async () => {
    client = connect(server.url);
    server.forbidsStreams = { code: Status.PERMISSION_DENIED, details: 'no streams here' };
    const stream = client.stream('m', [IN_REGION]);
    expect(await failure(stream.next())).toMatchObject({
      code: 'TRITON_PERMISSION_DENIED',
      details: 'no streams here',
    });
  });
});

describe('leaving a stream', () => {
  test('return() while a reader waits: both are done', async () => {
    client = connect(server.url);
    const source = new Source([IN_MESSAGE]);
    const stream = client.stream('m', source);
    const exchange = await server.next();
    const waiting = stream.next();
    expect(await stream.return?.()).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: true, value: undefined });
    await exchange.whenCancelled();
    expect([await stream.settled, source.returned]).toEqual(['lost', 1]);
  });

  test('with a region the stream stays open until the answers are here', async () => {
    client = connect(server.url);
    const stream = client.stream('m', [IN_REGION, IN_MESSAGE]);
    const [first, second] = [await server.next(), await server.next()];
    await stream.return?.();
    expect(client.stats.streams.open).toBe(1);
    first.answer();
    expect(await Promise.race([stream.settled, new Promise((resolve) => setTimeout(resolve, 50, 'pending'))])).toBe(
      'pending',
    );
    expect(second.cancelled).toBe(false);
    second.answer({ error: 'boom' });
    expect(await stream.settled).toBe('answered');
  });

  test('past detachLimitMs and past maxDetached it is cancelled', async () => {
    client = connect(server.url, { maxDetached: 1 });
    const first = client.stream('m', [IN_REGION], { detachLimitMs: 50 });
    const firstExchange = await server.next();
    const second = client.stream('m', [IN_REGION]);
    const secondExchange = await server.next();
    await first.return?.();
    await second.return?.();
    expect(await second.settled).toBe('lost');
    await secondExchange.whenCancelled();
    expect(await first.settled).toBe('lost');
    await firstExchange.whenCancelled();
  });

  test('by signal: the reason at once, unread results are dropped', async () => {
    client = connect(server.url);
    const controller = new AbortController();
    const stream = client.stream('m', new Source([IN_MESSAGE, IN_MESSAGE]), { signal: controller.signal });
    const exchanges = [await server.next(), await server.next()];
    exchanges[0]?.answer();
    expect(await read(stream)).toMatchObject({ requestIndex: 0 });
    controller.abort(REASON);
    expect(await failure(stream.next())).toBe(REASON);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(await stream.settled).toBe('lost');
  });

  test('before it is connected', async () => {
    client = connect(server.url);
    const early = client.stream('m', [IN_REGION], { signal: AbortSignal.abort('early') });
    expect(await failure(early.next())).toBe('early');
    expect(await early.settled).toBe('not-sent');
    const stream = client.stream('m', [IN_REGION]);
    await stream[Symbol.asyncDispose]();
    expect(await stream.settled).toBe('not-sent');
    expect(await client.isLive()).toBe(true);
    expect(server.streams).toBe(0);
  });

  test('leaves no listener on its signal', async () => {
    client = connect(server.url);
    server.autoAnswer = true;
    const controller = new AbortController();
    const remove = vi.spyOn(controller.signal, 'removeEventListener');
    const stream = client.stream('m', [IN_MESSAGE], { signal: controller.signal, timeoutMs: 10_000 });
    await read(stream);
    await stream.settled;
    expect(remove).toHaveBeenCalledOnce();
  });

  test('close() cancels after closeTimeoutMs', async () => {
    client = connect(server.url, { closeTimeoutMs: 50 });
    const stream = client.stream('m', [IN_REGION]);
    const exchange = await server.next();
    await client.close();
    expect(await failure(stream.next())).toMatchObject({ code: 'TRITON_CANCELLED' });
    expect(await stream.settled).toBe('lost');
    await exchange.whenCancelled();
  });
});

describe('the source', () => {
  test('that fails ends the stream with its error', async () => {
    client = connect(server.url);
    const broken = new Error('the source broke');
    function* requests(): Generator<InferRequest> {
      yield IN_MESSAGE;
      throw broken;
    }
    const stream = client.stream('m', requests());
    expect(await failure(stream.next())).toBe(broken);
  });

  test('that gives a wrong request ends the stream with a TypeError', async () => {
    client = connect(server.url);
    const stream = client.stream('m', [{ inputs: { a: 1 } } as unknown as InferRequest]);
    expect(await failure(stream.next())).toBeInstanceOf(TypeError);
    const reserved = client.stream('m', [{ ...IN_MESSAGE, parameters: { triton_x: 1 } }]);
    expect(await failure(reserved.next())).toBeInstanceOf(RangeError);
  });

  test('that says its end by another value than true, as iterators may, or gives no step', async () => {
    client = connect(server.url);
    const source = (step: unknown) => ({ next: () => step, [Symbol.iterator]: () => source(step) });
    const ended = client.stream('m', source({ done: 1, value: IN_MESSAGE }) as Iterable<InferRequest>);
    expect(await ended.next()).toEqual({ done: true, value: undefined });
    const broken = client.stream('m', source(undefined) as Iterable<InferRequest>);
    expect(await failure(broken.next())).toMatchObject({
      name: 'TypeError',
      message: 'Expected object for a step of requests but received undefined of type undefined',
    });
  });

  test('that gives the id of an outstanding request ends the stream', async () => {
    client = connect(server.url);
    const stream = client.stream('m', [
      { ...IN_MESSAGE, id: 'same' },
      { ...IN_MESSAGE, id: 'same' },
    ]);
    expect(await failure(stream.next())).toMatchObject({ message: expect.stringContaining("received 'same'") });
  });

  test.each<[string, unknown, StreamOptions | undefined]>([
    ['a request in place of requests', IN_MESSAGE, undefined],
    ['text', 'abc', undefined],
    ['nothing', undefined, undefined],
    ['maxOutstanding 0', [], { maxOutstanding: 0 }],
    ['another onError', [], { onError: 'ignore' as 'throw' }],
    ['another onAbort', [], { onAbort: 'ignore' as 'cancel' }],
    ['a time limit of 0', [], { timeoutMs: 0 }],
    ['a retry of 0 attempts', [], { retry: { attempts: 0 } }],
  ])('%s throws', (_, requests, options) => {
    client = connect(server.url);
    expect(() => client.stream('m', requests as InferRequest[], options)).toThrow(/^Expected /);
    expect(client.stats.streams.opened).toBe(0);
  });
});
