import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { ours } from '../support/names.js';
import { code, gate, pattern, roundTrip } from '../support/pool-suite.js';

/** Makes a server forget its regions right after it has registered one, so many times. */
function forgets(server: FakeTriton, times: number): void {
  const { register } = server.systemSharedMemory;
  let left = times;
  server.systemSharedMemory.register = async (region) => {
    await register(region);
    if (left === 0) return;
    left -= 1;
    server.forgetRegions();
  };
}

test('regions forgotten between a register and the look at the list: a repair makes memory once more', async () => {
  const server = new FakeTriton();
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system' });
  const answer = gate();
  server.gate = answer.opened;
  const lease = await pool.acquire();
  await lease.input('IN').write(pattern(1));
  const reply = lease.infer().catch((error: unknown) => error);
  forgets(server, 2);
  server.forgetRegions();
  server.loseConnection();
  expect(await reply).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
  answer.open();
  await pool.run((next) => roundTrip(next, 2));
  expect(pool.stats).toMatchObject({ size: 1, registerCalls: 4, retired: 1 });
  expect(server.regionNames).toHaveLength(1);
  expect((await pool.close()).unproven).toHaveLength(1);
  expect(readdirSync('/dev/shm').filter(ours)).toEqual([]);
});

test('regions forgotten between a register and the look at the list: a resize makes memory once more', async () => {
  const server = new FakeTriton();
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system' });
  forgets(server, 2);
  await pool.resize(2);
  expect(pool.stats).toMatchObject({ size: 2, registerCalls: 4, retired: 0 });
  await Promise.all([1, 2].map((seed) => pool.run((lease) => roundTrip(lease, seed))));
  forgets(server, Number.POSITIVE_INFINITY);
  await expect(pool.resize(3)).rejects.toThrow(code('ERR_SEVERAL_SERVERS'));
  expect(pool.stats.size).toBe(2);
  expect((await pool.close()).unproven).toEqual([]);
  expect(readdirSync('/dev/shm').filter(ours)).toEqual([]);
});

test('a server that never lists what it has registered is refused, and nothing is left', async () => {
  const server = new FakeTriton();
  forgets(server, Number.POSITIVE_INFINITY);
  const opening = TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system' });
  await expect(opening).rejects.toThrow(code('ERR_SEVERAL_SERVERS'));
  expect(server.calls.register).toBe(1);
  expect(readdirSync('/dev/shm').filter(ours)).toEqual([]);
});
