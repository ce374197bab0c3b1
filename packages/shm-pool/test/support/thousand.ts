import { readdirSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { TritonClient } from '@zerohop/triton-client';
import { expect } from 'vitest';
import { type PoolOptions, TensorPool, type Transport } from '../../src/index.js';
import { ours } from './names.js';

const REQUESTS = 1000;
const SLOTS = 4;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes in use once everything that nobody refers to is gone, whose finalizers run in turns of their own. */
async function heldAfterCollection(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    collect();
    await turn();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

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
  const held: number[] = [];
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
    if (index % 250 === 249) held.push(await heldAfterCollection());
    if (index % 250 === 0) {
      expect(await regions()).toHaveLength(registered);
      expect(entries()).toHaveLength(registered);
    }
  }
  // A tensor kept for each request would be 12 MiB. The smallest step, since what is cached once is no leak.
  const steps = held.slice(1).map((value, index) => value - (held[index] ?? value));
  expect(Math.min(...steps) * steps.length).toBeLessThan(2 * 2 ** 20);
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
