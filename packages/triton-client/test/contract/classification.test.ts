import { beforeEach, describe, expect, test } from 'vitest';
import { type InferRequest, type TritonClient, tensor } from '../../src/index.js';
import type { FaultServer } from '../support/fault-server.js';
import { connect, start } from '../support/for-one-test.js';

const REQUEST: InferRequest = {
  inputs: { a: tensor('UINT8', [1], [7]) },
  outputs: { text: { classification: 1 }, score: {} },
};
const UNSAFE = expect.objectContaining({
  code: 'TRITON_UNSAFE_REQUEST',
  message: expect.stringContaining("Output 'text' of model 'm' is BYTES"),
});

/** A model may change its outputs at any time: how often the client looks is what only a double can tell. */
describe('a classification is sent only when the metadata say that the output is no BYTES', () => {
  let server: FaultServer;
  let client: TritonClient;

  beforeEach(async () => {
    server = await start();
    server.autoAnswer = true;
    server.outputs = { text: 'FP32', score: 'FP32' };
    client = connect(server.url);
    await client.isLive();
  });

  test('one look for each model, version and connection', async () => {
    for (let round = 0; round < 3; round += 1) await client.infer('m', REQUEST);
    expect(server.metadataCalls).toEqual(['m/']);
    await client.infer('m', { ...REQUEST, version: '2' });
    await client.infer('other', REQUEST);
    expect(server.metadataCalls).toEqual(['m/', 'm/2', 'other/']);
    const prepared = client.prepare('m', REQUEST);
    await Promise.all([prepared.infer(), prepared.infer()]);
    expect(server.metadataCalls).toHaveLength(3);
    expect(server.seen).toHaveLength(7);
  });

  test('a request without one costs no look', async () => {
    await client.infer('m', { inputs: REQUEST.inputs });
    expect(server.metadataCalls).toEqual([]);
  });

  test('refused, it was not sent, whichever way it was to go', async () => {
    server.outputs = { text: 'BYTES' };
    const call = client.infer('m', REQUEST, { timeoutMs: 5000 });
    await expect(call).rejects.toEqual(UNSAFE);
    expect(await call.settled).toBe('not-sent');
    await expect(client.prepare('m', REQUEST).infer()).rejects.toEqual(UNSAFE);
    await expect(client.infer('m', REQUEST, { headers: { a: 'b' } })).rejects.toEqual(UNSAFE);
    const stream = client.stream('m', [REQUEST]);
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toEqual(UNSAFE);
    expect(server.seen).toEqual([]);
  });

  test('after a load or an unload by this client it looks again', async () => {
    await client.infer('m', REQUEST);
    server.outputs = { text: 'BYTES' };
    await expect(client.loadModel('m')).rejects.toMatchObject({ code: 'TRITON_UNIMPLEMENTED' });
    await expect(client.infer('m', REQUEST)).rejects.toEqual(UNSAFE);
  });

  test('after a new connection it looks again', async () => {
    await client.infer('m', REQUEST);
    const { port } = server;
    server.kill();
    server = await start(port);
    server.outputs = { text: 'BYTES' };
    await expect.poll(() => client.isLive()).toBe(true);
    await expect(client.infer('m', REQUEST)).rejects.toEqual(UNSAFE);
    expect(server.seen).toEqual([]);
  });

  test('the arrays may be changed at once', async () => {
    const bytes = Uint8Array.of(7);
    const call = client.infer('m', { ...REQUEST, inputs: { a: tensor('UINT8', [1], bytes) } });
    bytes[0] = 9;
    await call;
    expect(server.seen[0]?.request.rawInputContents.map((content) => [...content])).toEqual([[7]]);
  });

  test('time limit and signal hold for the look, too', async () => {
    server.silent = true;
    const late = client.infer('m', REQUEST, { timeoutMs: 400 });
    await expect(late).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect(await late.settled).toBe('not-sent');
    const controller = new AbortController();
    const call = client.infer('m', REQUEST, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    expect(await call.settled).toBe('not-sent');
    server.silent = false;
    await client.infer('m', REQUEST);
    expect(server.seen).toHaveLength(1);
  });

  test('wrong options throw', () => {
    expect(() => client.infer('m', REQUEST, { timeoutMs: -1 })).toThrow(RangeError);
    expect(() => client.infer('m', REQUEST, { headers: { 'a b': '' } })).toThrow(TypeError);
  });
});
