/** A close ends in its time, whatever a server that answers nothing was being asked. */
import { readdirSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { ours, removeOurEntries } from '../support/names.js';
import { closeDuringRepair, gate } from '../support/pool-suite.js';
import { warningsWith } from '../support/warnings.js';

afterEach(removeOurEntries);

for (const what of ['status', 'register'] as const) {
  test(`an idle slot that is being registered anew, with a ${what} that is not answered, does not hold up a close`, async () => {
    const server = new FakeTriton();
    const pool = await TensorPool.open(server, { model: 'identity', slots: 2, transport: 'system' });
    // The slot that came last is lent first.
    const [idle = ''] = server.regionNames;
    const asked = gate();
    const calls = server.systemSharedMemory;
    const { status, register } = calls;
    // The idle slot's region alone: the other one is registered anew by the request that misses it.
    calls.status = (name) => {
      if (what !== 'status' || name !== idle) return status(name);
      asked.open();
      return new Promise(() => undefined);
    };
    calls.register = (region) => {
      if (what !== 'register' || region.name !== idle.replace(/\.0$/, '.1')) return register(region);
      asked.open();
      return new Promise(() => undefined);
    };
    const unproven = await closeDuringRepair(server, pool, asked.opened);
    expect(unproven).toHaveLength(1);
    expect(unproven[0]?.region.slice(0, -2)).toBe(idle.slice(0, -2));
    expect(readdirSync('/dev/shm').filter(ours)).toHaveLength(1);
  });
}

test('memory that is being made is given back beside the regions of the slots, and not before them', async () => {
  const warnings = warningsWith('given up');
  const server = new FakeTriton();
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system' });
  const [idle = ''] = server.regionNames;
  const asked = gate();
  const calls = server.systemSharedMemory;
  const { status, unregister } = calls;
  calls.register = () => {
    asked.open();
    return new Promise(() => undefined);
  };
  calls.status = (name) => (name === idle ? status(name) : new Promise(() => undefined));
  let warnedThen: number | undefined;
  calls.unregister = async (name) => {
    // A warning comes a moment after its reason.
    await turn();
    if (name === idle) warnedThen ??= warnings.length;
    return unregister(name);
  };
  const resizing = pool.resize(2).catch((error: unknown) => error);
  await asked.opened;
  await pool.close();
  expect(await resizing).toMatchObject({ code: 'ERR_POOL_CLOSED' });
  expect(warnedThen).toBe(0);
  await expect.poll(() => warnings.length).toBe(1);
});
