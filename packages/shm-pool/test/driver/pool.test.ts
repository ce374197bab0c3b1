import { setTimeout as sleep } from 'node:timers/promises';
import { availability } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { TensorPool } from '../../src/index.js';
import { type DevicePeer, startDevicePeer } from '../support/device-peer.js';
import { type FakeModel, FakeTriton, identity } from '../support/fake-triton.js';
import { expectNoLateWork } from '../support/late-work.js';
import { code, describePool, gate, pattern, roundTrip } from '../support/pool-suite.js';
import { describeRegions } from '../support/region-suite.js';
import { describeResize } from '../support/resize-suite.js';
import { describeViews } from '../support/views-suite.js';
import { describeWorkers } from '../support/worker-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

describeTier('driver', 'CUDA memory on the fake driver', () => {
  let peer: DevicePeer;

  beforeAll(() => {
    peer = startDevicePeer();
  });

  afterAll(() => peer.end());

  /** `firstOrdinal`: which of this host's GPUs the server knows as 0. */
  const makeServer = (uuids?: readonly string[], firstOrdinal = 0) => {
    const server = new FakeTriton({ identity }, (rawHandle, byteLength, deviceId) =>
      peer.openHandle(rawHandle, byteLength, firstOrdinal + deviceId),
    );
    server.uuids = uuids;
    return server;
  };
  const makeSuiteServer = (models: Readonly<Record<string, FakeModel>> = { identity }) =>
    new FakeTriton(models, (rawHandle, byteLength, deviceId) => peer.openHandle(rawHandle, byteLength, deviceId));

  describePool({ transport: 'cuda', makeServer: makeSuiteServer, options: { serverDeviceId: 0 } });
  describeRegions({ transport: 'cuda', makeServer: makeSuiteServer, options: { serverDeviceId: 0 } });

  describeResize({ transport: 'cuda', makeServer: makeSuiteServer, options: { serverDeviceId: 0 } });

  describeWorkers({ transport: 'cuda', makeServer: makeSuiteServer, options: { serverDeviceId: 0 } });

  describeViews({ transport: 'cuda', makeServer: makeSuiteServer, options: { serverDeviceId: 0 } });

  const strict = { serverDeviceId: 0, strictViews: true };
  describePool({ transport: 'cuda', makeServer: makeSuiteServer, options: strict });
  describeRegions({ transport: 'cuda', makeServer: makeSuiteServer, options: strict });

  test('10,000 leases disposed with work under way: nobody meets it', async () => {
    const pool = await open(makeServer(), { transport: 'cuda', serverDeviceId: 0, slots: 2 });
    await expectNoLateWork(pool, { input: 'IN', output: 'OUT' });
  }, 300_000);

  test('an answer that comes when a close has given its region up changes nothing more', async () => {
    const server = makeServer();
    server.version = '2.48.0';
    const answer = gate();
    server.gate = answer.opened;
    const pool = await open(server, { transport: 'cuda', serverDeviceId: 0 });
    const lease = await pool.acquire();
    const reply = lease.infer({ timeoutMs: 20 });
    await expect(reply).rejects.toMatchObject({ code: expect.stringContaining('TIMEOUT') });
    expect((await pool.destroy()).unproven).toHaveLength(1);
    answer.open();
    await sleep(50);
    expect(pool.stats.retired).toBe(1);
  });

  async function open(
    server: FakeTriton,
    more: Partial<Parameters<typeof TensorPool.open>[1]> = {},
  ): Promise<TensorPool> {
    const pool = await TensorPool.open(server, { model: 'identity', slots: 1, ...more });
    onTestFinished(async () => {
      await pool.close();
    });
    return pool;
  }

  test("'auto' takes CUDA memory when the server's only GPU is ours, and says so", async () => {
    const [first] = ourUuids();
    const pool = await open(makeServer([first ?? '']));
    expect(pool.transport).toBe('cuda');
    expect(pool.reason).toContain("the server's only GPU is ours");
    await pool.run((lease) => roundTrip(lease, 3));
  });

  test('the slots lie on the GPU that the server has, whichever ordinal it has here', async () => {
    const [, second] = ourUuids();
    const pool = await open(makeServer([second ?? ''], 1), { transport: 'cuda' });
    expect(pool.input('IN').device?.uuid).toBe(second);
    await pool.run((lease) => roundTrip(lease, 3));
  });

  test.for<[string, readonly string[] | undefined, RegExp]>([
    ['several GPUs of the server', ['GPU-a', 'GPU-b'], /the server has 2 GPUs/],
    ["another machine's GPU", ['GPU-a'], /the server's metrics list GPU-a/],
    ['several GPUs of this host and metrics without any', [], /this host has 2 GPUs/],
    ['several GPUs of this host and no metrics', undefined, /this host has 2 GPUs/],
  ])('not settled by %s: refused, and auto goes on', async ([, uuids, why]) => {
    await expect(
      TensorPool.open(makeServer(uuids), { model: 'identity', slots: 1, transport: 'cuda' }),
    ).rejects.toThrow(code('ERR_GPU_MISMATCH'));
    const pool = await open(makeServer(uuids));
    expect(pool.transport).toBe('system');
    expect(pool.reason).toMatch(why);
    expect(pool.reason).toMatch(/serverDeviceId.*metricsUrl/);
  });

  test('an ordinal that the server does not have is never registered', async () => {
    const [first] = ourUuids();
    const server = makeServer([first ?? '']);
    await expect(
      TensorPool.open(server, { model: 'identity', slots: 1, serverDeviceId: 1, transport: 'cuda' }),
    ).rejects.toThrow(code('ERR_GPU_MISMATCH'));
    expect(server.calls.register).toBe(0);
  });

  test('a model on the CPU: auto does not take device memory', async () => {
    const server = new FakeTriton({ identity: { ...identity, instanceKind: 'KIND_CPU' } }, peer.openHandle);
    const pool = await open(server, { serverDeviceId: 0 });
    expect(pool.reason).toMatch(/^system: .*runs on the CPU/);
  });

  test("a request waits for the slot's stream", async () => {
    const pool = await open(makeServer(), { transport: 'cuda', serverDeviceId: 0 });
    await pool.run(async (lease) => {
      const block = lease.input('IN');
      process.env.ZEROHOP_FAKE_WORK_DELAY_US = '20000';
      try {
        if (block.memory instanceof Uint8Array) throw new Error('Not device memory');
        lease.stream?.fill(block.memory, 0);
        expect(lease.stream?.query()).toBe(false);
        const reply = await lease.infer();
        expect(await reply.output<'FP32'>('OUT').read()).toEqual(pattern(0));
      } finally {
        process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
      }
    });
  });

  test('a slot released with work on its stream waits for it', async () => {
    const pool = await open(makeServer(), { transport: 'cuda', serverDeviceId: 0 });
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '50000';
    try {
      const lease = await pool.acquire();
      const { memory } = lease.input('IN');
      if (memory instanceof Uint8Array) throw new Error('Not device memory');
      lease.stream?.fill(memory, 1);
      lease.release();
      expect(pool.stats).toMatchObject({ idle: 0, leased: 1 });
      (await pool.acquire()).release();
    } finally {
      process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
    }
  });
});

function ourUuids(): string[] {
  const found = availability();
  return found.available ? found.devices.map(({ uuid }) => uuid) : [];
}
