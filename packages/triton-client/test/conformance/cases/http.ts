import { expect } from 'vitest';
import { tensor } from '../../../src/index.js';
import { accepted, type ConformanceCase, refused } from '../case.js';
import type { Context } from '../context.js';
import { addSub } from './requests.js';

const GRPC = { transports: ['grpc'] } as const;
const HTTP = { transports: ['http'] } as const;

/** A client that has HTTP: the case's own, or one of gRPC with an address for HTTP beside it. */
const withHttp = (context: Context) =>
  context.overHttp ? context.client : context.open({ httpUrl: context.servers.httpUrl });

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
}

/** What only HTTP has; a client of gRPC reaches it by the option `httpUrl`. */
export const httpCases: readonly ConformanceCase[] = [
  accepted('generate', 'one answer, in JSON', async (context) => {
    const answer = await withHttp(context).generate('text', { text_input: 'ü', parameters: { n: 1 } });
    expect(answer).toMatchObject({ model_name: 'text', text_output: 'ü', number: 2n ** 62n, score: Number.NaN });
  }),
  refused('generate', 'another number of answers, an unknown model', async (context) => {
    const client = withHttp(context);
    for (const n of [0, 2]) {
      await context.refusal(client.generate('text', { text_input: 'a', parameters: { n } }), {
        code: 'TRITON_UNIMPLEMENTED',
        details: 'generate expects model to produce exactly 1 response',
      });
    }
    await context.refusal(client.generate('no-such-model', { text_input: 'a' }), { code: 'TRITON_NOT_FOUND' });
  }),
  refused(
    'generate',
    'without an address for HTTP',
    async (context) => {
      await context.refusal(context.client.generate('text', { text_input: 'a' }), { code: 'TRITON_UNIMPLEMENTED' });
    },
    GRPC,
  ),
  accepted('generate-stream', 'any number of answers, as they come', async (context) => {
    const client = withHttp(context);
    for (const n of [3, 0]) {
      const answers = await collect(client.generateStream('text', { text_input: 'a', parameters: { n } }));
      expect(answers.map(({ number }) => number)).toEqual(
        Array.from({ length: n }, (_, index) => 2n ** 62n + BigInt(index)),
      );
    }
  }),
  refused('generate-stream', 'an unknown model', async (context) => {
    const call = collect(withHttp(context).generateStream('no-such-model', { text_input: 'a' }));
    await context.refusal(call, { code: 'TRITON_NOT_FOUND' });
  }),
  refused(
    'generate-stream',
    'without an address for HTTP',
    async (context) => {
      const call = collect(context.client.generateStream('text', { text_input: 'a' }));
      await context.refusal(call, { code: 'TRITON_UNIMPLEMENTED' });
    },
    GRPC,
  ),
  accepted('load-metrics-header', 'a header of generate: no harm where there is nothing to tell', async (context) => {
    const options = { headers: { 'endpoint-load-metrics-format': 'json' } };
    const answer = await withHttp(context).generate('text', { text_input: 'a' }, options);
    expect(answer.text_output).toBe('a');
  }),
  refused('load-metrics-header', 'a value that is no header: by the client', (context) =>
    context.refusedByClient(
      () =>
        withHttp(context).generate('text', { text_input: 'a' }, { headers: { 'endpoint-load-metrics-format': '\n' } }),
      TypeError,
      'endpoint-load-metrics-format',
    ),
  ),
  accepted('metrics', 'samples with labels', async ({ client }) => {
    const { samples, text } = await client.metrics();
    expect(text).toContain('# HELP nv_inference_request_success');
    expect(samples).toContainEqual({
      name: 'nv_inference_request_success',
      type: 'counter',
      labels: { model: 'add_sub', version: '1' },
      value: expect.any(Number),
    });
  }),
  refused('metrics', 'nobody answers there', async (context) => {
    const call = context.open({ metricsUrl: 'http://127.0.0.1:1/metrics' }).metrics();
    await context.refusal(call, { code: 'TRITON_UNAVAILABLE' });
  }),
  accepted('raw-binary-request', 'a tensor is the body', async (context) => {
    const values = Float32Array.of(1, 2.5, -3);
    const result = await withHttp(context).inferRaw('parameters', new Uint8Array(values.buffer));
    expect(result.output('OUTPUT0').data).toEqual(values);
  }),
  refused('raw-binary-request', 'two inputs, a part of an element', async (context) => {
    const client = withHttp(context);
    await context.refusal(client.inferRaw('add_sub', new Uint8Array(64)), {
      code: 'TRITON_INVALID_ARGUMENT',
      details: 'Raw request must only have 1 input',
    });
    await context.refusal(client.inferRaw('parameters', new Uint8Array(5)), {
      code: 'TRITON_INVALID_ARGUMENT',
      details: 'input byte size mismatch for input',
    });
  }),
  refused(
    'raw-binary-request',
    'without an address for HTTP',
    async (context) => {
      const call = context.client.inferRaw('parameters', new Uint8Array(4));
      await context.refusal(call, { code: 'TRITON_UNIMPLEMENTED' });
    },
    GRPC,
  ),
  accepted(
    'binary-data',
    'NaN, infinities and all bytes come back as they were',
    async ({ client }) => {
      const values = Float32Array.of(Number.NaN, Number.POSITIVE_INFINITY, -0, 1e-45);
      const numbers = await client.infer('identity', { inputs: { INPUT0: tensor('FP32', [2, 2], values) } });
      expect(numbers.output('OUTPUT0').data).toEqual(values);
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      const request = { inputs: { INPUT0: tensor('BYTES', [1], [bytes]) }, outputs: { OUTPUT0: {} } };
      expect(Array.from((await client.infer('echo_bytes', request)).output('OUTPUT0').bytes.subarray(4))).toEqual(
        Array.from(bytes),
      );
    },
    HTTP,
  ),
  refused(
    'binary-data',
    'data that is not the shape’s size: by the client',
    (context) =>
      context.refusedByClient(
        () => {
          const input = { datatype: 'INT32', shape: [1, 16], data: new Uint8Array(60) } as const;
          return context.client.infer('add_sub', { inputs: { ...addSub().inputs, INPUT0: input } });
        },
        RangeError,
        "64 bytes (INT32 [1, 16]) for the size of input 'INPUT0'",
      ),
    HTTP,
  ),
  accepted(
    'http-compression',
    'gzip, deflate, both ways',
    async ({ client }) => {
      for (const compression of ['gzip', 'deflate'] as const) {
        const result = await client.infer('add_sub', addSub(4), { compression });
        expect(result.output('OUTPUT0').data[63]).toBe(16);
      }
    },
    HTTP,
  ),
  accepted(
    'http-limits',
    'a header of many outputs and parameters, a body of 8 MiB',
    async (context) => {
      const parameters = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`p${index}`, index]));
      const request = { inputs: { INPUT0: tensor('INT32', [1], Int32Array.of(1)) }, parameters };
      expect((await context.client.infer('request_info', request)).outputs).toHaveLength(1);
    },
    HTTP,
  ),
  refused(
    'http-limits',
    'headers that are too long for the server',
    async (context) => {
      const headers = { 'x-long': 'x'.repeat(70_000) };
      const call = context.client.infer('add_sub', addSub(), { headers });
      await context.refusal(call, { code: 'TRITON_CONNECTION_LOST' });
    },
    HTTP,
  ),
];
