import { readdirSync } from 'node:fs';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TensorPool, type Transport } from '../../src/index.js';
import { ours } from '../support/names.js';

const REQUESTS = 1000;

describeTier('triton', 'a thousand requests in a row', () => {
  let client: TritonClient;

  beforeAll(() => {
    client = new TritonClient(sharedTriton().grpcUrl);
  });

  afterAll(() => client.close());

  const regions = async () => (await client.systemSharedMemory.status()).map(({ name }) => name).filter(ours);
  const entries = () => readdirSync('/dev/shm').filter(ours);

  test.for<Transport>(['system', 'bytes'])('on %s: every answer is its own, and nothing grows', async (transport) => {
    const pool = await TensorPool.open(client, { model: 'identity_64', slots: 4, transport });
    expect(pool.transport).toBe(transport);
    const registered = transport === 'system' ? 4 : 0;
    let rssAfterWarmUp = 0;
    for (let index = 0; index < REQUESTS; index += 1) {
      const lease = await pool.acquire();
      const pattern = new Float32Array(64 * 64).fill(index);
      pattern[0] = -index;
      pattern[pattern.length - 1] = index + 0.5;
      await lease.input('INPUT0').write(pattern);
      const reply = await lease.infer();
      const answer = await reply.output<'FP32'>('OUTPUT0').read();
      expect([answer[0], answer[1], answer.at(-1)]).toEqual([-index, index, index + 0.5]);
      lease.release();
      if (index === REQUESTS / 4) rssAfterWarmUp = process.memoryUsage.rss();
      if (index % 250 === 0) {
        expect(await regions()).toHaveLength(registered);
        expect(entries()).toHaveLength(registered);
      }
    }
    // 16 KiB a request would be 12 MB here; what the garbage collector leaves standing stays below that.
    expect(process.memoryUsage.rss() - rssAfterWarmUp).toBeLessThan(32 * 1024 * 1024);
    expect(pool.stats).toMatchObject({ size: 4, idle: 4, registerCalls: registered, reregistrations: 0, retired: 0 });
    expect(await pool.close()).toEqual({ unproven: [] });
    expect(await regions()).toEqual([]);
    expect(entries()).toEqual([]);
  });
});
