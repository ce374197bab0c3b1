/** A close names every region that is not proven free: also those that no slot has any more, or has yet. */
import { afterAll, expect, test } from 'vitest';
import { TensorPool } from '../../src/index.js';
import { FakeError, FakeTriton, identity } from '../support/fake-triton.js';
import { removeOurEntries } from '../support/names.js';
import { gate } from '../support/pool-suite.js';

afterAll(removeOurEntries);

const sized = { ...identity, outputs: [{ name: 'OUT', datatype: 'FP32', shape: [-1, 64] }] } as const;

/** A pool whose only slot has a request that asks for a larger output. */
async function growing(server: FakeTriton): Promise<{ pool: TensorPool; old: string; reply: Promise<unknown> }> {
  const pool = await TensorPool.open(server, { model: 'sized', slots: 1, transport: 'system' });
  const [old = ''] = server.regionNames;
  server.nextAnswer = new FakeError(
    'TRITON_INTERNAL',
    "shared memory size specified with the request for output 'OUT' (65536 bytes) should be at least 131072 bytes to hold the results",
  );
  const lease = await pool.acquire();
  return { pool, old, reply: lease.infer().catch((error: unknown) => error) };
}

const namesOf = ({ unproven }: { readonly unproven: readonly { readonly region: string }[] }) =>
  unproven.map(({ region }) => region).sort();

test('the region that a slot has left, whose release is under way', async () => {
  const server = new FakeTriton({ sized });
  const { unregister } = server.systemSharedMemory;
  const [asked, never] = [gate(), gate()];
  server.systemSharedMemory.unregister = async () => {
    asked.open();
    await never.opened;
  };
  const { pool, old, reply } = await growing(server);
  await asked.opened;
  const report = await pool.destroy();
  await reply;
  expect(namesOf(report)).toContain(old);
  expect(namesOf(report)).toEqual(server.regionNames.sort());
  expect(pool.stats.retired).toBe(2);
  server.systemSharedMemory.unregister = unregister;
});

test('the region that a slot was to get, whose register has no answer', async () => {
  const server = new FakeTriton({ sized });
  const { register } = server.systemSharedMemory;
  const [asked, never] = [gate(), gate()];
  let calls = 0;
  let fresh = '';
  server.systemSharedMemory.register = async (region) => {
    calls += 1;
    if (calls === 1) return register(region);
    fresh = region.name;
    asked.open();
    await never.opened;
  };
  const { pool, old, reply } = await growing(server);
  await asked.opened;
  server.down = new FakeError('TRITON_TIMEOUT', 'no answer in time');
  const report = await pool.destroy();
  await reply;
  expect(namesOf(report)).toEqual([old, fresh].sort());
});
