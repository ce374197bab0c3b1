import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { type Lease, TensorPool } from '../../src/index.js';
import { cuttableProxy } from '../support/cuttable-proxy.js';
import { ours, removeOurEntries } from '../support/names.js';

const COLUMNS = 256;
const shapes = { INPUT0: [1, COLUMNS], OUTPUT0: [1, COLUMNS] };
const models = ['slow', 'identity'];

async function roundTrip(lease: Lease, value: number): Promise<void> {
  await lease.input('INPUT0').write(new Float32Array(COLUMNS).fill(value));
  const reply = await lease.infer({ timeoutMs: 20_000, parameters: { ms: 1 } });
  expect(await reply.output<'FP32'>('OUTPUT0').read()).toEqual(new Float32Array(COLUMNS).fill(value));
}

async function server(options: Parameters<typeof privateTriton>[0] = {}): Promise<LocalTriton> {
  const triton = await privateTriton({ models, ...options });
  onTestFinished(() => triton.stop());
  return triton;
}

describeTier('triton', 'faults of the server', () => {
  afterAll(removeOurEntries);

  test('unregister-all by someone else: registered anew under a fresh name, repeated once', async () => {
    const triton = await server();
    const client = new TritonClient(triton.grpcUrl);
    const pool = await TensorPool.open(client, { model: 'slow', slots: 3, transport: 'system', shapes });
    const restarted = once(pool, 'restart');
    const lease = await pool.acquire();
    const before = new Set((await client.systemSharedMemory.status()).map(({ name }) => name));

    const other = new TritonClient(triton.grpcUrl);
    await other.systemSharedMemory.unregisterAll();
    await other.close();

    await roundTrip(lease, 42);
    await restarted;
    lease.release();
    await roundTrip(await pool.acquire(), 43);
    await expect.poll(() => pool.stats.reregistrations).toBe(3);
    const after = (await client.systemSharedMemory.status()).map(({ name }) => name).filter(ours);
    expect(after).toHaveLength(3);
    expect(after.filter((name) => before.has(name))).toEqual([]);
    expect(pool.stats).toMatchObject({ size: 3, retired: 0, registerCalls: 6 });
    expect(await pool.close({ timeoutMs: 0 })).toEqual({ unproven: [] });
    await client.close();
  });

  test('a lost connection: the slot comes back when the server is proven to be done', async () => {
    const triton = await server();
    const proxy = await cuttableProxy(triton.grpcUrl);
    onTestFinished(() => proxy.close());
    const client = new TritonClient(proxy.url);
    const pool = await TensorPool.open(client, { model: 'slow', slots: 1, transport: 'system', shapes });
    const lease = await pool.acquire();
    await lease.input('INPUT0').write(new Float32Array(COLUMNS).fill(5));
    const answer = lease.infer({ parameters: { ms: 1000 } });
    const quarantined = once(pool, 'quarantine');
    await sleep(200);
    const cutAt = performance.now();
    proxy.cut();
    await expect(answer).rejects.toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    await quarantined;
    expect(pool.stats).toMatchObject({ quarantined: 1, idle: 0 });

    await roundTrip(await pool.acquire({ timeoutMs: 10_000 }), 6);
    // Not before the model ended, 800 ms after the cut: the server counted the region as in use until then.
    expect(performance.now() - cutAt).toBeGreaterThan(600);
    expect(pool.stats).toMatchObject({ quarantined: 0, retired: 0, registerCalls: 2 });
    expect(await pool.close({ timeoutMs: 0 })).toEqual({ unproven: [] });
    await client.close();
  });

  test('kill -9 and a new server on the port: only the slot in flight is retired, requests work again', async () => {
    const first = await server();
    const client = new TritonClient(first.grpcUrl);
    const pool = await TensorPool.open(client, { model: 'slow', slots: 3, transport: 'system', shapes });
    const lease = await pool.acquire();
    await lease.input('INPUT0').write(new Float32Array(COLUMNS).fill(5));
    const answer = lease.infer({ parameters: { ms: 5000 } }).catch((error: unknown) => error);
    await sleep(200);
    const ports = {
      http: Number(new URL(first.httpUrl).port),
      grpc: Number(first.grpcUrl.split(':').at(-1)),
      metrics: Number(new URL(first.metricsUrl).port),
    };
    const retired = once(pool, 'retire');
    first.kill('SIGKILL');
    await first.stop();
    expect(await answer).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(pool.stats).toMatchObject({ quarantined: 1, idle: 2 });

    await server({ ports });
    await retired;
    await expect.poll(() => pool.stats.idle, { timeout: 10_000 }).toBe(3);
    const leases = await Promise.all([pool.acquire(), pool.acquire(), pool.acquire()]);
    for (const [index, each] of leases.entries()) await roundTrip(each, index + 1);
    for (const each of leases) each.release();
    expect(pool.stats).toMatchObject({ size: 3, idle: 3, retired: 1, quarantined: 0 });
    const report = await pool.close();
    expect(report.unproven).toHaveLength(1);
    await client.close();
  });

  test('a server that is gone: close frees the idle slots and reports them', async () => {
    const triton = await server();
    const client = new TritonClient(triton.grpcUrl);
    const pool = await TensorPool.open(client, { model: 'slow', slots: 2, transport: 'system', shapes });
    triton.kill('SIGKILL');
    await triton.stop();
    const report = await pool.close();
    expect(report.unproven.map(({ reason }) => reason)).toEqual(Array(2).fill('the server cannot be reached'));
    expect(pool.stats.retired).toBe(0);
    await client.close();
  });
});
