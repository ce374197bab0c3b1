/** A register that reaches the server when the pool is closed already. */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { reap, TensorPool } from '../../src/index.js';
import { entryOfRegion } from '../../src/names.js';
import { abandon, takeAway } from '../support/abandoned.js';
import { FakeError, FakeTriton } from '../support/fake-triton.js';
import { removeOurEntries } from '../support/names.js';
import { closeDuringRepair, gate } from '../support/pool-suite.js';

let server: FakeTriton;
let pool: TensorPool;
/** Of the register that is under way when the pool is closed. */
let late: { readonly region: string; carryOut(): Promise<void>; answer(): void; fail(error: Error): void };

/** A pool that was closed while one of its slots was being registered anew. */
beforeEach(async () => {
  server = new FakeTriton();
  pool = await TensorPool.open(server, { model: 'identity', slots: 2, transport: 'system' });
  // The slot that came last is lent first.
  const [idle = ''] = server.regionNames;
  const asked = gate();
  const calls = server.systemSharedMemory;
  const { register } = calls;
  calls.register = (region) => {
    if (region.name !== idle.replace(/\.0$/, '.1')) return register(region);
    return new Promise((answer, fail) => {
      late = { region: region.name, carryOut: () => register(region), answer, fail };
      asked.open();
    });
  };
  const unproven = await closeDuringRepair(server, pool, asked.opened);
  expect(unproven).toMatchObject([{ region: late.region }]);
  expect(server.regionNames).toEqual([]);
});
afterEach(removeOurEntries);

test('is taken back when it is answered', async () => {
  await late.carryOut();
  expect(server.regionNames).toEqual([late.region]);
  late.answer();
  await expect.poll(() => server.regionNames).toEqual([]);
});

test('is kept from being carried out when it has no answer', async () => {
  const entry = `/dev/shm/${entryOfRegion(late.region)}`;
  expect(existsSync(entry)).toBe(true);
  late.fail(new FakeError('TRITON_TIMEOUT', 'no answer in time'));
  await expect.poll(() => existsSync(entry)).toBe(false);
  await expect(late.carryOut()).rejects.toThrow('Unable to open shared memory region');
});

test('is found by the next reaper, where the server answered nothing more', async () => {
  const entry = entryOfRegion(late.region) ?? '';
  server.down = new FakeError('TRITON_UNAVAILABLE', 'No connection established');
  late.fail(new FakeError('TRITON_CONNECTION_LOST', 'Connection dropped'));
  // For as long as a server that is away is tried.
  await sleep(1500);
  server.down = undefined;
  await late.carryOut();
  expect(server.regionNames).toEqual([late.region]);
  // As the end of this process leaves it: there, and not locked.
  takeAway(entry);
  abandon(undefined, entry);
  const report = await reap(server);
  expect(report.unregistered).toEqual([late.region]);
  expect(report.removed).toContain(entry);
  expect(server.regionNames).toEqual([]);
});
