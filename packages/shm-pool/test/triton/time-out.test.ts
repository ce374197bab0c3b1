import { setTimeout as sleep } from 'node:timers/promises';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lease, TensorPool, type Transport } from '../../src/index.js';

const COLUMNS = 256;
const shapes = { INPUT0: [1, COLUMNS], OUTPUT0: [1, COLUMNS] };

const fill = (lease: Lease, value: number) => lease.input('INPUT0').write(new Float32Array(COLUMNS).fill(value));

describeTier('triton', 'requests that are given up or refused', () => {
  let client: TritonClient;

  beforeAll(() => {
    client = new TritonClient(sharedTriton().grpcUrl);
  });

  afterAll(() => client.close());

  const open = (model: string, slots: number, transport: Transport = 'system') =>
    TensorPool.open(client, { model, slots, transport, shapes });

  test('a late write never reaches the next lease', async () => {
    const pool = await open('slow', 1);
    const lease = await pool.acquire();
    await fill(lease, 7);
    await expect(lease.infer({ timeoutMs: 100, parameters: { ms: 700 } })).rejects.toMatchObject({
      code: 'TRITON_TIMEOUT',
    });
    expect(pool.stats).toMatchObject({ idle: 0, leased: 0, detached: 1 });
    expect(() => lease.input('INPUT0')).toThrow(expect.objectContaining({ code: 'ERR_LEASE_DETACHED' }));
    await expect(pool.acquire({ timeoutMs: 100 })).rejects.toMatchObject({ code: 'ERR_POOL_TIMEOUT' });
    lease.release();
    expect(pool.stats.detached).toBe(1);

    const next = await pool.acquire();
    // The server was done before the slot was lent again, so that nothing can change it from here on.
    const sentinel = new Float32Array(COLUMNS).fill(-1);
    await next.output('OUTPUT0').write(sentinel);
    await sleep(1000);
    expect(await next.output<'FP32'>('OUTPUT0').read()).toEqual(sentinel);
    await fill(next, 9);
    const reply = await next.infer({ parameters: { ms: 1 } });
    expect(await reply.output<'FP32'>('OUTPUT0').read()).toEqual(new Float32Array(COLUMNS).fill(9));
    next.release();
    expect(pool.stats).toMatchObject({ idle: 1, detached: 0, retired: 0, registerCalls: 1 });
    await pool.close();
  });

  test.for<Transport>(['system', 'bytes'])('an abort on %s rejects with its reason at once', async (transport) => {
    const pool = await open('slow', 1, transport);
    const controller = new AbortController();
    const lease = await pool.acquire();
    await fill(lease, 1);
    const answer = lease.infer({ signal: controller.signal, parameters: { ms: 500 } });
    await sleep(50);
    const reason = new Error('no longer wanted');
    controller.abort(reason);
    await expect(answer).rejects.toBe(reason);
    (await pool.acquire()).release();
    await pool.close();
  });

  test('close waits for a detached request, and proves its region free', async () => {
    const pool = await open('slow', 1);
    const lease = await pool.acquire();
    await fill(lease, 1);
    await expect(lease.infer({ timeoutMs: 50, parameters: { ms: 400 } })).rejects.toThrow();
    expect(await pool.close()).toEqual({ unproven: [] });
  });

  test('destroy takes a request in flight back only with the second proof', async () => {
    const pool = await open('slow', 1);
    const lease = await pool.acquire();
    await fill(lease, 1);
    const answer = lease.infer({ parameters: { ms: 500 } }).catch((error: unknown) => error);
    await sleep(50);
    expect(await pool.destroy()).toEqual({ unproven: [] });
    expect(() => lease.input('INPUT0')).toThrow(expect.objectContaining({ code: 'ERR_LEASE_DETACHED' }));
    await answer;
    expect(pool.stats.retired).toBe(0);
  });

  test('an error of the model leaves the lease usable', async () => {
    const pool = await open('fail', 1);
    const lease = await pool.acquire();
    await fill(lease, 1);
    await expect(lease.infer()).rejects.toThrow();
    await expect(lease.infer()).rejects.toThrow();
    lease.release();
    expect(pool.stats).toMatchObject({ idle: 1, detached: 0 });
    await pool.close();
  });

  test('an output larger than its block says how large it has to be', async () => {
    const pool = await TensorPool.open(client, {
      model: 'identity',
      slots: 1,
      transport: 'system',
      shapes: { INPUT0: [1, COLUMNS], OUTPUT0: [1, 4] },
    });
    await pool.run(async (lease) => {
      await fill(lease, 1);
      await expect(lease.infer()).rejects.toMatchObject({
        code: 'ERR_OUTPUT_TOO_LARGE',
        message: expect.stringContaining(`byteLength: ${COLUMNS * 4}`),
      });
    });
    await pool.close();
  });

  test('thirty-two callers share four slots, and each gets its own answer', async () => {
    const pool = await open('identity', 4);
    const answers = await Promise.all(
      Array.from({ length: 256 }, (_, index) =>
        pool.run(async (lease) => {
          await fill(lease, index);
          const reply = await lease.infer();
          const output = await reply.output<'FP32'>('OUTPUT0').read();
          return [output[0], output.at(-1)];
        }),
      ),
    );
    expect(answers).toEqual(Array.from({ length: 256 }, (_, index) => [index, index]));
    expect(pool.stats).toMatchObject({ idle: 4, registerCalls: 4 });
    await pool.close();
  });

  test("'auto' takes system memory here and says why", async () => {
    const pool = await open('identity_64', 1).catch(() => undefined);
    expect(pool).toBeUndefined();
    const auto = await TensorPool.open(client, { model: 'identity_64', slots: 1 });
    expect(auto.transport).toBe('system');
    expect(auto.reason).toMatch(/^system: .*; not cuda: /);
    await auto.close();
  });
});
