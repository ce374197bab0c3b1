/** A register of device memory that is answered when the memory is given up already. */
import { describeTier } from '@zerohop/test-support';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { SharedRegion } from '../../src/index.js';
import { type DevicePeer, startDevicePeer } from '../support/device-peer.js';
import { FakeTriton } from '../support/fake-triton.js';
import { removeOurEntries } from '../support/names.js';
import { gate } from '../support/pool-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

describeTier('driver', 'a register of device memory that is answered too late', () => {
  let peer: DevicePeer;

  beforeAll(() => {
    peer = startDevicePeer();
  });
  afterEach(removeOurEntries);
  afterAll(() => peer.end());

  test('is taken back', async () => {
    const server = new FakeTriton(undefined, peer.openHandle);
    const [asked, allowed] = [gate(), gate()];
    const { register } = server.cudaSharedMemory;
    server.cudaSharedMemory.register = async (region) => {
      asked.open();
      await allowed.opened;
      await register(region);
    };
    const controller = new AbortController();
    const options = {
      kind: 'cuda',
      byteLength: 1024,
      device: 0,
      serverDeviceId: 0,
      signal: controller.signal,
    } as const;
    const allocating = SharedRegion.allocate(server, options);
    await asked.opened;
    controller.abort(new Error('changed my mind'));
    await expect(allocating).rejects.toThrow('changed my mind');
    allowed.open();
    await expect.poll(() => server.names).toHaveLength(1);
    await expect.poll(() => server.regionNames).toEqual([]);
  });
});
