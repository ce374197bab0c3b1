import { expect, test } from 'vitest';
import { TensorPool } from '../../src/index.js';
import { FakeError, FakeTriton, identity } from '../support/fake-triton.js';
import { code, gate } from '../support/pool-suite.js';

test('a register without an answer while an output grows: the pool ends, and the late region is taken back', async () => {
  const server = new FakeTriton({
    sized: { ...identity, outputs: [{ name: 'OUT', datatype: 'FP32', shape: [-1, 64] }] },
  });
  const pool = await TensorPool.open(server, { model: 'sized', slots: 1, transport: 'system' });
  const [old] = server.regionNames;
  const [asked, answered] = [gate(), gate()];
  const register = server.systemSharedMemory.register.bind(server);
  server.systemSharedMemory.register = async (region) => {
    asked.open();
    await answered.opened;
    await register(region);
  };
  server.nextAnswer = new FakeError(
    'TRITON_INTERNAL',
    "shared memory size specified with the request for output 'OUT' (65536 bytes) should be at least 131072 bytes to hold the results",
  );
  const lease = await pool.acquire();
  const refused = expect(lease.infer()).rejects.toThrow(code('ERR_POOL_CLOSED'));
  await asked.opened;
  const closing = pool.destroy();
  await refused;
  // The last steps of a close wait two seconds for a server.
  expect((await closing).unproven.map(({ region }) => region)).toEqual([old]);
  answered.open();
  await expect.poll(() => server.calls.register).toBe(2);
  await expect.poll(() => server.regionNames).toEqual([old]);
});
