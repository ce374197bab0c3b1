import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  type CallOptions,
  type ConnectionMessage,
  type InferRequest,
  type RequestMessage,
  type TritonClient,
  tensor,
} from '../../src/index.js';
import { answer, FINAL, floatBytes } from '../support/answers.js';
import type { FaultServer } from '../support/fault-server.js';
import { connect, start, startHttp } from '../support/for-one-test.js';
import { failure } from '../support/outcome.js';
import { IN_REGION } from '../support/requests.js';

const REQUEST: InferRequest = { inputs: { a: tensor('UINT8', [1], [1]) }, id: 'q' };

let server: FaultServer;
let client: TritonClient;

beforeEach(async () => {
  server = await start();
  client = connect(server.url);
});

function listen<T>(name: string): T[] {
  const seen: T[] = [];
  const listener = (message: unknown) => void seen.push(message as T);
  subscribe(name, listener);
  onTestFinished(() => void unsubscribe(name, listener));
  return seen;
}

async function failureOf(options: CallOptions, request = REQUEST) {
  const call = client.infer('m', request, options);
  return { error: await call.catch((error: unknown) => error), settled: call.settled };
}

describe('stats', () => {
  test('every request counts once by its outcome, and once by how it settled', async () => {
    const first = client.infer('m', REQUEST);
    (await server.next()).answer();
    await first;
    const refused = client.infer('m', REQUEST);
    (await server.next()).answer({ error: 'Exceeds maximum queue size' });
    await expect(refused).rejects.toMatchObject({ code: 'TRITON_UNAVAILABLE' });

    const late = await failureOf({ timeoutMs: 400 }, IN_REGION);
    expect(late.error).toMatchObject({ code: 'TRITON_TIMEOUT' });
    (await server.next()).answer();
    expect(await late.settled).toBe('answered');

    await failureOf({ timeoutMs: 400, onAbort: 'cancel' });
    const abort = await failureOf({ signal: AbortSignal.timeout(20) });
    expect(await abort.settled).toBe('lost');
    await failureOf({ signal: AbortSignal.abort() });
    expect(() => client.infer('m', REQUEST, { timeoutMs: -1 })).toThrow(RangeError);

    const { latency, ...counts } = client.stats;
    expect(counts).toMatchObject({
      requests: 5,
      succeeded: 1,
      failed: { TRITON_UNAVAILABLE: 1, TRITON_TIMEOUT: 2 },
      aborted: 1,
      answered: 3,
      notSent: 0,
      lost: 2,
    });
    expect(latency.count).toBe(1);
    expect(latency.percentile(100)).toBe(latency.maxMs);
    expect(latency.maxMs).toBeGreaterThan(0);
  });

  test('requests that never left', async () => {
    server.kill();
    const lost = connect(server.url, { connectTimeoutMs: 200 });
    await expect(lost.infer('m', REQUEST)).rejects.toMatchObject({ code: 'TRITON_UNAVAILABLE' });
    expect(lost.stats).toMatchObject({ requests: 1, notSent: 1, answered: 0, failed: { TRITON_UNAVAILABLE: 1 } });
    expect(lost.stats.latency.count).toBe(0);
  });
});

describe('stats.bytes', () => {
  const NOTHING = { sent: 0, received: 0 };
  const message = answer([{ name: 'o', datatype: 'FP32', shape: [4n] }], [floatBytes], {
    triton_final_response: FINAL,
  });

  test('counts the messages of lanes, unary calls and streams, not of control calls', async () => {
    await client.isLive();
    expect(client.stats.bytes).toEqual({ grpc: NOTHING, http: NOTHING });

    const prepared = client.prepare('m', IN_REGION);
    for (let round = 1; round <= 2; round += 1) {
      const call = prepared.infer();
      const exchange = await server.next();
      expect(exchange.bytes.byteLength).toBe(prepared.byteLength);
      expect(client.stats.bytes.grpc.sent).toBe(round * prepared.byteLength);
      exchange.write(message);
      await call;
    }
    const onLanes = { sent: 2 * prepared.byteLength, received: 2 * message.byteLength };
    expect(client.stats.bytes).toEqual({ grpc: onLanes, http: NOTHING });

    // In its own channel; compressed, and counted as it was before.
    const large = { inputs: { a: tensor('UINT8', [50_000], new Uint8Array(50_000)) } };
    const unary = client.infer('m', large, { compression: 'gzip' });
    const exchange = await server.nextUnary();
    // The model's name alone.
    const response = Buffer.of(10, 1, 109);
    exchange.write(response);
    await unary;
    const withUnary = {
      sent: onLanes.sent + exchange.bytes.byteLength,
      received: onLanes.received + response.byteLength,
    };
    expect(exchange.bytes.byteLength).toBeGreaterThan(50_000);
    expect(client.stats.bytes.grpc).toEqual(withUnary);

    const next = client.stream('m', [{ ...REQUEST, id: 'id-1' }]).next();
    const streamed = await server.next();
    streamed.write(message);
    await next;
    expect(client.stats.bytes.grpc).toEqual({
      sent: withUnary.sent + streamed.bytes.byteLength,
      received: withUnary.received + message.byteLength,
    });
  });

  test('nothing for what never left; what was sent again counts again', async () => {
    const retrying = connect(server.url, { retry: { attempts: 3, delayMs: 1, onUnknownRegion: async () => true } });
    const call = retrying.infer('m', IN_REGION);
    const first = await server.next();
    first.refuse("Unable to find shared memory region: 'r'");
    (await server.next()).answer();
    await call;
    expect(retrying.stats).toMatchObject({ retried: 1, bytes: { grpc: { sent: 2 * first.bytes.byteLength } } });

    server.kill();
    await expect.poll(() => failure(client.infer('m', REQUEST))).toMatchObject({ code: 'TRITON_UNAVAILABLE' });
    expect(client.stats.bytes.grpc).toEqual(NOTHING);
  });

  test('counts the bodies of HTTP, errors too, beside those of gRPC', async () => {
    const http = await startHttp();
    const both = connect(server.url, { httpUrl: http.url, httpFromByteLength: 100 });
    const large = { inputs: { a: tensor('UINT8', [50_000], new Uint8Array(50_000)) } };
    const small = both.infer('m', REQUEST);
    const onLane = await server.next();
    onLane.write(message);
    await small;

    const plain = both.infer('m', large);
    const exchange = await http.next();
    const answered = JSON.stringify({ model_name: 'm', outputs: [] });
    exchange.send(200, answered);
    await plain;
    const refused = both.infer('m', large, { compression: 'gzip' });
    const compressed = await http.next();
    expect(compressed.body.byteLength).toBeLessThan(5_000);
    const refusal = JSON.stringify({ error: 'Exceeds maximum queue size' });
    compressed.send(400, refusal);
    await expect(refused).rejects.toMatchObject({ code: 'TRITON_UNAVAILABLE' });
    expect(both.stats.bytes).toEqual({
      grpc: { sent: onLane.bytes.byteLength, received: message.byteLength },
      http: { sent: 2 * exchange.body.byteLength, received: answered.length + refusal.length },
    });

    await http.stop();
    await expect(both.infer('m', large)).rejects.toMatchObject({ code: 'TRITON_UNAVAILABLE' });
    expect(both.stats.bytes.http.sent).toBe(2 * exchange.body.byteLength);
  });
});

describe('diagnostics channels', () => {
  test('start and end carry one object', async () => {
    const starts = listen<RequestMessage>('zerohop:triton-client:request:start');
    const ends = listen<RequestMessage>('zerohop:triton-client:request:end');
    const call = client.infer('m', REQUEST);
    expect(starts).toEqual([{ url: server.url, model: 'm', id: 'q', namesRegion: false }]);
    (await server.next()).answer();
    const result = await call;
    expect(ends).toEqual([
      { url: server.url, model: 'm', id: 'q', namesRegion: false, durationMs: expect.any(Number), result },
    ]);
    expect(ends[0]).toBe(starts[0]);

    const prepared = client.prepare('m', IN_REGION);
    const late = prepared.infer({ timeoutMs: 400 });
    await expect(late).rejects.toThrow();
    expect(ends).toHaveLength(2);
    expect(ends[1]).toMatchObject({ namesRegion: true, error: { code: 'TRITON_TIMEOUT' } });
    (await server.next()).answer();
    await late.settled;
    // The late answer is nobody's.
    expect(ends).toHaveLength(2);
  });

  test('a listener that comes later sees whole requests only', async () => {
    const early = client.infer('m', REQUEST);
    const ends = listen<RequestMessage>('zerohop:triton-client:request:end');
    (await server.next()).answer();
    await early;
    expect(ends).toEqual([]);
  });

  test('connections come and go', async () => {
    const seen = listen<ConnectionMessage>('zerohop:triton-client:connection');
    await client.isLive();
    server.kill();
    await expect.poll(() => seen.length).toBeGreaterThanOrEqual(2);
    expect(seen.slice(0, 2)).toEqual([
      { url: server.url, state: 'up', epoch: 1 },
      { url: server.url, state: 'down', epoch: 2 },
    ]);
  });
});
