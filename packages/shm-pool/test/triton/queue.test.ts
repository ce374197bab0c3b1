/** A model's queue that refuses requests, with the status of a lost connection. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Lease, TensorPool } from '../../src/index.js';
import { isQueueRefusal, isUnreachable } from '../../src/server-texts.js';

const WIDTH = 64;

describeTier('triton', 'requests that a queue refuses', () => {
  describe.for(['2.51', '2.48'] as const)('server %s', (version) => {
    let triton: Awaited<ReturnType<typeof privateTriton>>;
    let client: TritonClient;

    beforeAll(async () => {
      triton = await privateTriton({ version, modelRepository: join(import.meta.dirname, 'models') });
      client = new TritonClient(triton.grpcUrl);
    });

    afterAll(async () => {
      await client.close();
      await triton.stop();
    });

    /** A request that keeps the model's only instance busy for that long. */
    async function busyFor(lease: Lease, ms: number): Promise<() => Promise<void>> {
      await lease.input('IN').write(new Float32Array(WIDTH).fill(ms));
      const answer = lease.infer();
      await sleep(100);
      return async () => {
        const reply = await answer;
        expect(await reply.output('OUT').read()).toEqual(new Float32Array(WIDTH).fill(ms));
      };
    }

    test('were answered: the lease goes on, and nothing is given up', async () => {
      const pool = await TensorPool.open(client, { model: 'queue', slots: 3, transport: 'system' });
      const [busy, waits, tooMany] = [await pool.acquire(), await pool.acquire(), await pool.acquire()];
      const done = await busyFor(busy, 600);
      for (const lease of [waits, tooMany]) await lease.input('IN').write(new Float32Array(WIDTH).fill(1));
      const refused = await Promise.all(
        [waits, tooMany].map((lease) => lease.infer().catch((error: unknown) => error)),
      );
      const texts = refused.map((error) => (error as Error).message).sort();
      expect(texts).toEqual([
        expect.stringContaining('Exceeds maximum queue size'),
        expect.stringContaining('Request timeout expired'),
      ]);
      expect(refused).toMatchObject([{ code: 'TRITON_UNAVAILABLE' }, { code: 'TRITON_UNAVAILABLE' }]);
      expect(refused.map(isQueueRefusal)).toEqual([true, true]);
      expect(refused.map(isUnreachable)).toEqual([false, false]);
      await done();
      expect(pool.stats).toMatchObject({ leased: 3, quarantined: 0, detached: 0, retired: 0 });
      await (await busyFor(waits, 1))();
      expect(await pool.close({ timeoutMs: 0 })).toEqual({ unproven: [] });
    });

    test('while an opening verifies an answer: opened unverified, not taken for a server that is away', async () => {
      const other = await TensorPool.open(client, { model: 'queue', slots: 1, transport: 'system' });
      const busy = await other.acquire();
      const done = await busyFor(busy, 1000);
      const options = { model: 'queue', slots: 1, transport: 'system', verify: true } as const;
      const pool = await TensorPool.open(client, options);
      expect(pool.verified).toBe(false);
      expect(pool.reason).toMatch(/not verified: .*(Request timeout expired)/);
      await done();
      await (await busyFor(await pool.acquire(), 1))();
      for (const each of [other, pool]) expect(await each.close({ timeoutMs: 0 })).toEqual({ unproven: [] });
    });
  });
});
