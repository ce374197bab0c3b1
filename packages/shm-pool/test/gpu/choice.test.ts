import { Device } from '@zerohop/cuda-native';
import { describeTier, privateTriton, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { expect, onTestFinished, test } from 'vitest';
import { TensorPool } from '../../src/index.js';

const shapes = { INPUT0: [3, 1000], OUTPUT0: [3, 1000] };

describeTier('gpu', 'the choice on a real GPU', () => {
  test('an answer through device memory is verified, and what is copied all the same is told', async () => {
    const { grpcUrl, metricsUrl } = sharedTriton();
    const client = new TritonClient(grpcUrl, { metricsUrl });
    onTestFinished(() => client.close());
    const options = {
      model: 'identity',
      slots: 1,
      shapes,
      transport: 'cuda',
      verify: true,
      serverDeviceId: 0,
    } as const;
    const pool = await TensorPool.open(client, { ...options, device: 0 });
    onTestFinished(async () => {
      expect(await pool.close()).toEqual({ unproven: [] });
    });
    expect(pool.verified).toBe(true);
    expect(pool.reason).toMatch(/^cuda: the server opened our memory on .*; an answer was verified \(equal bytes\)$/);
    expect(pool.explain().text).toMatch(/every input from the GPU to the host/);
  });

  test("the server's only GPU is found by its UUID", async () => {
    const server = await privateTriton({ models: ['identity'], env: { CUDA_VISIBLE_DEVICES: '0' } });
    onTestFinished(() => server.stop());
    const { grpcUrl, metricsUrl } = server;
    const client = new TritonClient(grpcUrl, { metricsUrl });
    onTestFinished(() => client.close());
    const pool = await TensorPool.open(client, { model: 'identity', slots: 1, shapes, transport: 'cuda' });
    const { uuid } = await Device.open(0);
    expect(pool.reason).toContain(`the server's only GPU is ours (${uuid})`);
    expect(await client.cudaSharedMemory.status()).toMatchObject([{ deviceId: 0 }]);
    const values = Float32Array.from({ length: 3000 }, (_, index) => index);
    await pool.run(async (lease) => {
      await lease.input('INPUT0').write(values);
      expect(await (await lease.infer()).output<'FP32'>('OUTPUT0').read()).toEqual(values);
    });
    expect(await pool.close()).toEqual({ unproven: [] });
  });
});
