import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, privateTriton, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { type Lease, type Retirement, TensorPool } from '../../src/index.js';
import { ours, removeOurEntries } from '../support/names.js';
import { warningsWith } from '../support/warnings.js';
import { BlockWorker } from '../support/worker-suite.js';

const COLUMNS = 256;
const SLOTS = 4;
const shapes = { INPUT0: [1, COLUMNS], OUTPUT0: [1, COLUMNS] };
const filled = (value: number) => new Float32Array(COLUMNS).fill(value);

async function roundTrip(lease: Lease, value: number, ms = 1): Promise<void> {
  await lease.input('INPUT0').write(filled(value));
  const reply = await lease.infer({ timeoutMs: 60_000, parameters: { ms } });
  expect(await reply.output<'FP32'>('OUTPUT0').read()).toEqual(filled(value));
}

const entries = () => readdirSync('/dev/shm').filter(ours);

describeTier('triton', "the life of a pool's slots on a real server", () => {
  afterAll(removeOurEntries);

  test('a server killed twice with every slot in flight: no memory is lost, and the pool goes on', async () => {
    let triton: LocalTriton = await privateTriton({ models: ['slow'] });
    onTestFinished(() => triton.stop());
    const client = new TritonClient(triton.grpcUrl);
    onTestFinished(() => client.close());
    const ports = {
      http: Number(new URL(triton.httpUrl).port),
      grpc: Number(triton.grpcUrl.split(':').at(-1)),
      metrics: Number(new URL(triton.metricsUrl).port),
    };
    const name = 'killed twice';
    const warnings = warningsWith(`Pool '${name}' gave up`);
    const pool = await TensorPool.open(client, {
      model: 'slow',
      slots: SLOTS,
      transport: 'system',
      shapes,
      maxRetired: 0,
      name,
    });
    const retired: Retirement[] = [];
    pool.on('retire', (retirement) => retired.push(retirement));
    for (const round of [1, 2]) {
      const leases = await Promise.all(Array.from({ length: SLOTS }, () => pool.acquire({ timeoutMs: 60_000 })));
      const replies = Promise.allSettled(leases.map((lease) => lease.infer({ parameters: { ms: 5000 } })));
      await sleep(200);
      triton.kill('SIGKILL');
      await triton.stop();
      for (const reply of await replies) expect(reply).toMatchObject({ status: 'rejected' });
      triton = await privateTriton({ models: ['slow'], ports });
      await expect.poll(() => pool.stats.idle).toBe(SLOTS);
      expect(pool.stats).toMatchObject({ size: SLOTS, retired: round * SLOTS, quarantined: 0 });
      expect(entries()).toHaveLength(SLOTS);
      await Promise.all(Array.from({ length: SLOTS }, (_, value) => pool.run((lease) => roundTrip(lease, value))));
    }
    expect(retired.map(({ keptBytes }) => keptBytes)).toEqual(Array(2 * SLOTS).fill(0));
    expect((await pool.close()).unproven).toHaveLength(2 * SLOTS);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings.length).toBeLessThanOrEqual(4);
    expect(entries()).toEqual([]);
  });

  test('resized while 8 callers are at it: every answer is its own, regions follow', async () => {
    const client = new TritonClient(sharedTriton().grpcUrl);
    onTestFinished(() => client.close());
    const pool = await TensorPool.open(client, { model: 'slow', slots: 1, transport: 'system', shapes });
    const regions = async () => (await client.systemSharedMemory.status()).map((region) => region.name).filter(ours);
    let over = false;
    const resizing = (async () => {
      for (let round = 0; !over; round += 1) {
        await pool.resize(1 + ((round * 3) % 8));
        const { size, idle, leased, detached, quarantined } = pool.stats;
        expect(idle + leased + detached + quarantined).toBe(size);
      }
    })();
    await Promise.all(
      Array.from({ length: 8 }, async (_, caller) => {
        for (let index = 0; index < 20; index += 1) await pool.run((lease) => roundTrip(lease, caller * 20 + index));
      }),
    );
    over = true;
    await resizing;
    await pool.resize(3);
    expect(await regions()).toHaveLength(3);
    expect(pool.stats).toMatchObject({ size: 3, idle: 3, retired: 0 });
    expect(await pool.close()).toEqual({ unproven: [] });
    expect(await regions()).toEqual([]);
  });

  test('a worker thread writes the input and reads the output of a real model', async () => {
    const client = new TritonClient(sharedTriton().grpcUrl);
    onTestFinished(() => client.close());
    const pool = await TensorPool.open(client, {
      model: 'slow',
      slots: 1,
      transport: 'system',
      shapes,
      strictViews: true,
    });
    const worker = new BlockWorker();
    for (const value of [1, 2, 3]) {
      await pool.run(async (lease) => {
        await worker.do(lease.input('INPUT0').handle, 'fill', value);
        const reply = await lease.infer({ parameters: { ms: 1 } });
        expect(await worker.do(reply.output('OUTPUT0').handle, 'read')).toEqual(filled(value));
      });
    }
    expect(await pool.close()).toEqual({ unproven: [] });
  });
});
