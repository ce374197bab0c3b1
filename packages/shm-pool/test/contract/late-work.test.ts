import { expect, test } from 'vitest';
import { TensorPool, type Transport } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { expectNoLateWork } from '../support/late-work.js';

test.for<[Transport, boolean]>([
  ['system', false],
  ['system', true],
  ['bytes', false],
  ['bytes', true],
])(
  "10,000 leases on '%s' disposed with work under way: nobody meets it (strict views: %s)",
  async ([transport, strictViews]) => {
    const pool = await TensorPool.open(new FakeTriton(), { model: 'identity', slots: 2, transport, strictViews });
    await expectNoLateWork(pool, { input: 'IN', output: 'OUT' });
    expect(pool.closed).toBe(true);
  },
);
