import { existsSync } from 'node:fs';
import { SharedMemory } from '@zerohop/cuda-native';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type PoolOptions, reap, TensorPool } from '../../src/index.js';
import { regionName } from '../../src/names.js';
import { abandon, abandonAgain, gone } from '../support/abandoned.js';
import { FakeError, FakeTriton } from '../support/fake-triton.js';
import { ours } from '../support/names.js';
import { roundTrip } from '../support/pool-suite.js';

let server: FakeTriton;

beforeEach(() => {
  server = new FakeTriton();
});

const elsewhere = { ...gone, pidNamespace: '1' };

async function leave(maker = elsewhere): Promise<{ entry: string; region: string }> {
  const entry = abandon(maker);
  const region = regionName(entry, 0);
  await server.systemSharedMemory.register({ name: region, key: `/${entry}`, byteLength: 4096 });
  return { entry, region };
}

async function open(more: Partial<PoolOptions> = {}): Promise<TensorPool> {
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system', ...more });
  onTestFinished(async () => void (await pool.destroy()));
  return pool;
}

test('what a crashed process left is gone before a pool allocates', async () => {
  const { entry, region } = await leave();
  const create = vi.spyOn(SharedMemory, 'create').mockImplementationOnce(async (...args) => {
    expect(server.regionNames).toEqual([]);
    expect(existsSync(`/dev/shm/${entry}`)).toBe(false);
    create.mockRestore();
    return SharedMemory.create(...args);
  });
  const pool = await open();
  expect(create).not.toBe(SharedMemory.create);
  expect(server.regionNames).not.toContain(region);
  await pool.run((lease) => roundTrip(lease, 1));
});

test('where nothing is stale the server is asked nothing', async () => {
  const everyone = vi.spyOn(SharedMemory, 'tryLock').mockReturnValue('locked');
  onTestFinished(() => everyone.mockRestore());
  const living = await open();
  const [metadata, status] = [vi.spyOn(server, 'serverMetadata'), vi.spyOn(server.systemSharedMemory, 'status')];
  await open();
  expect(metadata).not.toHaveBeenCalled();
  // One look for the slot's own name.
  expect(status).toHaveBeenCalledOnce();
  expect(living.closed).toBe(false);
});

test('it can be turned off, and messages need no /dev/shm', async () => {
  const { entry, region } = await leave();
  await open({ reap: false });
  await open({ transport: 'bytes' });
  expect(server.regionNames).toContain(region);
  expect(existsSync(`/dev/shm/${entry}`)).toBe(true);
  await expect(open({ reap: 1 as never })).rejects.toThrow(TypeError);
});

test.for(['status', 'unregister', 'metadata'])('a failure of it (%s) does not fail the opening', async (what) => {
  const { entry, region } = await leave();
  const no = new FakeError('TRITON_INTERNAL', 'no');
  if (what === 'status') vi.spyOn(server.cudaSharedMemory, 'status').mockRejectedValueOnce(no);
  if (what === 'unregister') server.refuseUnregister = no;
  if (what === 'metadata') vi.spyOn(server, 'serverMetadata').mockRejectedValueOnce(no);
  const pool = await open();
  abandonAgain(entry);
  await pool.run((lease) => roundTrip(lease, 1));
  expect(server.regionNames).toContain(region);
  expect(existsSync(`/dev/shm/${entry}`)).toBe(true);
  // The next one finds it.
  server.refuseUnregister = undefined;
  await open();
  expect(server.regionNames).not.toContain(region);
});

test('an abort ends the opening while it waits for a region in use', async () => {
  const { region } = await leave();
  const controller = new AbortController();
  const changed = new Error('changed my mind');
  server.systemSharedMemory.unregister = () => {
    controller.abort(changed);
    return Promise.reject(new FakeError('TRITON_INTERNAL', `'${region}', it is currently in use.`));
  };
  await expect(open({ signal: controller.signal })).rejects.toBe(changed);
  expect(server.calls.register).toBe(1);
});

test('pools that open and close under a reaper that never rests lose nothing', async () => {
  let over = false;
  const reaped: string[] = [];
  const reaping = (async () => {
    while (!over) {
      const { unregistered, removed } = await reap(server);
      reaped.push(...unregistered, ...removed);
    }
  })();
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let round = 0; round < 25; round += 1) {
        const pool = await TensorPool.open(server, { model: 'identity', slots: 2, transport: 'system' });
        await pool.run((lease) => roundTrip(lease, round));
        expect(await pool.close()).toEqual({ unproven: [] });
      }
    }),
  );
  over = true;
  await reaping;
  expect(reaped.filter(ours)).toEqual([]);
  expect(server.regionNames).toEqual([]);
});
