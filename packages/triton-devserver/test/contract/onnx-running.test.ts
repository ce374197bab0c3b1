import { describeTier } from '@zerohop/test-support';
import { tensor } from '@zerohop/triton-client';
import { expect, test } from 'vitest';
import { identityFile, onnxFile } from '../support/onnx-file.js';
import { BUSY, folderOf, HEAVY, LITTLE, rows, serve, stateOf, threads, untilOneWaits } from '../support/onnx-models.js';

/** Some billions of multiplications: seconds, where anything else takes milliseconds. */
const MUCH = { N: tensor('INT64', [2], BigInt64Array.of(1024n, 1024n)) };

/** Sends these one after the other without waiting. @returns their names, in the order in which they were answered */
async function order(requests: Readonly<Record<string, () => Promise<unknown>>>): Promise<string[]> {
  const answered: string[] = [];
  const each = async ([name, send]: readonly [string, () => Promise<unknown>]) => {
    await send();
    answered.push(name);
  };
  await Promise.all(Object.entries(requests).map(each));
  return answered;
}

describeTier('contract', 'ONNX models at work', () => {
  test('execute what the dynamic batcher put together as one', async () => {
    // Each row less the mean of all rows: it tells who is in the batch.
    const file = onnxFile({
      inputs: [
        { name: 'X', type: 'FP32', dims: ['n', 2] },
        { name: 'T', type: 'BYTES', dims: ['n', 1] },
      ],
      outputs: [
        { name: 'Y', type: 'FP32', dims: ['n', 2] },
        { name: 'U', type: 'BYTES', dims: ['n', 1] },
      ],
      nodes: [
        { op: 'ReduceMean', in: ['X'], out: ['M'], attributes: { axes: [0], keepdims: 1 } },
        { op: 'Sub', in: ['X', 'M'], out: ['Y'] },
        { op: 'Identity', in: ['T'], out: ['U'] },
      ],
    });
    const config = 'max_batch_size: 3 dynamic_batching { max_queue_delay_microseconds: 50000000 }';
    const { client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': file, 'm/config.pbtxt': config }) });
    const infer = (values: number[], texts: string[], outputs?: readonly string[]) => {
      const inputs = {
        X: tensor('FP32', [texts.length, 2], Float32Array.from(values)),
        T: tensor(
          'BYTES',
          [texts.length, 1],
          texts.map((text) => Buffer.from(text)),
        ),
      };
      return client.infer('m', {
        inputs,
        ...(outputs && { outputs: Object.fromEntries(outputs.map((name) => [name, {}])) }),
      });
    };
    const [first, second] = await Promise.all([infer([1, 2, 4, 5], ['a', 'bc']), infer([10, 20], ['d'], ['Y'])]);
    expect(rows(first, 'Y')).toEqual({ shape: [2, 2], data: [-4, -7, -1, -4] });
    expect(rows(first, 'U')).toEqual({ shape: [2, 1], data: ['a', 'bc'] });
    expect(rows(second, 'Y')).toEqual({ shape: [1, 2], data: [5, 11] });
    expect(second.outputs).toHaveLength(1);
    const [statistics] = await client.modelStatistics('m');
    expect(statistics).toMatchObject({ inferenceCount: 3, executionCount: 1 });
  });

  test('whose outputs have fewer rows than a batch answer those that they have rows for', async () => {
    const file = onnxFile({
      inputs: [{ name: 'X', type: 'FP32', dims: ['n', 1] }],
      outputs: [{ name: 'Y', type: 'FP32', dims: ['k', 1] }],
      nodes: [{ op: 'Unique', in: ['X'], out: ['Y'], attributes: { axis: 0 } }],
    });
    const config = 'max_batch_size: 2 dynamic_batching { max_queue_delay_microseconds: 50000000 }';
    const { client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': file, 'm/config.pbtxt': config }) });
    const infer = (id: string) => client.infer('m', { id, inputs: { X: tensor('FP32', [1, 1], Float32Array.of(5)) } });
    const [first, second] = await Promise.allSettled([infer('r1'), infer('r2')]);
    expect(first.status === 'fulfilled' && rows(first.value, 'Y')).toEqual({ shape: [1, 1], data: [5] });
    expect(second.status === 'rejected' && (second.reason as Error).message).toContain(
      "failed to split the output tensor 'Y' in responses: expected batch size of atleast 2 in model output, got 1",
    );
  });

  test('with no elements answer with none; a batch of none is refused, as its items are looked for all the same', async () => {
    const { client } = await serve({
      modelRepository: folderOf({
        'fixed/1/model.onnx': identityFile('FP32', [2, 'n']),
        'batched/1/model.onnx': identityFile('FP32', ['n', 3]),
      }),
    });
    const nothing = (...shape: number[]) => ({ inputs: { X: tensor('FP32', shape, new Float32Array(0)) } });
    expect(rows(await client.infer('fixed', nothing(2, 0)), 'Y')).toEqual({ shape: [2, 0], data: [] });
    await expect(client.infer('batched', nothing(0, 3))).rejects.toThrow('Expected 12, got 0');
  });

  test('run side by side as often as there are instances, and one after the other in each', async () => {
    const modelRepository = folderOf({
      'one/1/model.onnx': HEAVY,
      'two/1/model.onnx': HEAVY,
      'two/config.pbtxt': 'instance_group [ { count: 2 kind: KIND_CPU } ]',
    });
    const living = threads();
    const { client } = await serve({ modelRepository });
    expect(living.size).toBe(3);
    const sent = (model: string) => ({
      much: () => client.infer(model, { inputs: MUCH }),
      little: () => client.infer(model, { inputs: LITTLE }),
    });
    expect(await order(sent('one'))).toEqual(['much', 'little']);
    expect(await order(sent('two'))).toEqual(['little', 'much']);
  });

  test('keep no other model waiting', async () => {
    const modelRepository = folderOf({ 'heavy/1/model.onnx': HEAVY, 'light/1/model.onnx': identityFile('FP32', [1]) });
    const { client } = await serve({
      modelRepository,
      models: {
        script: {
          config: {
            input: [{ name: 'X', data_type: 'TYPE_FP32', dims: [1] }],
            output: [{ name: 'Y', data_type: 'TYPE_FP32', dims: [1] }],
          },
          execute: ({ inputs }) => ({ Y: inputs.X as NonNullable<typeof inputs.X> }),
        },
      },
    });
    const X = tensor('FP32', [1], Float32Array.of(1));
    const several = (model: string) => async () => {
      for (let left = 20; left > 0; left -= 1) await client.infer(model, { inputs: { X } });
    };
    const answered = await order({
      heavy: () => client.infer('heavy', { inputs: MUCH }),
      light: several('light'),
      script: several('script'),
    });
    expect(answered.at(-1)).toBe('heavy');
  });

  test('go on with what was cancelled, and then with the next', async () => {
    const { server, client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': HEAVY }) });
    const abort = new AbortController();
    const cancelled = client.infer('m', { inputs: MUCH }, { signal: abort.signal });
    const next = client.infer('m', { inputs: LITTLE });
    await untilOneWaits(server);
    abort.abort(new Error('no longer'));
    await expect(cancelled).rejects.toThrow('no longer');
    expect(rows(await next, 'Y').data).toEqual([0]);
    expect(await client.modelStatistics('m')).toMatchObject([{ inferenceCount: 2, executionCount: 2 }]);
  });

  test('have the limits of their queue', async () => {
    const config = `max_batch_size: 1
      dynamic_batching { default_queue_policy { max_queue_size: 1 } }`;
    const file = onnxFile({
      inputs: [{ name: 'X', type: 'FP32', dims: ['n', 2_000_000] }],
      outputs: [{ name: 'Y', type: 'FP32', dims: ['n', 1] }],
      nodes: [
        ...Array.from({ length: 30 }, (_, at) => ({ op: 'Sin', in: [at === 0 ? 'X' : `S${at}`], out: [`S${at + 1}`] })),
        { op: 'ReduceMax', in: ['S30'], out: ['Y'], attributes: { axes: [1], keepdims: 1 } },
      ],
    });
    const { client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': file, 'm/config.pbtxt': config }) });
    const X = tensor('FP32', [1, 2_000_000], new Float32Array(2_000_000));
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => client.infer('m', { inputs: { X } })));
    const refused = results.flatMap((each) => (each.status === 'rejected' ? [(each.reason as Error).message] : []));
    expect(refused.length).toBeGreaterThan(0);
    // One that executes, those handed on before their turn, and one that waits.
    expect(results.length - refused.length).toBeGreaterThanOrEqual(2);
    for (const message of refused) expect(message).toContain('Exceeds maximum queue size');
    expect((await client.infer('m', { inputs: { X } })).output('Y').shape).toEqual([1, 1]);
  });

  test('that are unloaded or replaced answer what they have begun, and end their threads', async () => {
    const living = threads();
    const modelRepository = folderOf({ 'm/1/model.onnx': BUSY, 'm/config.pbtxt': 'instance_group [ { count: 2 } ]' });
    const { client } = await serve({ modelRepository, modelControl: 'explicit', loadModels: ['m'] });
    const before = [...living];
    expect(before).toHaveLength(2);
    const old = client.infer('m', { inputs: MUCH });
    await client.loadModel('m', { config: { backend: 'onnxruntime', max_batch_size: 0 } });
    expect(living.size - before.filter((each) => living.has(each)).length).toBe(1);
    expect(rows(await old, 'Y').data).toEqual([0]);
    await expect.poll(() => before.some((each) => living.has(each)), { timeout: 20_000 }).toBe(false);
    const last = client.infer('m', { inputs: MUCH });
    await client.unloadModel('m');
    expect(rows(await last, 'Y').data).toEqual([0]);
    await expect.poll(() => stateOf(client, 'm'), { timeout: 20_000 }).toBe('UNAVAILABLE unloaded');
    expect(living.size).toBe(0);
    await expect(client.infer('m', { inputs: LITTLE })).rejects.toThrow('no available versions');
  });

  test('end their threads after a kill of the server too', async () => {
    const living = threads();
    const { server, client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': HEAVY }) });
    const lost = Promise.allSettled([1, 2].map(() => client.infer('m', { inputs: MUCH })));
    await untilOneWaits(server);
    await server.kill();
    expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect.poll(() => living.size, { timeout: 20_000 }).toBe(0);
  });
});
