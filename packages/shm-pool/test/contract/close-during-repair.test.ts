import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { ours, removeOurEntries } from '../support/names.js';
import { gate, pattern } from '../support/pool-suite.js';

afterAll(removeOurEntries);

test('destroy while a retired slot is given fresh memory: retired once, and the fresh memory is released', async () => {
  const server = new FakeTriton();
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system' });
  const [answer, asked, allowed] = [gate(), gate(), gate()];
  server.gate = answer.opened;
  const lease = await pool.acquire();
  await lease.input('IN').write(pattern(1));
  const reply = lease.infer().catch((error: unknown) => error);
  const { register } = server.systemSharedMemory;
  server.systemSharedMemory.register = async (region) => {
    asked.open();
    await allowed.opened;
    await register(region);
  };
  const retired = once(pool, 'retire');
  server.forgetRegions();
  server.loseConnection();
  expect(await reply).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
  await retired;
  await asked.opened;
  const closing = pool.destroy();
  expect(pool.stats).toMatchObject({ size: 1, quarantined: 1, detached: 0 });
  allowed.open();
  const { unproven } = await closing;
  expect(unproven).toHaveLength(1);
  expect(pool.stats.retired).toBe(1);
  expect(server.regionNames).toEqual([]);
  // The server does not know the retired object any more, so that it could go.
  expect(readdirSync('/dev/shm').filter(ours)).toEqual([]);
  answer.open();
});
