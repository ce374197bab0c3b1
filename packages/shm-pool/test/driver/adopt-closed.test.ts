/** Memory that its owner closes while it is being adopted. */
import { readdirSync } from 'node:fs';
import { Device } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { SharedRegion } from '../../src/index.js';
import { type DevicePeer, startDevicePeer } from '../support/device-peer.js';
import { FakeTriton } from '../support/fake-triton.js';
import { ours, removeOurEntries } from '../support/names.js';
import { code } from '../support/pool-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

describeTier('driver', 'memory that is closed while it is being adopted', () => {
  let peer: DevicePeer;
  let device: Device;

  beforeAll(async () => {
    peer = startDevicePeer();
    device = await Device.open(0);
  });
  afterEach(removeOurEntries);
  afterAll(() => peer.end());

  type Waits = (server: FakeTriton, close: () => Promise<void>) => void;
  const moments: readonly [string, Waits][] = [
    [
      'the server is asked for its GPUs',
      (server, close) => {
        server.gpuUuids = async () => {
          await close();
          return [device.uuid];
        };
      },
    ],
    [
      'it is being registered',
      (server, close) => {
        const { register } = server.cudaSharedMemory;
        server.cudaSharedMemory.register = async (region) => {
          await register(region);
          await close();
        };
      },
    ],
    [
      'the server is asked whether it lists it',
      (server, close) => {
        const { status } = server.cudaSharedMemory;
        server.cudaSharedMemory.status = async (name) => {
          const regions = await status(name);
          await close();
          return regions;
        };
      },
    ],
  ];

  test.for(moments)('while %s: refused, and nothing is left', async ([, waits]) => {
    const server = new FakeTriton(undefined, peer.openHandle);
    const memory = await device.alloc(2 * 1024 * 1024, { exportable: true });
    let closings = 0;
    waits(server, () => {
      closings += 1;
      return memory.close();
    });
    await expect(SharedRegion.adopt(server, memory, { serverDeviceId: 0 })).rejects.toThrow(code('ERR_DISPOSED'));
    expect(closings).toBeGreaterThan(0);
    expect(server.regionNames).toEqual([]);
    expect(readdirSync('/dev/shm').filter(ours)).toEqual([]);
  });
});
