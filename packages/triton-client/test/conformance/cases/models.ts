import { expect, onTestFinished } from 'vitest';
import { type TritonClient, tensor } from '../../../src/index.js';
import { accepted, type ConformanceCase, refused } from '../case.js';
import type { Context } from '../context.js';
import { addSub } from './requests.js';

const UNKNOWN = 'no-such-model';

/** The files of a model that come with the request to load it. */
const carried = ({ target: { code } }: Context, which: 'doubling' | 'broken') => ({
  [code.path]: Buffer.from(code[which]),
});
const CONFIG = {
  backend: 'python',
  max_batch_size: 0,
  input: [{ name: 'INPUT0', data_type: 'TYPE_INT32', dims: [4] }],
  output: [{ name: 'OUTPUT0', data_type: 'TYPE_INT32', dims: [4] }],
  instance_group: [{ kind: 'KIND_CPU' }],
};

async function unloaded(client: TritonClient, model: string): Promise<void> {
  await client.unloadModel(model);
  await expect.poll(() => client.isModelReady(model), { timeout: 20_000 }).toBe(false);
}

/** What a client asks of models, and the repository. */
export const modelCases: readonly ConformanceCase[] = [
  accepted('model-ready', 'a model, a version of it', async ({ client }) => {
    expect(await client.isModelReady('add_sub')).toBe(true);
    expect(await client.isModelReady('add_sub', '1')).toBe(true);
  }),
  refused('model-ready', 'an unknown model, an unknown version: false, not an error', async ({ client }) => {
    expect(await client.isModelReady(UNKNOWN)).toBe(false);
    expect(await client.isModelReady('add_sub', '9')).toBe(false);
  }),
  accepted('model-metadata', 'names, datatypes and shapes', async ({ client }) => {
    const side = (name: string) => ({ name, datatype: 'INT32', shape: [-1, 16] });
    for (const version of ['', '1']) {
      expect(await client.modelMetadata('add_sub', version)).toEqual({
        name: 'add_sub',
        versions: ['1'],
        platform: 'python',
        inputs: [side('INPUT0'), side('INPUT1')],
        outputs: [side('OUTPUT0'), side('OUTPUT1')],
      });
    }
  }),
  refused('model-metadata', 'an unknown model, an unknown version', async (context) => {
    await context.refusal(context.client.modelMetadata(UNKNOWN), { code: 'TRITON_NOT_FOUND', details: UNKNOWN });
    await context.refusal(context.client.modelMetadata('add_sub', '9'), { code: 'TRITON_NOT_FOUND' });
  }),
  accepted('model-config', 'what a client acts on, and all of it', async ({ client }) => {
    const config = await client.modelConfig('add_sub');
    expect(config).toMatchObject({ name: 'add_sub', backend: 'python', maxBatchSize: 8, decoupled: false });
    expect(config.instanceGroups).toEqual([{ kind: 'KIND_CPU', count: 1, gpus: [] }]);
    expect(config.raw).toMatchObject({ max_batch_size: 8, output: [{ label_filename: 'labels.txt' }, {}] });
  }),
  refused('model-config', 'an unknown model', async (context) => {
    await context.refusal(context.client.modelConfig(UNKNOWN), { code: 'TRITON_NOT_FOUND', details: UNKNOWN });
  }),
  accepted('model-statistics', 'of a version, of a model, of all models', async ({ client }) => {
    const [before] = await client.modelStatistics('add_sub', '1');
    await client.infer('add_sub', addSub());
    const now = async () => (await client.modelStatistics('add_sub'))[0];
    // They are counted a little after the answer.
    await expect.poll(async () => (await now())?.success.count).toBe((before?.success.count ?? Number.NaN) + 1);
    const after = await now();
    expect(after?.inferenceCount).toBe((before?.inferenceCount ?? Number.NaN) + 1);
    expect(after?.batches.map(({ batchSize }) => batchSize)).toContain(1);
    expect((await client.modelStatistics()).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['add_sub', 'hold']),
    );
  }),
  refused('model-statistics', 'an unknown model is a wrong argument here', async (context) => {
    await context.refusal(context.client.modelStatistics(UNKNOWN), {
      code: 'TRITON_INVALID_ARGUMENT',
      details: "requested model 'no-such-model' is not available",
    });
    await context.refusal(context.client.modelStatistics('add_sub', '9'), {
      code: 'TRITON_INVALID_ARGUMENT',
      details: 'requested model version is not available',
    });
  }),
  accepted('model-infer', 'sum and difference', async (context) => {
    await context.answeredRequest('add_sub', addSub(3), (result) => {
      expect([result.model, result.version, result.outputs.length]).toEqual(['add_sub', '1', 2]);
      const { datatype, shape, data } = result.output('OUTPUT0');
      expect([datatype, shape, data[15]]).toEqual(['INT32', [3, 16], 15 + 1]);
      expect(result.output('OUTPUT1').data[15]).toBe(15 - 1);
    });
  }),
  accepted('model-infer', 'prepared once, sent often', async ({ client }) => {
    const prepared = client.prepare('add_sub', addSub());
    for (const answer of await Promise.all([prepared.infer(), prepared.infer(), prepared.infer()])) {
      expect(answer.output('OUTPUT0').data[15]).toBe(16);
    }
  }),
  refused('model-infer', 'an unknown model, a wrong input, a wrong shape, a wrong datatype', async (context) => {
    const int32 = (shape: number[]) => tensor('INT32', shape, new Int32Array(shape.reduce((a, b) => a * b)));
    await context.refusedRequest(UNKNOWN, addSub(), { code: 'TRITON_NOT_FOUND', details: 'Request for unknown model' });
    const wrong = [
      [{ INPUT0: int32([1, 16]) }, 'expected 2 inputs but got 1'],
      [{ INPUT0: int32([1, 16]), WRONG: int32([1, 16]) }, "'WRONG'"],
      [{ INPUT0: int32([1, 15]), INPUT1: int32([1, 16]) }, "unexpected shape for input 'INPUT0'"],
      [{ INPUT0: int32([9, 16]), INPUT1: int32([9, 16]) }, 'batch-size must be <= 8'],
      [{ INPUT0: int32([2, 16]), INPUT1: int32([1, 16]) }, 'batch size does not match'],
      [{ INPUT0: tensor('FP32', [1, 16], new Float32Array(16)), INPUT1: int32([1, 16]) }, "data-type is 'FP32'"],
    ] as const;
    for (const [inputs, details] of wrong) {
      await context.refusedRequest('add_sub', { inputs }, { code: 'TRITON_INVALID_ARGUMENT', details });
    }
    const outputs = { OUTPUT9: {} };
    const details = "unexpected inference output 'OUTPUT9'";
    await context.refusedRequest('add_sub', { ...addSub(), outputs }, { code: 'TRITON_INVALID_ARGUMENT', details });
  }),
  refused('model-infer', 'a decoupled model has a stream for its answers', async (context) => {
    await context.refusedRequest(
      'repeat',
      { inputs: { INPUT0: tensor('INT32', [1], Int32Array.of(1)) } },
      { code: 'TRITON_UNIMPLEMENTED', details: /decoupled/, advice: 'stream()' },
    );
  }),
  refused('model-infer', 'what a model raises', async (context) => {
    const request = { inputs: { INPUT0: tensor('FP32', [1, 1], Float32Array.of(1)) }, parameters: { how: 'raise' } };
    const details = "Failed to process the request(s) for model '";
    await context.refusedRequest('fail', request, { code: 'TRITON_INTERNAL', details });
  }),

  accepted('repository-index', 'all models, those that are ready', async ({ client }) => {
    const all = await client.repositoryIndex();
    expect(all.find(({ name }) => name === 'add_sub')).toEqual({
      name: 'add_sub',
      version: '1',
      state: 'READY',
      reason: '',
    });
    expect(all.find(({ name }) => name === 'slow')).toEqual({ name: 'slow', version: '', state: '', reason: '' });
    const ready = await client.repositoryIndex({ ready: true });
    expect(ready.length).toBeGreaterThan(0);
    expect(ready.every(({ state }) => state === 'READY')).toBe(true);
  }),
  refused('repository-index', 'restricted', async (context) => {
    const call = context.openLocked().repositoryIndex();
    await context.refusal(call, { code: 'TRITON_UNAVAILABLE', details: 'restricted, expecting header' });
  }),
  accepted('model-load', 'a model of the repository, and again with another configuration', async ({ client }) => {
    await client.loadModel('identity_64');
    onTestFinished(() => unloaded(client, 'identity_64'));
    expect((await client.modelConfig('identity_64')).instanceGroups[0]?.count).toBe(1);
    const sized = { data_type: 'TYPE_FP32', dims: [64, 64] };
    const config = {
      ...CONFIG,
      input: [{ name: 'INPUT0', ...sized }],
      output: [{ name: 'OUTPUT0', ...sized }],
      instance_group: [{ kind: 'KIND_CPU', count: 2 }],
    };
    await client.loadModel('identity_64', { config });
    expect((await client.modelConfig('identity_64')).instanceGroups[0]?.count).toBe(2);
  }),
  accepted('model-load', 'a model whose files come with the call', async (context) => {
    const { client } = context;
    await client.loadModel('carried', { config: CONFIG, files: carried(context, 'doubling') });
    onTestFinished(() => unloaded(client, 'carried'));
    const inputs = { INPUT0: tensor('INT32', [4], Int32Array.of(1, 2, 3, 4)) };
    expect((await client.infer('carried', { inputs })).output('OUTPUT0').data).toEqual(Int32Array.of(2, 4, 6, 8));
  }),
  refused('model-load', 'an unknown model, a bad configuration: the cause is in the server’s log', async (context) => {
    for (const [model, options] of [
      [UNKNOWN, {}],
      ['identity_64', { config: { max_batch_size: 'many' } }],
    ] as const) {
      await context.refusal(context.client.loadModel(model, options), {
        code: 'TRITON_INTERNAL',
        details: `failed to load '${model}', failed to poll from model repository`,
      });
    }
  }),
  refused('model-load', 'a model that fails to start', async (context) => {
    const files = carried(context, 'broken');
    await context.refusal(context.client.loadModel('broken', { config: CONFIG, files }), {
      code: 'TRITON_INVALID_ARGUMENT',
      details: "load failed for model 'broken': version 1 is at UNAVAILABLE state",
    });
    await context.client.unloadModel('broken');
  }),
  refused('model-load', 'a server that allows none', async (context) => {
    const call = context.openLocked({ headers: context.adminHeaders }).loadModel('identity');
    await context.refusal(call, {
      code: 'TRITON_UNAVAILABLE',
      details: 'explicit model load / unload is not allowed if polling is enabled',
      advice: '--model-control-mode=explicit',
    });
  }),
  refused('model-load', 'files without a configuration', (context) =>
    context.refusedByClient(
      () => context.client.loadModel('carried', { files: carried(context, 'doubling') }),
      TypeError,
      'config',
    ),
  ),
  accepted('model-unload', 'a model alone, an ensemble with its parts, an unknown name', async ({ client }) => {
    const ready = (model: string) => client.isModelReady(model);
    await client.loadModel('chain');
    const values = new Float32Array(64 * 64).fill(0.5);
    const request = { inputs: { INPUT: tensor('FP32', [64, 64], values) } };
    expect((await client.infer('chain', request)).output('OUTPUT').data.at(-1)).toBe(0.5);
    await unloaded(client, 'chain');
    expect(await ready('identity_64')).toBe(true);

    await client.loadModel('chain');
    await client.unloadModel('chain', { unloadDependents: true });
    await expect.poll(() => ready('identity_64'), { timeout: 20_000 }).toBe(false);
    await client.unloadModel(UNKNOWN);
  }),
  refused('model-unload', 'a server that allows none', async (context) => {
    const call = context.openLocked({ headers: context.adminHeaders }).unloadModel('identity');
    await context.refusal(call, {
      code: 'TRITON_UNAVAILABLE',
      details: 'explicit model load / unload is not allowed if polling is enabled',
      advice: '--model-control-mode=explicit',
    });
  }),
];
