import { expect, test } from 'vitest';
import { type Lease, TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { code, gate } from '../support/pool-suite.js';

function isUsable(lease: Lease): boolean {
  try {
    lease.assertUsable();
    return true;
  } catch {
    return false;
  }
}

test('a request that the server sees only after its region is gone is not repeated by a pool that has ended', async () => {
  const server = new FakeTriton();
  const onTheWay = gate();
  const infer = server.infer.bind(server);
  server.infer = (...request) => {
    const call = onTheWay.opened.then(() => infer(...request));
    return Object.assign(call, {
      settled: call.then(
        () => 'answered' as const,
        () => 'answered' as const,
      ),
    });
  };
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system' });
  const answer = (await pool.acquire()).infer();
  const refused = expect(answer).rejects.toThrow('Unable to find shared memory region');
  expect(await pool.destroy()).toEqual({ unproven: [] });
  expect(server.regionNames).toEqual([]);
  onTheWay.open();
  await refused;
  expect(server.calls).toMatchObject({ register: 1, infer: 1 });
  expect(pool.stats).toMatchObject({ reregistrations: 0, retired: 0 });
});

test.for(Array.from({ length: 16 }, (_, turns) => turns))(
  'a pool that ends %i turns after the work that a request waits for: nothing is sent through a lease that is over',
  async (turns) => {
    const server = new FakeTriton();
    const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system' });
    const work = gate();
    const lease = await pool.acquire();
    lease.hold(work.opened);
    const wasUsable: boolean[] = [];
    const infer = server.infer.bind(server);
    server.infer = (...request) => {
      wasUsable.push(isUsable(lease));
      return infer(...request);
    };
    const ended = lease.infer().then(
      () => 'answered',
      (error: unknown) => (error as { code?: unknown }).code,
    );
    work.open();
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    expect(await pool.destroy()).toEqual({ unproven: [] });
    expect([
      ['ERR_POOL_CLOSED', []],
      ['answered', [true]],
    ]).toContainEqual([await ended, wasUsable]);
    expect(server.regionNames).toEqual([]);
  },
);

test('a server that has forgotten everything while the pool ends: nothing is registered again', async () => {
  const server = new FakeTriton();
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system' });
  const lease = await pool.acquire();
  server.forgetRegions();
  const answer = expect(lease.infer()).rejects.toThrow();
  const report = await pool.destroy();
  await answer;
  expect(server.regionNames).toEqual([]);
  expect(server.calls.register).toBe(1);
  // Not listed is no proof that another server is not still at it.
  expect(report.unproven).toHaveLength(1);
  expect(() => lease.input('IN')).toThrow(code('ERR_LEASE_DETACHED'));
});
