import { expect } from 'vitest';
import { type InferRequest, type InferResult, tensor } from '../../../src/index.js';
import { accepted, type ConformanceCase, refused } from '../case.js';
import { addSub, one, type Told } from './requests.js';

const told = (result: InferResult): Told => JSON.parse(result.output('OUTPUT0').strings()[0] as string) as Told;

const info = (fields: Omit<InferRequest, 'inputs'> = {}): InferRequest => ({
  inputs: { INPUT0: tensor('INT32', [1], Int32Array.of(1)) },
  ...fields,
});

/** Of the model `hold`. */
const answeredSoFar = (result: InferResult): number => Number(result.output('OUTPUT0').data[0]);
const cancelledSoFar = (result: InferResult): number => Number(result.output('OUTPUT0').data[1]);

/** What a request says beside its tensors. */
export const optionCases: readonly ConformanceCase[] = [
  accepted('request-id', 'echoed, told to the model', async (context) => {
    await context.answeredRequest('request_info', info({ id: 'an id, ü' }), (result) => {
      expect(result.id).toBe('an id, ü');
      expect(told(result).id).toBe('an id, ü');
    });
  }),
  refused('request-id', 'an error tells it', async (context) => {
    await context.refusedRequest(
      'add_sub',
      { ...addSub(9), id: 'mine' },
      {
        code: 'TRITON_INVALID_ARGUMENT',
        requestId: 'mine',
        details: /^\[request id: mine\] inference request batch-size must be <= 8/,
      },
    );
  }),
  accepted('model-version', 'named, chosen by the server', async (context) => {
    for (const version of ['1', '']) {
      await context.answeredRequest('add_sub', { ...addSub(), version }, (result) => expect(result.version).toBe('1'));
    }
  }),
  refused('model-version', 'unknown', async (context) => {
    await context.refusedRequest(
      'add_sub',
      { ...addSub(), version: '9' },
      {
        code: 'TRITON_NOT_FOUND',
        details: "Request for unknown model: 'add_sub' version 9",
      },
    );
  }),
  refused('model-version', 'one that is being unloaded', async (context) => {
    const { client } = context;
    const held = await context.hold(one());
    await client.unloadModel('hold');
    const details = /^Request for unknown model: 'hold' version 1 is not at ready state$/;
    await context.refusedRequest('hold', { ...one(), version: '1' }, { code: 'TRITON_UNAVAILABLE', details });
    await context.refusal(client.modelMetadata('hold', '1'), { code: 'TRITON_UNAVAILABLE', details });
    // Without a version there is none to choose.
    await context.refusedRequest('hold', one(), { code: 'TRITON_NOT_FOUND', details: 'has no available versions' });
    await held.release();
    await client.loadModel('hold');
  }),
  refused('model-version', 'no number', async (context) => {
    await context.refusedRequest('add_sub', { ...addSub(), version: 'x' }, { code: 'TRITON_INVALID_ARGUMENT' });
  }),
  accepted('sequence-id', 'a number, one past 2^53, a text', async (context) => {
    for (const id of [7, 2n ** 62n + 1n]) {
      const request = info({ sequence: { id } });
      const seen = (await context.client.infer('request_info', request)).output('OUTPUT0').strings()[0] as string;
      expect(/"sequence": (\d+)/.exec(seen)?.[1]).toBe(String(id));
    }
    const text = info({ sequence: { id: 'a-text' } });
    await context.answeredRequest('request_info', text, (result) => expect(told(result).sequence).toBe('a-text'));
  }),
  accepted('sequence-flags', 'told to the model', async (context) => {
    for (const flags of [{ start: true }, {}, { end: true }, { start: true, end: true }]) {
      const request = info({ sequence: { id: 3, ...flags } });
      await context.answeredRequest('request_info', request, (result) =>
        expect(told(result)).toMatchObject({ start: flags.start ?? false, end: flags.end ?? false }),
      );
    }
  }),
  accepted('priority', 'the highest first', async (context) => {
    const held = await context.hold(one());
    const low = Array.from({ length: 3 }, () => context.client.infer('hold', { ...one(), priority: 3 }));
    // What the batcher already handed on cannot be overtaken: the last of the three must be.
    const high = context.client.infer('hold', { ...one(), priority: 1 });
    await context.queued(4);
    await held.release();
    const first = answeredSoFar(await high);
    expect(Math.max(...(await Promise.all(low)).map(answeredSoFar))).toBeGreaterThan(first);
  }),
  refused('priority', 'below 0: by the client', (context) =>
    context.refusedByClient(() => context.client.infer('hold', { ...one(), priority: -1 }), RangeError, 'priority'),
  ),
  accepted('queue-timeout', 'told to the model', async (context) => {
    await context.answeredRequest('request_info', info({ queueTimeoutUs: 5_000_000 }), (result) =>
      expect(told(result).timeout).toBe(5_000_000),
    );
  }),
  refused('queue-timeout', 'expired in the queue; a queue that is full', async (context) => {
    const held = await context.hold(one());
    // The first may be handed on at once.
    const late = Array.from({ length: 3 }, () => context.client.infer('hold', { ...one(), queueTimeoutUs: 1000 }));
    const handedOn = late.shift()?.catch(() => undefined);
    const expired = { code: 'TRITON_UNAVAILABLE', details: 'Request timeout expired' } as const;
    // At once: the later may be refused before the earlier.
    await Promise.all(late.map((call) => context.refusal(call, expired)));
    const many = Array.from({ length: 8 }, () => context.client.infer('hold', one()));
    const ended = Promise.allSettled([...many, handedOn]);
    await context.refusal(Promise.all(many), { code: 'TRITON_UNAVAILABLE', details: 'Exceeds maximum queue size' });
    await held.release();
    await ended;
  }),
  accepted('client-deadline', 'in time', async ({ client }) => {
    await client.infer('add_sub', addSub(), { timeoutMs: 60_000 });
  }),
  refused('client-deadline', 'late: TRITON_TIMEOUT, and the request goes on', async (context) => {
    const held = await context.hold(one());
    const call = context.client.infer('hold', one(), { timeoutMs: 50, onAbort: 'detach' });
    await context.refusal(call, { code: 'TRITON_TIMEOUT' });
    await held.release();
    expect(await call.settled).toBe('answered');
  }),
  accepted('custom-parameters', 'text, boolean, integer, number', async (context) => {
    const parameters = { text: 'ü', yes: true, no: false, whole: -5, big: 2n ** 53n - 1n, part: 0.5, empty: '' };
    await context.answeredRequest('request_info', info({ parameters }), (result) =>
      expect(told(result).parameters).toMatchObject({ ...parameters, big: Number(parameters.big) }),
    );
  }),
  refused('custom-parameters', 'reserved names and other types: by the client', async (context) => {
    for (const [parameters, kind] of [
      [{ triton_x: 1 }, RangeError],
      [{ priority: 1 }, TypeError],
      [{ list: [1] }, TypeError],
      [{ nothing: null }, TypeError],
      [{ far: 2n ** 64n }, RangeError],
    ] as const) {
      const use = () => context.client.infer('request_info', info({ parameters: parameters as never }));
      await context.refusedByClient(use, kind, 'parameter');
    }
  }),
  accepted('call-headers', 'forwarded to the model', async (context) => {
    const options = { headers: { 'x-forward-this': 'value', 'x-other': 'value' } };
    const { parameters } = told(await context.client.infer('request_info', info(), options));
    expect(parameters).toMatchObject({ 'x-forward-this': 'value' });
    expect(parameters).not.toHaveProperty('x-other');
  }),
  refused('call-headers', 'what is no header: by the client', (context) =>
    context.refusedByClient(
      () => context.client.infer('request_info', info(), { headers: { 'x-forward': 'two\r\nlines' } }),
      TypeError,
      'headers.x-forward',
    ),
  ),
  accepted('restricted-header', 'of one call', async (context) => {
    const client = context.openLocked();
    expect(await client.systemSharedMemory.status(undefined, { headers: context.adminHeaders })).toEqual([]);
  }),
  refused('restricted-header', 'not kept for the next call', async (context) => {
    const client = context.openLocked();
    await client.modelStatistics('identity', '', { headers: context.adminHeaders });
    await context.refusal(client.modelStatistics('identity'), { code: 'TRITON_UNAVAILABLE', details: 'restricted' });
  }),
  accepted('traceparent', 'a header like another', async (context) => {
    const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    expect((await context.client.infer('add_sub', addSub(), { headers })).outputs).toHaveLength(2);
  }),
  refused('traceparent', 'what is no header: by the client', (context) =>
    context.refusedByClient(
      () => context.client.infer('add_sub', addSub(), { headers: { traceparent: '00-\u0000' } }),
      TypeError,
      'headers.traceparent',
    ),
  ),
  accepted('classification', 'the top n, with labels; more than there are', async (context) => {
    const outputs = { OUTPUT0: { classification: 2 }, OUTPUT1: {} };
    await context.answeredRequest('add_sub', { ...addSub(2), outputs }, (result) => {
      const output = result.output('OUTPUT0');
      expect([output.datatype, output.shape]).toEqual(['BYTES', [2, 2]]);
      expect(output.strings()).toEqual(['16:15:label_15', '15:14:label_14', '16:15:label_15', '15:14:label_14']);
      expect(result.output('OUTPUT1').datatype).toBe('INT32');
    });
    const all = { ...addSub(), outputs: { OUTPUT1: { classification: 99 } } };
    await context.answeredRequest('add_sub', all, (result) => {
      expect(result.output('OUTPUT1').shape).toEqual([1, 16]);
      expect(result.output('OUTPUT1').strings()[0]).toBe('14:15');
    });
  }),
  refused('classification', 'less than 1, together with a region: by the client', async (context) => {
    for (const classification of [0, -1, 1.5]) {
      const use = () => context.client.infer('add_sub', { ...addSub(), outputs: { OUTPUT0: { classification } } });
      await context.refusedByClient(use, RangeError, 'classification');
    }
    const both = { OUTPUT0: { region: 'r', byteOffset: 0, byteLength: 64, classification: 1 } };
    const use = () => context.client.infer('add_sub', { ...addSub(), outputs: both });
    await context.refusedByClient(use, TypeError, 'a region or a classification');
  }),
  refused('classification', 'of BYTES: by the client, since servers die of it', async ({ client }) => {
    const request = { inputs: { INPUT0: tensor('BYTES', [1], ['x']) }, outputs: { OUTPUT0: { classification: 1 } } };
    const code = 'TRITON_UNSAFE_REQUEST';
    await expect(client.infer('echo_bytes', request)).rejects.toMatchObject({ code });
    await expect(client.prepare('echo_bytes', request).infer()).rejects.toMatchObject({ code });
    expect(await client.isLive()).toBe(true);
  }),
  accepted('message-size', '8 MiB there and back', async (context) => {
    const values = new Float32Array(2048 * 1024).fill(0.5);
    values[values.length - 1] = 7;
    const request = { inputs: { INPUT0: tensor('FP32', [2048, 1024], values) } };
    await context.answeredRequest('identity', request, (result) => {
      const { bytes, data } = result.output('OUTPUT0');
      expect([bytes.byteLength, data.at(-1)]).toEqual([8 * 2 ** 20, 7]);
    });
  }),
  accepted('cancellation', 'of a request that waits, of one that runs', async (context) => {
    const before = cancelledSoFar(await context.client.infer('hold', one()));
    const waiting = new AbortController();
    const held = await context.hold(one());
    const call = context.client.infer('hold', one(), { signal: waiting.signal, onAbort: 'cancel' });
    waiting.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await held.release();

    const running = new AbortController();
    const cancelled = await context.hold(one(), { signal: running.signal, onAbort: 'cancel' });
    running.abort(new Error('enough'));
    await expect(cancelled.call).rejects.toThrow('enough');
    expect(await cancelled.call.settled).toBe('lost');
    // Closing an HTTP connection tells the server nothing.
    if (context.overHttp) await cancelled.release().catch(() => undefined);
    const after = cancelledSoFar(await context.client.infer('hold', one()));
    expect(after - before).toBe(context.overHttp ? 0 : 1);
  }),
  refused('cancellation', 'before it was sent', async ({ client }) => {
    const call = client.infer('hold', one(), { signal: AbortSignal.abort(new Error('never')) });
    await expect(call).rejects.toThrow('never');
    expect(await call.settled).toBe('not-sent');
  }),
];
