import { expect } from 'vitest';
import { type InferRequest, type InferStream, tensor } from '../../../src/index.js';
import { accepted, type ConformanceCase, refused } from '../case.js';
import { one } from './requests.js';

const GRPC = { transports: ['grpc'] } as const;
const HTTP = { transports: ['http'] } as const;

const repeat = (value: number, parameters: InferRequest['parameters'] = {}): InferRequest => ({
  inputs: { INPUT0: tensor('INT32', [1], Int32Array.of(value)) },
  parameters,
});

const step = (value: number, sequence: InferRequest['sequence']): InferRequest => ({
  inputs: { INPUT0: tensor('INT32', [1], Int32Array.of(value)) },
  ...(sequence === undefined ? {} : { sequence }),
});

/** Of each answer: which request, its numbers, whether it is the last. */
async function answers(stream: InferStream): Promise<[number, number[], boolean][]> {
  const seen: [number, number[], boolean][] = [];
  for await (const { requestIndex, outputs, final } of stream) {
    seen.push([requestIndex, Array.from(outputs[0]?.data ?? [], Number), final]);
  }
  return seen;
}

/** Streams, decoupled models, sequences. */
export const streamCases: readonly ConformanceCase[] = [
  accepted(
    'model-stream-infer',
    'a decoupled model answers each request any number of times',
    async ({ client }) => {
      const stream = client.stream('repeat', [repeat(7, { answers: 2, own_final: true }), repeat(8, { answers: 0 })]);
      const seen = await answers(stream);
      expect(seen.filter(([index]) => index === 0)).toEqual([
        [0, [0, 7], false],
        [0, [1, 7], true],
      ]);
      expect(seen.filter(([index]) => index === 1)).toEqual([[1, [], true]]);
      expect(await stream.settled).toBe('answered');
    },
    GRPC,
  ),
  refused(
    'model-stream-infer',
    'one request of several: its error is told, the others are answered',
    async (context) => {
      const wrong = { inputs: { WRONG: tensor('INT32', [1], Int32Array.of(1)) } };
      const stream = context.client.stream('repeat', [repeat(1), wrong, repeat(2)], { onError: 'yield' });
      const ended: string[] = [];
      for await (const { requestIndex, final, error } of stream) {
        if (error !== undefined) context.note(error);
        if (final) ended[requestIndex] = error?.code ?? 'answered';
      }
      expect(ended).toEqual(['answered', 'TRITON_INVALID_ARGUMENT', 'answered']);
    },
    GRPC,
  ),
  refused(
    'model-stream-infer',
    'an unknown model',
    async (context) => {
      const stream = context.client.stream('no-such-model', [repeat(1)]);
      await context.refusal(answers(stream), { code: 'TRITON_NOT_FOUND', details: 'Request for unknown model' });
    },
    GRPC,
  ),
  refused(
    'model-stream-infer',
    'HTTP has none',
    async (context) => {
      const call = async () => answers(context.client.stream('repeat', [repeat(1)]));
      await context.refusal(call(), { code: 'TRITON_UNIMPLEMENTED' });
    },
    HTTP,
  ),
  accepted(
    'empty-final-response',
    'an answer without outputs is the last, also the only one',
    async ({ client }) => {
      expect(await answers(client.stream('repeat', [repeat(5, { answers: 1 })]))).toEqual([
        [0, [0, 5], false],
        [0, [], true],
      ]);
      expect(await answers(client.stream('repeat', [repeat(5, { answers: 0 })]))).toEqual([[0, [], true]]);
    },
    GRPC,
  ),
  refused('empty-final-response', 'set by hand, as every name that begins with triton_', (context) =>
    context.refusedByClient(
      () => context.client.infer('repeat', repeat(1, { triton_enable_empty_final_response: true })),
      RangeError,
      'triton_enable_empty_final_response',
    ),
  ),
  accepted(
    'stream-timeout',
    'in time',
    async ({ client }) => {
      const stream = client.stream('repeat', [repeat(5, { answers: 3 })], { timeoutMs: 60_000 });
      expect(await answers(stream)).toHaveLength(4);
    },
    GRPC,
  ),
  refused(
    'stream-timeout',
    'late: TRITON_TIMEOUT',
    async (context) => {
      const held = await context.hold(one());
      const stream = context.client.stream('hold', [one()], { timeoutMs: 50 });
      await context.refusal(answers(stream), { code: 'TRITON_TIMEOUT' });
      await held.release();
    },
    GRPC,
  ),
  accepted('sequence-flags', 'a sequence adds up, from its start to its end', async ({ client, overHttp }) => {
    const id = overHttp ? 501 : 502;
    const requests = [step(1, { id, start: true }), step(2, { id }), step(4, { id, end: true })];
    const sums: number[] = [];
    for (const request of requests) {
      sums.push(Number((await client.infer('sequence', request)).output('OUTPUT0').data[1]));
    }
    expect(sums).toEqual([1, 3, 7]);
  }),
  accepted(
    'sequence-flags',
    'a sequence on one stream',
    async ({ client }) => {
      const id = 'conformance';
      const requests = [step(1, { id, start: true }), step(2, { id }), step(4, { id, end: true })];
      expect((await answers(client.stream('sequence', requests))).map(([, values]) => values)).toEqual([
        [1, 1],
        [2, 3],
        [3, 7],
      ]);
    },
    GRPC,
  ),
  refused('sequence-flags', 'a sequence that was never begun', async (context) => {
    await context.refusedRequest('sequence', step(1, { id: 4711 }), {
      code: 'TRITON_INVALID_ARGUMENT',
      details: 'must specify the START flag on the first request of the sequence',
    });
  }),
  refused('sequence-id', 'none, or one that means none or wraps around', async (context) => {
    await context.refusedRequest('sequence', step(1, undefined), {
      code: 'TRITON_INVALID_ARGUMENT',
      details: 'must specify a non-zero or non-empty correlation ID',
    });
    for (const id of [0, '', -1, 2n ** 63n, 'x'.repeat(129)]) {
      await context.refusedByClient(
        () => context.client.infer('sequence', step(1, { id })),
        id === '' ? TypeError : RangeError,
        'sequence.id',
      );
    }
  }),
];
