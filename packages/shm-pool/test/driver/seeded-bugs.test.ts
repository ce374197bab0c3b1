import { describeTier } from '@zerohop/test-support';
import { afterAll, beforeAll } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { type DevicePeer, startDevicePeer } from '../support/device-peer.js';
import { fakeTarget } from '../support/schedule/targets.js';
import { describeSeededBugs } from '../support/seeded-bugs-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

describeTier('driver', 'bugs put into the pool, on device memory', () => {
  let peer: DevicePeer;

  beforeAll(() => {
    peer = startDevicePeer();
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '300';
  });

  afterAll(async () => {
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
    await peer.end();
  });

  describeSeededBugs('cuda', (version) =>
    fakeTarget(version, (...handle: Parameters<DevicePeer['openHandle']>) => peer.openHandle(...handle)),
  );
});
