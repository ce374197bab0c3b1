/** What promises something says by its promise that it was called wrongly, and changes nothing. */
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { type BlockHandle, openBlock, reap, SharedRegion, TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { removeOurEntries } from '../support/names.js';
import { code, pattern, roundTrip } from '../support/pool-suite.js';

const none = [undefined, null, 5, 'x', Symbol('x'), {}] as never[];
const options = { model: 'identity', slots: 1, transport: 'system' } as const;

let server: FakeTriton;
let pool: TensorPool;

beforeEach(async () => {
  server = new FakeTriton();
  pool = await TensorPool.open(server, options);
});
afterEach(() => pool.close());
afterAll(removeOurEntries);

/** That a call throws nothing itself, and what its promise rejects with is of the house's making. */
async function expectRejection(call: () => Promise<unknown>): Promise<void> {
  const promise = call();
  expect(promise).toBeInstanceOf(Promise);
  await expect(promise).rejects.toThrow(/^Expected .* for .* but received /);
}

test('the calls of the package', async () => {
  for (const wrong of none) {
    await expectRejection(() => TensorPool.open(wrong, options));
    if (wrong !== undefined) await expectRejection(() => TensorPool.open(server, wrong));
    await expectRejection(() => SharedRegion.allocate(wrong, { kind: 'system', byteLength: 1 }));
    await expectRejection(() => SharedRegion.allocate(server, wrong));
    await expectRejection(() => SharedRegion.adopt(server, wrong));
    await expectRejection(() => reap(wrong));
    await expectRejection(() => openBlock(wrong));
  }
});

test('the calls of a pool and of a region', async () => {
  const region = await SharedRegion.allocate(server, { kind: 'system', byteLength: 64 });
  for (const wrong of none) {
    if (wrong !== undefined) await expectRejection(() => pool.run(wrong));
    await expectRejection(() => pool.resize(Number.isInteger(wrong) ? 0 : wrong));
    const timeout = { timeoutMs: Number.isInteger(wrong) ? -1 : (wrong ?? Number.NaN) } as never;
    await expectRejection(() => pool.acquire(timeout));
    await expectRejection(() => pool.close(timeout));
    await expectRejection(() => region.release(timeout));
  }
  expect(pool.closed).toBe(false);
  expect(region.closed).toBe(false);
  await pool.run((lease) => roundTrip(lease, 1));
  expect(await region.release()).toEqual({ proven: true });
});

test('the calls of a lease and of its blocks', async () => {
  const lease = await pool.acquire();
  const block = lease.input<'FP32'>('IN');
  await block.write(pattern(3));
  for (const wrong of none) {
    await expectRejection(() => block.write(wrong));
    await expectRejection(() => block.write(new Uint8Array(5)));
    await expectRejection(() => block.write(pattern(4), 7 as never));
    if (wrong !== undefined) await expectRejection(() => block.read(wrong));
    if (wrong !== undefined) await expectRejection(() => lease.infer({ outputs: wrong }));
  }
  expect(await block.read()).toEqual(pattern(3));
  const opened = await openBlock(block.handle as BlockHandle<'FP32'>);
  await expectRejection(() => opened.write(new Uint8Array(5)));
  await opened.close();
  const late = opened.write(pattern(5));
  await expect(late).rejects.toThrow(code('ERR_DISPOSED'));
  await expect(opened.read()).rejects.toThrow(code('ERR_DISPOSED'));
  lease.release();
  for (const call of [() => block.write(pattern(5)), () => block.read(), () => lease.infer()]) {
    const promise: Promise<unknown> = call();
    await expect(promise).rejects.toThrow(code('ERR_LEASE_RELEASED'));
  }
});
