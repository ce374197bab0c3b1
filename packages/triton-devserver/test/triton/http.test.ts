import { gzipSync } from 'node:zlib';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DevServer } from '../../src/dev-server.js';
import { type RawAnswer, type RawRequest, rawHttp } from '../support/raw-http.js';
import { TwinRepository } from '../support/twin-repository.js';

const MODELS = ['identity', 'text', 'parameters', 'echo_bytes', 'repeat', 'sequence'];
const INFER = '/v2/models/identity/infer';
const floats = (...values: number[]) => Buffer.from(new Float32Array(values).buffer);
const input = (more: object) => ({ name: 'INPUT0', datatype: 'FP32', shape: [1, 2], ...more });
const GOOD = input({ data: [1, 2] });
const infer = (body: unknown, path = INFER): RawRequest => ({ path, body: JSON.stringify(body) });
const withInput = (more: object) => infer({ inputs: [input(more)] });
const withOutput = (parameters: unknown) => infer({ inputs: [GOOD], outputs: [{ name: 'OUTPUT0', parameters }] });
const binary = (json: unknown, tail: Uint8Array, path = INFER): RawRequest => {
  const text = Buffer.from(JSON.stringify(json));
  const headers = { 'Inference-Header-Content-Length': String(text.byteLength) };
  return { path, headers, body: Buffer.concat([text, tail]) };
};
const get = (path: string, method = 'GET'): RawRequest => ({ method, path });
const generate = (body: unknown, kind = 'generate', model = 'text'): RawRequest => ({
  path: `/v2/models/${model}/${kind}`,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const parameters = (given: object) =>
  infer(
    { inputs: [{ ...GOOD, shape: [2] }], parameters: given, outputs: [{ name: 'OUTPUT0' }] },
    '/v2/models/parameters/infer',
  );
const size = (bytes: unknown) => ({ parameters: { binary_data_size: bytes } });
const shm = (given: object) => ({ parameters: { shared_memory_region: 'x', ...given } });

/** Requests whose answers are the same to the byte, by what they are about. */
const SAME: Readonly<Record<string, readonly RawRequest[]>> = {
  paths: [
    ...['/', '/v2/', '/v2/health/live', '/v2/health/ready', '/v2/health/nope', '/v2/models', '/v2/models/identity'].map(
      (path) => get(path),
    ),
    ...[
      '/identity/versions/9',
      '/identity/versions/x',
      '/identity/versions/99999999999999999999',
      '/nope',
      '/nope/ready',
      '/identity/config',
      '/nope/stats',
      '/stats/ready',
      '/simp%6ce/ready',
      '/nope/trace/setting',
    ].map((path) => get(`/v2/models${path}`)),
    get('/v2/logging'),
    get('/v2/systemsharedmemory/region/nope/status'),
    get('/v2/cudasharedmemory/region/nope/status'),
    get('/v2/health/live?x=1'),
  ],
  methods: ['PUT', 'DELETE', 'OPTIONS', 'HEAD'].flatMap((method) =>
    ['/v2', '/v2/health/live', INFER, '/v2/models/text/generate', '/v2/repository/index', '/v2/logging', '/nope'].map(
      (path) => get(path, method),
    ),
  ),
  control: [
    { path: '/v2/repository/models/nope/load', body: '' },
    { path: '/v2/repository/models/identity/load', body: '{"parameters":{"x":"y"}}' },
    { path: '/v2/repository/models/identity/load', body: '{"parameters":5}' },
    { path: '/v2/repository/x/models/identity/load', body: '{}' },
    { path: '/v2/repository/models/nope/unload', body: '{"parameters":{"unload_dependents":5}}' },
    { path: '/v2/repository/index', body: '{"ready":1}' },
    ...[{}, { key: 5, byte_size: 1 }, { key: '/nope' }, { byte_size: 5 }, { key: '/nope', byte_size: -1 }, 5].map(
      (body) => infer(body, '/v2/systemsharedmemory/region/a/register'),
    ),
    ...[
      {},
      { raw_handle: {} },
      { raw_handle: { b64: 'AAAA' } },
      { raw_handle: { b64: 'AAAA' }, byte_size: 1, device_id: 0 },
    ].map((body) => infer(body, '/v2/cudasharedmemory/region/a/register')),
    infer({}, '/v2/systemsharedmemory/register'),
    infer({}, '/v2/systemsharedmemory/region/nope/unregister'),
  ],
  inputs: [
    ...[
      {},
      { data: null },
      { data: [1] },
      { data: [1, 2, 3] },
      { data: [[1], [2]] },
      { data: ['1', 2] },
      { data: [true, null] },
      { data: [1, 2], shape: [2] },
      { data: [1, 2], shape: [-1, 2] },
      { data: [1, 2], shape: [1.5] },
      { data: [1, 2], shape: [] },
      { data: [1, 2], datatype: 'NOPE' },
      { data: [1, 2], datatype: 'FP16' },
      { data: [1.5, 2], datatype: 'INT32' },
      { data: [], shape: [0, 2] },
      { data: [1, 2], name: 5 },
      { data: [1, 2], name: 'X' },
      { data: [1e39, -0.3] },
      { data: [16777217, 1e-45] },
    ].map(withInput),
    ...[
      size(8),
      size('8'),
      size(-8),
      size(0),
      { data: [1, 2], ...size(8) },
      shm({}),
      shm({ shared_memory_byte_size: 'x' }),
      { data: [1], ...shm({}) },
      { parameters: 5 },
    ].map(withInput),
    infer({ inputs: [GOOD, GOOD] }),
    infer({ inputs: [GOOD, { ...GOOD, name: 'B' }] }),
    infer({ inputs: [] }),
    infer({ inputs: 5, parameters: 5, id: 5 }),
    infer({ inputs: 5, parameters: 5 }),
    infer([]),
    infer({ id: 'é"\\', inputs: [GOOD] }),
    { path: INFER, body: '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,2],"data":[NaN,-Inf]}]}' },
    { path: INFER, body: '{"inputs":' },
  ],
  outputs: [
    ...[
      {},
      { binary_data: true },
      { binary_data: 1 },
      { classification: 2 },
      { classification: 2, binary_data: true },
      { classification: -1 },
      { classification: 0 },
      { classification: 2 ** 32 },
      { classification: 2 ** 32 + 1 },
      { shared_memory_region: 'x' },
      { shared_memory_region: 'x', binary_data: true },
      { shared_memory_region: 'x', classification: 1 },
      { shared_memory_region: 5 },
      { shared_memory_offset: 5 },
      5,
    ].map(withOutput),
    infer({ inputs: [GOOD], outputs: [{ name: 'NOPE' }] }),
    infer({ inputs: [GOOD], outputs: [{}] }),
    infer({ inputs: [GOOD], outputs: 5 }),
    infer({ inputs: [GOOD], parameters: { binary_data_output: true } }),
    infer({ inputs: [GOOD], parameters: { binary_data_output: true }, outputs: [{ name: 'OUTPUT0' }] }),
  ],
  binary: [
    binary({ inputs: [input(size(8))] }, floats(1, 2)),
    binary({ inputs: [input(size(8))], parameters: { binary_data_output: true } }, floats(1, 2)),
    binary({ inputs: [input(size(8))] }, floats(1)),
    binary({ inputs: [input(size(8))] }, floats(1, 2, 3)),
    binary({ inputs: [input(size(2 ** 40))] }, floats(1, 2)),
    ...['0', '3', '-1', '99999', 'abc', ''].map(
      (length): RawRequest => ({
        path: INFER,
        headers: { 'Inference-Header-Content-Length': length },
        body: floats(1, 2),
      }),
    ),
    { path: '/v2/models/echo_bytes/infer', headers: { 'Inference-Header-Content-Length': '0' }, body: 'hello' },
    binary(
      { inputs: [{ ...input({ shape: [1], datatype: 'BYTES' }), ...size(6) }] },
      Buffer.from('\x02\0\0\0\xff"', 'latin1'),
      '/v2/models/echo_bytes/infer',
    ),
  ],
  parameters: [
    { l: [1] },
    { triton_x: 1 },
    { sequence_id: -1 },
    { sequence_start: 1 },
    { priority: '1' },
    { timeout: 1.5 },
    { sequence_id: 'x'.repeat(129) },
    { binary_data_output: 5 },
  ].map(parameters),
  compression: [
    ...['gzip', 'deflate', 'br', 'GZIP', ''].map(
      (encoding): RawRequest => ({
        path: INFER,
        headers: { 'Content-Encoding': encoding },
        body: gzipSync(JSON.stringify({ inputs: [GOOD] })),
      }),
    ),
    { path: INFER, headers: { 'Content-Encoding': 'gzip' }, body: '' },
    { ...infer({ inputs: [] }), headers: { 'Accept-Encoding': 'gzip' } },
  ],
  models: [
    infer({ inputs: [GOOD] }, '/v2/models/nope/infer'),
    infer({ inputs: [GOOD] }, '/v2/models/identity/versions/2/infer'),
    infer({}, '/v2/models/repeat/infer'),
    infer({ inputs: [{ ...GOOD, datatype: 'INT32', shape: [1], data: [1] }] }, '/v2/models/sequence/infer'),
  ],
  generate: [
    ...[
      { text_input: 'hi' },
      { text_input: 'hi', id: 'x"y' },
      { text_input: 'hi', n: 0 },
      { text_input: 'hi', n: 2 },
      { text_input: ['a', 'b'] },
      { text_input: 5 },
      { text_input: 'hi', l: [1] },
      { text_input: 'hi', parameters: 5 },
      { text_input: 'hi', parameters: { text_input: 'a' } },
      {},
      [],
      '{',
    ].flatMap((body) => [generate(body), generate(body, 'generate_stream')]),
    generate({ INPUT0: [1, 0.3] }, 'generate', 'identity'),
    generate({ INPUT0: 5 }, 'generate', 'identity'),
    generate({ INPUT0: [5] }, 'generate', 'sequence'),
    generate({ INPUT0: 'a' }, 'generate', 'nope'),
    { ...generate({ text_input: 'hi' }), headers: { 'Content-Encoding': 'gzip' } },
  ],
};

/** What a compressed body says is compared, not how well it was compressed. */
const shown = ({ status, headers, body }: RawAnswer) => ({ status, headers, body: body.toString('latin1') });

describeTier('triton', 'HTTP, byte for byte as a real 2.51', () => {
  let repository: TwinRepository;
  let server: DevServer;

  beforeAll(async () => {
    repository = new TwinRepository(MODELS);
    server = await DevServer.start({ modelRepository: repository.path, modelControl: 'explicit', loadModels: MODELS });
  });

  afterAll(async () => {
    await server.stop();
    repository.remove();
  });

  test.each(Object.entries(SAME))('%s', async (_, requests) => {
    for (const request of requests) {
      const [real, own] = [await rawHttp(sharedTriton().httpUrl, request), await rawHttp(server.httpUrl, request)];
      const { method, path, body = '' } = request;
      const about = { method, path, sent: Buffer.from(body).toString('latin1').slice(0, 200) };
      expect({ about, ...shown(own) }).toEqual({ about, ...shown(real) });
    }
  });
});
