import { describeTier } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { TensorPool } from '../../src/index.js';
import { type DevicePeer, startDevicePeer } from '../support/device-peer.js';
import { FakeTriton, identity } from '../support/fake-triton.js';
import { code, roundTrip } from '../support/pool-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();
process.env.ZEROHOP_FAKE_DEVICES = '1';

describeTier('driver', 'a host with one GPU', () => {
  let peer: DevicePeer;

  beforeAll(() => {
    peer = startDevicePeer();
  });

  afterAll(() => peer.end());

  const makeServer = (uuids: readonly string[] | undefined, isLocal = true) => {
    const server = new FakeTriton({ identity }, peer.openHandle);
    return Object.assign(server, { uuids, isLocal });
  };

  async function open(server: FakeTriton, serverDeviceId?: number): Promise<TensorPool> {
    const given = serverDeviceId === undefined ? {} : { serverDeviceId };
    const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'cuda', ...given });
    onTestFinished(async () => {
      await pool.close();
    });
    return pool;
  }

  test.for<[string, readonly string[] | undefined]>([
    ['no metrics', undefined],
    ['metrics that list no GPU', []],
  ])("and a server on it with %s: that GPU is the server's", async ([, uuids]) => {
    const pool = await open(makeServer(uuids));
    expect(pool.reason).toContain('this host has one GPU and the server is on it');
    await pool.run((lease) => roundTrip(lease, 3));
  });

  test('and a server elsewhere whose metrics list no GPU: not settled', async () => {
    const server = makeServer([], false);
    await expect(open(server)).rejects.toThrow(code('ERR_GPU_MISMATCH'));
    expect(server.calls.register).toBe(0);
  });

  test('an ordinal that was given is not checked against metrics that list no GPU', async () => {
    const pool = await open(makeServer([], false), 0);
    expect(pool.reason).toContain('serverDeviceId 0 was given');
  });
});
