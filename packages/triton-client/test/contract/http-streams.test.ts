import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { type InferRequest, type InferStream, type TritonClient, TritonError } from '../../src/index.js';
import type { FaultHttpServer, HttpExchange } from '../support/fault-http-server.js';
import { connect, startHttp } from '../support/for-one-test.js';
import { failure } from '../support/outcome.js';
import { IN_MESSAGE, REASON } from '../support/requests.js';

let server: FaultHttpServer;
let client: TritonClient;

beforeEach(async () => {
  server = await startHttp();
  client = connect(server.url);
});

/** The second request is there when the test says so. */
function twoRequests(): { source: AsyncIterable<InferRequest>; second: () => void } {
  let second = (): void => {};
  const asked = new Promise<void>((resolve) => {
    second = resolve;
  });
  async function* requests(): AsyncGenerator<InferRequest> {
    yield { ...IN_MESSAGE, id: 'first' };
    await asked;
    yield { ...IN_MESSAGE, id: 'second' };
  }
  return { source: requests(), second };
}

/** The id in a request's JSON, behind which its tensors lie. */
function idOf({ request, body }: HttpExchange): unknown {
  return JSON.parse(body.toString('latin1', 0, Number(request.headers['inference-header-content-length']))).id;
}

async function indicesOf(stream: InferStream): Promise<number[]> {
  const indices: number[] = [];
  for await (const { requestIndex } of stream) indices.push(requestIndex);
  return indices;
}

describe('a stream whose server is not there', () => {
  const RETRY = { attempts: 500, delayMs: 10 };

  test.each([
    ['the retries of the stream', {}, { retry: RETRY }],
    ['those of the client', { retry: RETRY }, {}],
  ])('before the first answer: sent when it is, by %s', async (_, options, ofStream) => {
    const { port } = server;
    await server.stop();
    client = connect(`http://127.0.0.1:${port}`, options);
    const stream = client.stream('m', [IN_MESSAGE, IN_MESSAGE], ofStream);
    const results = indicesOf(stream);
    await expect.poll(() => client.stats.retried).toBeGreaterThan(1);
    server = await startHttp(port);
    for (let index = 0; index < 2; index += 1) (await server.next()).answer();
    expect(await results).toEqual([0, 1]);
    expect([await stream.settled, server.seen.length]).toEqual(['answered', 2]);
  });

  test('after the first answer: only the second request is sent again', async () => {
    const { port } = server;
    const { source, second } = twoRequests();
    const stream = client.stream('m', source, { retry: RETRY });
    const first = stream.next();
    const exchange = await server.next();
    exchange.answer();
    expect((await first).value).toMatchObject({ requestIndex: 0, final: true });
    await server.stop();
    second();
    await expect.poll(() => client.stats.retried).toBeGreaterThan(1);
    server = await startHttp(port);
    const again = await server.next();
    again.answer();
    expect((await stream.next()).value).toMatchObject({ requestIndex: 1 });
    expect((await stream.next()).done).toBe(true);
    expect([idOf(exchange), idOf(again), server.seen.length]).toEqual(['first', 'second', 1]);
    expect([await stream.settled, client.stats.lost]).toEqual(['answered', 0]);
  });

  test('without retries the error is told, after what was answered', async () => {
    const { source, second } = twoRequests();
    const stream = client.stream('m', source);
    const first = stream.next();
    (await server.next()).answer();
    await first;
    await server.stop();
    second();
    expect(await failure(stream.next())).toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
    expect(await stream.settled).toBe('answered');
    const late = client.stream('m', [IN_MESSAGE]);
    expect(await failure(late.next())).toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
    expect([await late.settled, client.stats.retried]).toEqual(['not-sent', 0]);
  });

  test('an abort ends it while it waits to send again', async () => {
    await server.stop();
    const controller = new AbortController();
    const retry = { attempts: 2, delayMs: 60_000 };
    const stream = client.stream('m', [IN_MESSAGE], { retry, signal: controller.signal });
    const first = stream.next();
    await expect.poll(() => client.stats.queued).toBe(1);
    controller.abort(REASON);
    expect(await failure(first)).toBe(REASON);
    expect([await stream.settled, client.stats.queued]).toEqual(['not-sent', 0]);
  });
});

describe('a stream whose request is lost', () => {
  const retry = { attempts: 5, delayMs: 1 };

  test.each([0, 1])('after %i answers: it is not sent again, and the stream ends', async (answered) => {
    const stream = client.stream('m', [IN_MESSAGE, IN_MESSAGE, IN_MESSAGE], { retry });
    for (let index = 0; index < answered; index += 1) {
      (await server.next()).answer();
      expect((await stream.next()).value).toMatchObject({ requestIndex: index });
    }
    (await server.next()).reset();
    expect(await failure(stream.next())).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect([await stream.settled, server.seen.length, client.stats.retried]).toEqual(['lost', answered + 1, 0]);
  });

  test("with onError: 'yield' the stream goes on with the next request", async () => {
    const stream = client.stream('m', [IN_MESSAGE, IN_MESSAGE], { retry, onError: 'yield' });
    (await server.next()).reset();
    expect((await stream.next()).value).toMatchObject({ requestIndex: 0, error: { code: 'TRITON_CONNECTION_LOST' } });
    (await server.next()).answer();
    const { value } = await stream.next();
    expect([value?.requestIndex, value?.error]).toEqual([1, undefined]);
    expect([(await stream.next()).done, await stream.settled]).toEqual([true, 'lost']);
  });
});

describe('generateStream', () => {
  const events = { 'content-type': 'text/event-stream' };

  test('a stream that breaks off', async () => {
    const answers = client.generateStream('m', { text_input: 'x' });
    const first = answers.next();
    const { response, socket } = await server.next();
    response.writeHead(200, events);
    response.write('data: {"model_name":"m","text":"1"}\n\ndata: {"mod', () => socket.destroy());
    expect((await first).value).toMatchObject({ text: '1' });
    await expect(answers.next()).rejects.toMatchObject({ code: 'TRITON_CONNECTION_LOST', method: 'generate_stream' });
  });

  test('a stream that ends within an answer, and one that holds none', async () => {
    for (const text of ['data: {"model_name":"m"', 'data: x\n\n', 'data: []\n\n', 'data: {"a":NaN,}\n\n']) {
      const first = client.generateStream('m', { text_input: 'x' }).next();
      const { response } = await server.next();
      response.writeHead(200, events);
      response.end(text);
      await expect(first).rejects.toMatchObject({ code: 'TRITON_MALFORMED_RESPONSE' });
    }
  });

  test('a slow reader slows the server down', async () => {
    const answers = client.generateStream('m', { text_input: 'x' });
    const first = answers.next();
    const { response, socket } = await server.next();
    response.writeHead(200, events);
    const event = `data: {"model_name":"m","text":"${'x'.repeat(100_000)}"}\n\n`;
    for (let index = 0; index < 1000; index += 1) response.write(event);
    response.end();
    await first;
    // What the reader does not take stays in the server's buffers: 100 MB are not here at once.
    await delay(300);
    expect(socket.writableLength + response.writableLength).toBeGreaterThan(50_000_000);
    let count = 1;
    for await (const answer of answers) count += answer.model_name === 'm' ? 1 : 0;
    expect(count).toBe(1000);
  });

  test('small answers faster than they are read all come', async () => {
    const answers = client.generateStream('m', { text_input: 'x' });
    const first = answers.next();
    const { response } = await server.next();
    response.writeHead(200, events);
    // One answer to a chunk, as Triton sends them.
    for (let index = 0; index < 40_000; index += 1) response.write('data: {"model_name":"m"}\n\n');
    response.end();
    await first;
    let count = 1;
    for await (const answer of answers) count += answer.model_name === 'm' ? 1 : 0;
    expect(count).toBe(40_000);
  });

  test('a reader that leaves closes the connection', async () => {
    const answers = client.generateStream('m', { text_input: 'x' });
    const first = answers.next();
    const exchange = await server.next();
    exchange.response.writeHead(200, events);
    exchange.response.write('data: {"model_name":"m"}\n\n');
    await first;
    await answers.return();
    await exchange.whenClosed();
    expect(JSON.parse(exchange.body.toString())).toEqual({ text_input: 'x' });
  });

  test('an answer that is no JSON value is refused before anything is sent', async () => {
    const body = { text_input: new Date(0) as unknown as string };
    await expect(client.generateStream('m', body).next()).rejects.toThrow(TypeError);
    await expect(client.generate('m', body)).rejects.toThrow(TypeError);
    expect(server.seen).toHaveLength(0);
  });

  describe("with onError: 'yield'", () => {
    const yielding = { onError: 'yield' } as const;

    test('what the server answers is yielded, with the answers around it', async () => {
      const answers = client.generateStream('m', { text_input: 'x' }, yielding);
      const first = answers.next();
      const { response } = await server.next();
      response.writeHead(200, events);
      response.end(
        'data: {"error":"broken"}\n\ndata: {"model_name":"m","error":"an output"}\n\ndata: {"error":"x"}\n\n',
      );
      const { value } = await first;
      expect(value).toEqual({ error: expect.objectContaining({ code: 'TRITON_UNKNOWN', details: 'broken' }) });
      expect(value?.error).toBeInstanceOf(TritonError);
      expect((await answers.next()).value).toEqual({ model_name: 'm', error: 'an output' });
      expect((await answers.next()).value).toMatchObject({ error: { details: 'x' } });
      expect((await answers.next()).done).toBe(true);
    });

    test.each<[string, string, (exchange: HttpExchange) => void]>([
      [
        'a connection that breaks',
        'TRITON_CONNECTION_LOST',
        ({ response, socket }) => {
          response.writeHead(200, events);
          response.write('data: {"error":"broken"}\n\n', () => socket.destroy());
        },
      ],
      [
        'an answer that is none',
        'TRITON_MALFORMED_RESPONSE',
        ({ response }) => {
          response.writeHead(200, events);
          response.end('data: {"error":"broken"}\n\ndata: []\n\n');
        },
      ],
    ])('%s is thrown', async (_, code, treat) => {
      const answers = client.generateStream('m', { text_input: 'x' }, yielding);
      const first = answers.next();
      treat(await server.next());
      expect((await first).value).toMatchObject({ error: { details: 'broken' } });
      expect(await failure(answers.next())).toMatchObject({ code });
      expect((await answers.next()).done).toBe(true);
    });

    test('what a proxy answers is thrown', async () => {
      const first = client.generateStream('m', { text_input: 'x' }, yielding).next();
      (await server.next()).send(502, '<html>Bad Gateway</html>');
      expect(await failure(first)).toMatchObject({ httpStatus: 502 });
    });

    test('another value is refused before anything is sent', async () => {
      const answers = client.generateStream('m', { text_input: 'x' }, { onError: 'ignore' as 'yield' });
      await expect(answers.next()).rejects.toThrow("Expected 'throw' or 'yield' for onError");
      expect(server.seen).toHaveLength(0);
    });
  });
});
