import { describeTier, sharedTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { region, TritonClient, tensor } from '../../src/index.js';

/** Every call against the server that the tier's files share. */
describeTier('triton', 'TritonClient on a real server', () => {
  let client: TritonClient;

  beforeAll(() => {
    const { grpcUrl, metricsUrl } = sharedTriton();
    client = new TritonClient(grpcUrl, { metricsUrl });
  });

  afterAll(() => client.close());

  test('health', async () => {
    expect(await client.isLive()).toBe(true);
    expect(await client.isReady()).toBe(true);
    expect(await client.isModelReady('identity')).toBe(true);
    expect(await client.isModelReady('identity', '1')).toBe(true);
    expect(await client.isModelReady('no-such-model')).toBe(false);
    expect(client.isLocal).toBe(true);
    expect(client.connectionEpoch).toBe(1);
  });

  test('metadata and configuration', async () => {
    const server = await client.serverMetadata();
    expect(server.name).toBe('triton');
    expect(server.version).toMatch(/^\d+\.\d+\.\d+/);
    expect(server.extensions).toContain('system_shared_memory');

    expect(await client.modelMetadata('identity')).toEqual({
      name: 'identity',
      versions: ['1'],
      platform: 'python',
      inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [-1, -1] }],
      outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [-1, -1] }],
    });
    expect(await client.modelConfig('slow')).toEqual({
      name: 'slow',
      platform: '',
      backend: 'python',
      maxBatchSize: 0,
      decoupled: false,
      instanceGroups: [{ kind: 'KIND_CPU', count: 4, gpus: [] }],
      parameters: {},
      optionalInputs: [],
      raw: expect.objectContaining({ name: 'slow', max_batch_size: 0 }),
    });
  });

  test('unknown models are typed errors', async () => {
    for (const call of [client.modelMetadata('no-such-model'), client.modelConfig('no-such-model')]) {
      await expect(call).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND', grpcStatus: 5, model: 'no-such-model' });
    }
    await expect(client.modelStatistics('no-such-model')).rejects.toMatchObject({ code: 'TRITON_INVALID_ARGUMENT' });
    await expect(client.loadModel('no-such-model')).rejects.toMatchObject({
      code: 'TRITON_INTERNAL',
      method: 'RepositoryModelLoad',
    });
  });

  test('statistics count what was run', async () => {
    const now = async () => (await client.modelStatistics('echo_bytes'))[0];
    const before = await now();
    const successes = before?.success.count ?? 0;
    const inferences = before?.inferenceCount ?? 0;
    await client.infer('echo_bytes', { inputs: { INPUT0: tensor('BYTES', [1], ['x']) } });
    // Counted a little after the answer; those of other tests, too.
    await expect.poll(async () => (await now())?.success.count).toBeGreaterThan(successes);
    const after = await now();
    expect(after?.inferenceCount).toBeGreaterThan(inferences);
    expect(after?.success.totalNs).toBeGreaterThan(before?.success.totalNs ?? 0n);
    expect((await client.modelStatistics()).map(({ name }) => name)).toContain('identity');
  });

  test('the GPUs of the metrics are UUIDs', async () => {
    const uuids = await client.gpuUuids();
    expect(uuids).toBeInstanceOf(Array);
    for (const uuid of uuids ?? []) expect(uuid).toMatch(/^(GPU|MIG)-/);
  });

  test('FP32 in the message', async () => {
    const values = Float32Array.of(1, -2, Number.NaN, Number.POSITIVE_INFINITY, 5, 6);
    const result = await client.infer('identity', { id: 'one', inputs: { INPUT0: tensor('FP32', [2, 3], values) } });
    expect([result.model, result.version, result.id]).toEqual(['identity', '1', 'one']);
    expect(result.parameters).toEqual({ triton_final_response: true });
    const output = result.output('OUTPUT0');
    expect([output.datatype, output.shape]).toEqual(['FP32', [2, 3]]);
    expect(output.data).toEqual(values);
    expect(() => result.output('OUTPUT9')).toThrow("its outputs: 'OUTPUT0'");
  });

  test('BYTES in the message', async () => {
    const strings = ['', 'déjà vu', 'x'.repeat(70_000)];
    const request = { inputs: { INPUT0: tensor('BYTES', [3], strings) }, outputs: { OUTPUT0: {} } };
    expect((await client.infer('echo_bytes', request)).output('OUTPUT0').strings()).toEqual(strings);
  });

  test('an answer past 4 MiB', async () => {
    const values = new Float32Array(1300 * 1000).fill(0.5);
    values[values.length - 1] = 7;
    const result = await client.infer('identity', { inputs: { INPUT0: tensor('FP32', [1300, 1000], values) } });
    expect(result.output('OUTPUT0').bytes.byteLength).toBe(values.byteLength);
    expect(result.output('OUTPUT0').data.at(-1)).toBe(7);
  });

  test('a model that fails is an answer with its text', async () => {
    const inputs = { INPUT0: tensor('FP32', [1, 1], Float32Array.of(1)) };
    await expect(client.infer('fail', { inputs, id: 'f' })).rejects.toMatchObject({
      code: 'TRITON_UNKNOWN',
      message: expect.stringContaining('This model always fails'),
      requestId: 'f',
    });
    await expect(client.infer('fail', { inputs, parameters: { how: 'raise' } })).rejects.toMatchObject({
      code: 'TRITON_INTERNAL',
      message: expect.stringContaining('This model always fails'),
    });
    expect(client.stats.lost).toBe(0);
  });

  test('requests that cannot be right are typed errors, and the lane lives', async () => {
    const input = tensor('FP32', [1, 1], Float32Array.of(1));
    const lanesOpened = client.stats.lanesOpened;
    await expect(client.infer('no-such-model', { inputs: {} })).rejects.toMatchObject({
      code: 'TRITON_NOT_FOUND',
      model: 'no-such-model',
    });
    await expect(client.infer('identity', { inputs: { INPUT0: input }, version: '9' })).rejects.toMatchObject({
      code: 'TRITON_NOT_FOUND',
    });
    await expect(client.infer('identity', { inputs: { WRONG: input } })).rejects.toMatchObject({
      code: 'TRITON_INVALID_ARGUMENT',
    });
    await expect(client.infer('identity', { inputs: {} })).rejects.toMatchObject({ code: 'TRITON_INVALID_ARGUMENT' });
    await expect(client.infer('identity_64', { inputs: { INPUT0: input }, id: 'shape' })).rejects.toMatchObject({
      code: 'TRITON_INVALID_ARGUMENT',
      requestId: 'shape',
    });
    await expect(
      client.infer('identity', { inputs: { INPUT0: tensor('INT32', [1, 1], Int32Array.of(1)) } }),
    ).rejects.toMatchObject({ code: 'TRITON_INVALID_ARGUMENT' });
    await expect(
      client.infer('identity', { inputs: { INPUT0: input }, outputs: { OUTPUT9: {} } }),
    ).rejects.toMatchObject({ code: 'TRITON_INVALID_ARGUMENT' });
    await expect(
      client.infer('identity', { inputs: { INPUT0: region('no-such-region', { datatype: 'FP32', shape: [1, 1] }) } }),
    ).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND', region: 'no-such-region' });
    expect(client.stats.lanesOpened - lanesOpened).toBeLessThanOrEqual(1);
    expect(client.stats.lost).toBe(0);
  });

  test('load, index and unload', async () => {
    const state = async () => (await client.repositoryIndex()).find(({ name }) => name === 'echo_bytes')?.state;
    expect(await state()).toBe('READY');
    expect((await client.repositoryIndex({ ready: true })).every((model) => model.state === 'READY')).toBe(true);
    await client.unloadModel('echo_bytes', { unloadDependents: true });
    const input = { inputs: { INPUT0: tensor('BYTES', [1], ['x']) } };
    await expect(client.infer('echo_bytes', input)).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND' });
    await client.loadModel('echo_bytes');
    expect(await client.isModelReady('echo_bytes')).toBe(true);
    expect((await client.infer('echo_bytes', input)).output('OUTPUT0').strings()).toEqual(['x']);
  });
});
