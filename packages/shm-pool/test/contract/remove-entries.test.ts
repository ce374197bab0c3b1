import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { removeEntries, TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { ours } from '../support/names.js';
import { roundTrip } from '../support/pool-suite.js';

test("removes this process's entries and no others; what is mapped goes on, and a close is as ever", async () => {
  const pool = await TensorPool.open(new FakeTriton(), { model: 'identity', slots: 2, transport: 'system' });
  expect(readdirSync('/dev/shm').filter(ours)).toHaveLength(2);
  const others = readdirSync('/dev/shm').filter((name) => !ours(name) && !name.startsWith('zerohop'));
  removeEntries();
  removeEntries();
  expect(readdirSync('/dev/shm').filter(ours)).toEqual([]);
  for (const name of others) expect(existsSync(`/dev/shm/${name}`)).toBe(true);
  await pool.run((lease) => roundTrip(lease, 1));
  expect(await pool.close()).toEqual({ unproven: [] });
});
