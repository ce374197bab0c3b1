import { expect, test } from 'vitest';
import { type AcquireOptions, type Lease, type PoolOptions, TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { code, gate, pattern } from '../support/pool-suite.js';

const CLIENTS = 32;

async function open(options: Partial<PoolOptions> = {}): Promise<{ server: FakeTriton; pool: TensorPool }> {
  const server = new FakeTriton();
  const pool = await TensorPool.open(server, { model: 'identity', slots: 2, transport: 'system', ...options });
  return { server, pool };
}

/** Takes every slot, then lets `CLIENTS` wait; gives the order in which they are served. */
async function waiting(pool: TensorPool, optionsOf: (index: number) => AcquireOptions | undefined = () => undefined) {
  const leases: Lease[] = [];
  for (let lease = pool.tryAcquire(); lease !== undefined; lease = pool.tryAcquire()) leases.push(lease);
  const served: number[] = [];
  const waits = Array.from({ length: CLIENTS }, async (_, index) => {
    const lease = await pool.acquire(optionsOf(index));
    served.push(index);
    await lease.input('IN').write(pattern(index));
    const reply = await lease.infer();
    expect(await reply.output<'FP32'>('OUT').read()).toEqual(pattern(index));
    lease.release();
  });
  const settled = Promise.allSettled(waits);
  expect(pool.stats).toMatchObject({ waiting: CLIENTS, idle: 0, leased: leases.length });
  return { leases, served, settled };
}

const all = Array.from({ length: CLIENTS }, (_, index) => index);

test('32 waiting clients are served in order, again and again', async () => {
  const { pool } = await open();
  for (let round = 0; round < 5; round += 1) {
    const { leases, served, settled } = await waiting(pool);
    for (const lease of leases) lease.release();
    await settled;
    expect(served).toEqual(all);
  }
  expect(await pool.close()).toEqual({ unproven: [] });
});

test('those who abort, in the turn of the release and before it, leave the order of the others as it is', async () => {
  const { pool } = await open();
  const controllers = all.map(() => new AbortController());
  const { leases, served, settled } = await waiting(pool, (index) => ({ signal: controllers[index]?.signal }));
  const reason = new Error('changed my mind');
  for (const index of [0, 3, 4, 31]) controllers[index]?.abort(reason);
  expect(pool.stats.waiting).toBe(CLIENTS - 4);
  leases[0]?.release();
  // Served in this turn: an abort comes too late for it, and must lose nobody's slot.
  controllers[1]?.abort(reason);
  leases[1]?.release();
  for (const index of [5, 6]) controllers[index]?.abort(reason);
  const results = await settled;
  const gone = [0, 3, 4, 5, 6, 31];
  expect(served).toEqual(all.filter((index) => !gone.includes(index)));
  for (const index of gone) expect(results[index]).toEqual({ status: 'rejected', reason });
  expect(results[1]).toMatchObject({ status: 'fulfilled' });
  expect(pool.stats).toMatchObject({ idle: 2, leased: 0, waiting: 0 });
  await pool.close();
});

test('a caller who aborts another from within its own rejection, and acquires again, waits at the end', async () => {
  const { pool } = await open({ slots: 1 });
  const held = await pool.acquire();
  const [first, second] = [new AbortController(), new AbortController()];
  const order: string[] = [];
  const again = pool.acquire({ signal: first.signal }).catch(async () => {
    second.abort();
    const lease = await pool.acquire();
    order.push('again');
    lease.release();
  });
  const aborted = pool.acquire({ signal: second.signal }).catch(() => order.push('aborted'));
  const third = pool.acquire().then((lease) => {
    order.push('third');
    lease.release();
  });
  first.abort();
  await aborted;
  held.release();
  await Promise.all([again, third]);
  expect(order).toEqual(['aborted', 'third', 'again']);
  await pool.close();
});

test('those whose time is over leave the queue, and the rest are served in order', async () => {
  const { pool } = await open();
  const { leases, served, settled } = await waiting(pool, (index) => (index % 2 === 0 ? { timeoutMs: 5 } : undefined));
  await expect.poll(() => pool.stats.waiting).toBe(CLIENTS / 2);
  for (const lease of leases) lease.release();
  const results = await settled;
  expect(served).toEqual(all.filter((index) => index % 2 === 1));
  for (const [index, result] of results.entries()) {
    if (index % 2 === 0) expect(result).toMatchObject({ status: 'rejected', reason: code('ERR_POOL_TIMEOUT') });
  }
  await pool.close();
});

test('the queue has a limit; who is refused takes no place, and a place that is left can be taken', async () => {
  const { pool } = await open({ slots: 1, queueLimit: 2 });
  const held = await pool.acquire();
  const controller = new AbortController();
  const first = pool.acquire({ signal: controller.signal });
  const second = pool.acquire();
  await expect(pool.acquire()).rejects.toThrow(code('ERR_POOL_QUEUE_FULL'));
  await expect(pool.run(() => undefined)).rejects.toThrow(code('ERR_POOL_QUEUE_FULL'));
  controller.abort();
  await expect(first).rejects.toThrow();
  const third = pool.acquire();
  held.release();
  (await second).release();
  (await third).release();
  expect(pool.stats).toMatchObject({ idle: 1, waiting: 0 });
  await pool.close();
});

test('with a queue limit of 0, a slot is there or not', async () => {
  const { pool } = await open({ slots: 1, queueLimit: 0 });
  const lease = await pool.acquire();
  await expect(pool.acquire()).rejects.toThrow(code('ERR_POOL_QUEUE_FULL'));
  lease.release();
  (await pool.acquire()).release();
  await pool.close();
});

test('run releases however its function ends, and passes on what it gives or throws', async () => {
  const { pool } = await open({ slots: 1 });
  expect(await pool.run(() => 5)).toBe(5);
  await expect(pool.run(() => Promise.reject(new Error('of the function')))).rejects.toThrow('of the function');
  const thrown = pool.run(() => {
    throw new Error('at once');
  });
  await expect(thrown).rejects.toThrow('at once');
  // One who releases by himself may.
  await pool.run((lease) => lease.release());
  await expect(pool.run(5 as never)).rejects.toThrow('Expected function for fn');
  expect(pool.stats).toMatchObject({ idle: 1, leased: 0 });
  await pool.close();
});

test('destroy during the drain of a close: the lease is revoked at once, both promises are the same', async () => {
  const { server, pool } = await open();
  const lease = await pool.acquire();
  const waits = [pool.acquire(), pool.acquire()];
  (await (waits[0] as Promise<Lease>)).release();
  const second = await (waits[1] as Promise<Lease>);
  const closing = pool.close({ timeoutMs: 60_000 });
  expect(pool.destroy(new Error('now'))).toBe(closing);
  expect(await closing).toEqual({ unproven: [] });
  expect(() => lease.input('IN')).toThrow(code('ERR_LEASE_DETACHED'));
  second.release();
  lease.release();
  expect(server.regionNames).toEqual([]);
  expect(pool.stats).toMatchObject({ size: 0, idle: 0, leased: 0 });
});

test('a drain waits for a detached request and for held work, then leaves nothing', async () => {
  const { server, pool } = await open();
  const answer = gate();
  server.gate = answer.opened;
  const late = await pool.acquire();
  await expect(late.infer({ timeoutMs: 5 })).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
  server.gate = Promise.resolve();
  const work = gate();
  const held = await pool.acquire();
  held.input('IN').hold(work.opened);
  held.release();
  let closed = false;
  const closing = pool.close().then((report) => {
    closed = true;
    return report;
  });
  answer.open();
  await expect.poll(() => pool.stats.detached).toBe(0);
  expect(closed).toBe(false);
  work.open();
  expect(await closing).toEqual({ unproven: [] });
  expect(server.regionNames).toEqual([]);
});

test('destroy with a reason of its own tells it to those who wait, and to a resize', async () => {
  const { pool } = await open({ slots: 1 });
  const lease = await pool.acquire();
  const reason = new Error('of the caller');
  const wait = pool.acquire();
  const resizing = pool.resize(9);
  const closing = pool.destroy(reason);
  await expect(wait).rejects.toBe(reason);
  await expect(resizing).rejects.toBe(reason);
  expect(await closing).toEqual({ unproven: [] });
  lease.release();
});
