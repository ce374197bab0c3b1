import { readdirSync } from 'node:fs';
import type { TritonClient } from '@zerohop/triton-client';
import { expect } from 'vitest';
import { type PoolOptions, TensorPool, type Transport } from '../../src/index.js';
import { ours } from './names.js';

const REQUESTS = 1000;
const SLOTS = 4;

/** Acquire, write a pattern of its own, infer, check the first and last values, release: a thousand times. */
export async function aThousandRequests(
  client: TritonClient,
  transport: Transport,
  options: Partial<PoolOptions> = {},
): Promise<void> {
  const kind = transport === 'cuda' ? 'cudaSharedMemory' : 'systemSharedMemory';
  const regions = async () => (await client[kind].status()).map(({ name }) => name).filter(ours);
  const entries = () => readdirSync('/dev/shm').filter(ours);
  const pool = await TensorPool.open(client, { model: 'identity_64', slots: SLOTS, transport, ...options });
  expect(pool.transport).toBe(transport);
  const registered = transport === 'bytes' ? 0 : SLOTS;
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
  // One block kept for each request would be 12 MiB on each side; what the collector leaves standing is less.
  expect(process.memoryUsage.rss() - rssAfterWarmUp).toBeLessThan(32 * 1024 * 1024);
  expect(pool.stats).toMatchObject({
    size: SLOTS,
    idle: SLOTS,
    registerCalls: registered,
    reregistrations: 0,
    retired: 0,
  });
  expect(await pool.close()).toEqual({ unproven: [] });
  expect(await regions()).toEqual([]);
  expect(entries()).toEqual([]);
}
