import { expect, test } from 'vitest';
import { TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { gate } from '../support/pool-suite.js';

test('a close whose time is over with the server at a request says that, not that work on blocks goes on', async () => {
  const server = new FakeTriton();
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system' });
  const written = gate();
  server.gate = written.opened;
  const lease = await pool.acquire();
  const [region] = server.regionNames;
  await expect(lease.infer({ timeoutMs: 10 })).rejects.toThrow('no answer in time');
  const reason = 'the time to wait for the server was over';
  expect(await pool.close({ timeoutMs: 0 })).toEqual({ unproven: [{ region, reason }] });
  written.open();
});
