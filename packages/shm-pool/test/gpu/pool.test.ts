import { setTimeout as sleep } from 'node:timers/promises';
import { Device } from '@zerohop/cuda-native';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TensorPool } from '../../src/index.js';
import { expectNoLateWork } from '../support/late-work.js';
import { aThousandRequests } from '../support/thousand.js';
import { BlockWorker } from '../support/worker-suite.js';

const COLUMNS = 256;
const shapes = { INPUT0: [1, COLUMNS], OUTPUT0: [1, COLUMNS] };
/** Also on a machine with several GPUs. */
const onFirstGpu = { transport: 'cuda', device: 0, serverDeviceId: 0 } as const;
const filled = (value: number) => new Float32Array(COLUMNS).fill(value);

describeTier('gpu', 'CUDA memory on a real GPU and a real server', () => {
  let client: TritonClient;

  beforeAll(() => {
    const { grpcUrl, metricsUrl } = sharedTriton();
    client = new TritonClient(grpcUrl, { metricsUrl });
  });

  afterAll(() => client.close());

  test('a thousand requests: every answer is its own, and nothing grows', async () => {
    const device = await Device.open(0);
    // The first run also pays for what the server allocates once.
    await aThousandRequests(client, 'cuda', { device, serverDeviceId: 0 });
    const freeBefore = device.memoryInfo().free;
    await aThousandRequests(client, 'cuda', { device, serverDeviceId: 0 });
    expect(freeBefore - device.memoryInfo().free).toBeLessThan(64 * 1024 * 1024);
  });

  test('a late write never reaches the next lease', async () => {
    const pool = await TensorPool.open(client, { model: 'slow', slots: 1, ...onFirstGpu, shapes });
    const lease = await pool.acquire();
    await lease.input('INPUT0').write(filled(7));
    await expect(lease.infer({ timeoutMs: 100, parameters: { ms: 700 } })).rejects.toMatchObject({
      code: 'TRITON_TIMEOUT',
    });
    expect(pool.stats).toMatchObject({ idle: 0, detached: 1 });
    const next = await pool.acquire();
    await next.output('OUTPUT0').write(filled(-1));
    await sleep(1000);
    expect(await next.output<'FP32'>('OUTPUT0').read()).toEqual(filled(-1));
    await next.input('INPUT0').write(filled(9));
    const reply = await next.infer({ parameters: { ms: 1 } });
    expect(await reply.output<'FP32'>('OUTPUT0').read()).toEqual(filled(9));
    next.release();
    expect(await pool.close()).toEqual({ unproven: [] });
  });

  test('10,000 leases disposed with work under way: nobody meets it', async () => {
    const pool = await TensorPool.open(client, { model: 'identity', slots: 2, ...onFirstGpu, shapes });
    await expectNoLateWork(pool, { input: 'INPUT0', output: 'OUTPUT0' });
  });

  test('a worker thread works on device memory by its handle, and strict views end with the lease', async () => {
    const pool = await TensorPool.open(client, {
      model: 'identity',
      slots: 1,
      ...onFirstGpu,
      shapes,
      strictViews: true,
    });
    const worker = new BlockWorker();
    for (const value of [1, 2, 3]) {
      const lease = await pool.acquire();
      const block = lease.input('INPUT0');
      const { memory } = block;
      block.hold(worker.do(block.handle, 'fill', value));
      const reply = await lease.infer();
      expect(await worker.do(reply.output('OUTPUT0').handle, 'read')).toEqual(filled(value));
      lease.release();
      expect(memory).toMatchObject({ closed: true });
    }
    expect(await pool.close()).toEqual({ unproven: [] });
  });

  test("work enqueued on the slot's stream is done before the request leaves, without an await", async () => {
    const pool = await TensorPool.open(client, { model: 'identity', slots: 1, ...onFirstGpu, shapes });
    for (const byte of [0, 1, 2, 3]) {
      await pool.run(async (lease) => {
        const { memory } = lease.input('INPUT0');
        if (memory instanceof Uint8Array) throw new Error('Not device memory');
        lease.stream?.fill(memory, byte);
        const reply = await lease.infer();
        const answer = await reply.output<'FP32'>('OUTPUT0').read();
        expect(new Uint8Array(answer.buffer)).toEqual(new Uint8Array(COLUMNS * 4).fill(byte));
      });
    }
    await pool.close();
  });
});
