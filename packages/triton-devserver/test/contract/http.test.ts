import { once } from 'node:events';
import { connect } from 'node:net';
import { TritonClient, tensor } from '@zerohop/triton-client';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../src/dev-server.js';
import type { ModelRequest } from '../../src/model.js';
import { rawHttp } from '../support/raw-http.js';

const FLOATS = { data_type: 'TYPE_FP32', dims: [-1n] } as const;
const seen: ModelRequest[] = [];
let held: PromiseWithResolvers | undefined;

interface PromiseWithResolvers {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

let server: DevServer;
let client: TritonClient;

beforeAll(async () => {
  server = await DevServer.start({
    forwardHeaders: /x-forward-.*/,
    restricted: [{ apis: ['trace'], header: 'Trace-Key', value: 'secret' }],
    models: {
      same: {
        config: { input: [{ name: 'X', ...FLOATS }], output: [{ name: 'Y', ...FLOATS }] },
        execute: async (request) => {
          seen.push(request);
          await held?.promise;
          return { Y: request.inputs.X as { shape: readonly number[]; data: Float32Array } };
        },
      },
      words: {
        config: {
          model_transaction_policy: { decoupled: true },
          input: [{ name: 'text_input', data_type: 'TYPE_STRING', dims: [1n] }],
          output: [{ name: 'text_output', data_type: 'TYPE_STRING', dims: [1n] }],
        },
        *executeDecoupled() {
          for (const word of ['one', 'two']) yield { outputs: { text_output: { shape: [1], data: [word] } } };
        },
      },
    },
  });
  client = new TritonClient(server.httpUrl, { metricsUrl: server.metricsUrl });
});

afterAll(async () => {
  await client.close();
  await server.stop();
});

const request = (...values: number[]) => ({
  inputs: { X: tensor('FP32', [values.length], Float32Array.from(values)) },
});
const json = (data: readonly number[]) =>
  JSON.stringify({ inputs: [{ name: 'X', datatype: 'FP32', shape: [data.length], data }] });

test('tensors, plain and compressed', async () => {
  for (const options of [{}, { compression: 'gzip' }, { compression: 'deflate' }] as const) {
    const result = await client.infer('same', request(1, 2, Number.NaN), options);
    expect(result.output('Y').data).toEqual(Float32Array.of(1, 2, Number.NaN));
  }
});

test('a raw binary request', async () => {
  const raw = await client.inferRaw('same', new Uint8Array(Float32Array.of(3, 4).buffer));
  expect(raw.output('Y').data).toEqual(Float32Array.of(3, 4));
});

test('what the client can ask for', async () => {
  expect([await client.isLive(), await client.isReady(), await client.isModelReady('nope')]).toEqual([
    true,
    true,
    false,
  ]);
  expect((await client.serverMetadata()).version).toBe('2.51.0');
  expect((await client.modelMetadata('same')).inputs).toHaveLength(1);
  expect((await client.modelConfig('same')).raw.name).toBe('same');
  expect((await client.repositoryIndex()).map(({ name }) => name)).toEqual(['same', 'words']);
  expect((await client.modelStatistics('same'))[0]?.name).toBe('same');
  await expect(client.infer('nope', request(1))).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND', httpStatus: 404 });
});

test('generate: events, and one answer where there are two', async () => {
  const answers = [];
  for await (const answer of client.generateStream('words', { text_input: 'x' })) answers.push(answer.text_output);
  expect(answers).toEqual(['one', 'two']);
  const { body } = await rawHttp(server.httpUrl, { path: '/v2/models/words/generate', body: '{"text_input":"x"}' });
  expect(body.toString()).toContain('exactly 1 response');
});

test('headers are handed on in the client’s spelling', async () => {
  const headers = { 'X-Forward-User': 'me', Other: 'no' };
  await rawHttp(server.httpUrl, { path: '/v2/models/same/infer', headers, body: json([1]) });
  expect(seen.at(-1)?.parameters).toEqual({ 'X-Forward-User': 'me' });
});

test('a restricted API wants its header, whatever the method', async () => {
  const ask = (method: string, headers: Record<string, string>) =>
    rawHttp(server.httpUrl, { method, path: '/v2/trace/setting', headers });
  const refused = await ask('PUT', { 'trace-key': 'wrong' });
  expect([refused.status, refused.body.toString()]).toEqual([
    'HTTP/1.1 403 Forbidden',
    '{"error":"This API is restricted, expecting header \'Trace-Key\'"}',
  ]);
  expect((await ask('GET', { 'trace-key': 'secret' })).status).toBe('HTTP/1.1 200 OK');
});

test('a closed connection stops nothing', async () => {
  held = withResolvers();
  onTestFinished(() => {
    held = undefined;
  });
  const before = seen.length;
  const { hostname, port } = new URL(server.httpUrl);
  const socket = connect(Number(port), hostname);
  const body = json([1]);
  socket.write(`POST /v2/models/same/infer HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await expect.poll(() => seen.length).toBe(before + 1);
  socket.destroy();
  await once(socket, 'close');
  const counted = async () => (await client.modelStatistics('same'))[0]?.inferenceCount;
  const count = await counted();
  held.resolve();
  await expect.poll(counted).toBe((count ?? 0) + 1);
  expect(seen.at(-1)?.signal.aborted).toBe(false);
});

test('requests in chunks, several on one connection before the first answer', async () => {
  const { hostname, port } = new URL(server.httpUrl);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  const body = json([7]);
  const chunked = `${body.slice(0, 9).length.toString(16)}\r\n${body.slice(0, 9)}\r\n${(body.length - 9).toString(16)}\r\n${body.slice(9)}\r\n0\r\n\r\n`;
  socket.write(`POST /v2/models/same/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`);
  socket.write('GET /nope HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await once(socket, 'close');
  expect(text).toMatch(/"data":\[7\.0\].*404 Not Found/s);
});

test.each([
  'HELLO\r\n\r\n',
  'POST /v2 HTTP/1.1\r\nContent-Length: x\r\n\r\n',
  `GET /v2 HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(9000)}\r\n\r\n`,
])('what is no HTTP, or has too long a line, ends the connection without an answer', async (text) => {
  const { hostname, port } = new URL(server.httpUrl);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.write(text);
  await once(socket, 'close');
  expect(chunks).toEqual([]);
  expect(await client.isLive()).toBe(true);
});

test('metrics: every path answers, one has something to say', async () => {
  const ask = (path: string, method = 'GET') => rawHttp(new URL(server.metricsUrl).origin, { method, path });
  expect((await ask('/metrics?x')).body.toString()).toContain('nv_inference_request_success{model="same",version="1"}');
  const other = await ask('/else');
  expect([other.status, other.body.byteLength]).toEqual(['HTTP/1.1 200 OK', 0]);
  expect(other.headers).toContain('Content-Type: text/plain; charset=utf-8');
  expect((await ask('/metrics', 'POST')).status).toBe('HTTP/1.1 405 Not Allowed');
});

test('an end that waits lets what runs have its answer', async () => {
  const [began, gate] = [withResolvers(), withResolvers()];
  const own = await DevServer.start({
    models: {
      slow: {
        config: { input: [{ name: 'X', ...FLOATS }], output: [{ name: 'Y', ...FLOATS }] },
        execute: async ({ inputs }) => {
          began.resolve();
          await gate.promise;
          return { Y: inputs.X as { shape: readonly number[]; data: Float32Array } };
        },
      },
    },
  });
  const answer = rawHttp(own.httpUrl, { path: '/v2/models/slow/infer', body: json([5]) });
  await began.promise;
  const stopped = own.stop();
  setImmediate(gate.resolve);
  expect((await answer).body.toString()).toContain('"data":[5.0]');
  await stopped;
});

test('generate of 2.48 takes no lists and has no id of its own', async () => {
  const own = await DevServer.start({
    version: '2.48',
    models: {
      same: {
        config: { input: [{ name: 'X', ...FLOATS }], output: [{ name: 'Y', ...FLOATS }] },
        execute: ({ inputs }) => ({ Y: inputs.X as { shape: readonly number[]; data: Float32Array } }),
      },
    },
  });
  onTestFinished(() => own.stop());
  const generate = async (body: object) => {
    const path = '/v2/models/same/generate';
    const { status, body: answer } = await rawHttp(own.httpUrl, { path, body: JSON.stringify(body) });
    return `${status.slice(9, 12)} ${answer.toString()}`;
  };
  expect(await generate({ X: [1, 2] })).toContain('500 {"error":"Unable to parse \'data\': Shape does not match');
  expect(await generate({ X: 1, id: 'a' })).toBe('200 {"Y":1.0,"model_name":"same","model_version":"1"}');
});

test('a large body is held once', async () => {
  const body = Buffer.alloc(100_000_000);
  const headers = { 'Inference-Header-Content-Length': '0' };
  await rawHttp(server.httpUrl, { path: '/v2/models/same/infer', headers, body });
  const data = seen.at(-1)?.inputs.X?.data as Float32Array;
  expect([data.byteOffset, data.byteLength, data.buffer.byteLength]).toEqual([0, 100_000_000, 100_000_000]);
});
