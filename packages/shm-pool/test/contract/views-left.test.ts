/** With `strictViews`, memory whose views could not be ended is never lent again, and the pool stays whole. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SharedMemory } from '@zerohop/cuda-native';
import { afterAll, afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { removeOurEntries } from '../support/names.js';
import { gate, pattern, roundTrip } from '../support/pool-suite.js';
import { warningsWith } from '../support/warnings.js';

let server: FakeTriton;
let pool: TensorPool;

const open = async (transport: 'system' | 'bytes') => {
  pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport, strictViews: true });
};

function refuseRenewal(): void {
  const spy = vi.spyOn(SharedMemory.prototype, 'renew').mockImplementationOnce(() => {
    throw new Error('no address space');
  });
  onTestFinished(() => spy.mockRestore());
}

beforeEach(() => {
  server = new FakeTriton();
});
afterEach(async () => {
  await pool.destroy();
  expect(server.regionNames).toHaveLength(pool.stats.retired);
});
afterAll(removeOurEntries);

/** The views are of memory that nobody else has. */
async function expectApart(view: Uint8Array): Promise<void> {
  const before = view.slice();
  await pool.run((next) => roundTrip(next, 9));
  expect(view).toEqual(before);
}

test.for(['release', Symbol.dispose] as const)('after %s: the region is retired, and another one lent', async (end) => {
  await open('system');
  const warnings = warningsWith('views of its last lease could not be ended: no address space');
  const lease = await pool.acquire();
  await lease.input('IN').write(pattern(1));
  const view = lease.input('IN').memory as Uint8Array;
  refuseRenewal();
  expect(lease[end]()).toBeUndefined();
  await expect.poll(() => pool.stats).toMatchObject({ size: 1, idle: 1, leased: 0, retired: 1 });
  await expectApart(view);
  await expect.poll(() => warnings).toMatchObject([{ code: 'ZEROHOP_RETIRED' }]);
});

test('after a time-out: only when the late answer has come', async () => {
  await open('system');
  const answer = gate();
  server.gate = answer.opened;
  const lease = await pool.acquire();
  await lease.input('IN').write(pattern(1));
  const view = lease.output('OUT').memory as Uint8Array;
  refuseRenewal();
  await expect(lease.infer({ timeoutMs: 5 })).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
  await sleep(20);
  expect(pool.stats).toMatchObject({ detached: 1, retired: 0 });
  answer.open();
  await expect.poll(() => pool.stats).toMatchObject({ size: 1, idle: 1, retired: 1 });
  await expectApart(view);
});

test('after a close that revokes the lease: it ends, and the views with the memory', async () => {
  await open('system');
  const lease = await pool.acquire();
  const view = lease.input('IN').memory as Uint8Array;
  refuseRenewal();
  expect(await pool.destroy()).toEqual({ unproven: [] });
  expect(view.byteLength).toBe(0);
});

test("with transport 'bytes': the slot gets other memory", async () => {
  await open('bytes');
  const lease = await pool.acquire();
  await lease.input('IN').write(pattern(1));
  const view = lease.input('IN').memory as Uint8Array;
  const spy = vi.spyOn(globalThis, 'structuredClone').mockImplementationOnce(() => {
    throw new Error('no memory');
  });
  onTestFinished(() => spy.mockRestore());
  lease.release();
  await expect.poll(() => pool.stats).toMatchObject({ size: 1, idle: 1, leased: 0 });
  await expectApart(view);
});
