import { describeTier } from '@zerohop/test-support';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { type DevicePeer, startDevicePeer } from '../support/device-peer.js';
import { expectClean } from '../support/schedule/expect-counts.js';
import { runSchedule } from '../support/schedule/schedule.js';
import { fakeTarget } from '../support/schedule/targets.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

describeTier('driver', 'random schedules on device memory of the fake driver', () => {
  let peer: DevicePeer;

  beforeAll(() => {
    peer = startDevicePeer();
  });

  afterAll(() => peer.end());

  beforeEach(() => {
    // Copies and fills take a while, so that what does not wait for them is seen.
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '300';
    return () => {
      process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
    };
  });

  const schedule = { transport: 'cuda', poolOptions: { serverDeviceId: 0 } } as const;

  test('no connection lost: nothing is retired', async () => {
    const options = { requests: 1500, disturbEvery: 60, loseConnections: false };
    const report = await runSchedule(fakeTarget('2.51.0', peer.openHandle), { seed: 21, ...options, ...schedule });
    expectClean([report], { kills: false });
    expect(report.retired).toBe(0);
  });

  test.for(['2.48.0', '2.51.0', '2.53.0'])('everything that can happen, version %s', async (version) => {
    const options = { requests: 2000, disturbEvery: 120, killEvery: 1500, reopenEvery: 700, resizeEvery: 60 };
    const report = await runSchedule(fakeTarget(version, peer.openHandle), { seed: 22, ...options, ...schedule });
    expectClean([report]);
    expect(report.ledger.proofs > 0).toBe(version !== '2.48.0');
  });

  test('outputs that outgrow their blocks, views that end with their lease', async () => {
    const options = {
      requests: 800,
      disturbEvery: 60,
      killEvery: 500,
      reopenEvery: 100,
      resizeEvery: 30,
      growing: true,
    };
    const poolOptions = { ...schedule.poolOptions, strictViews: true };
    const target = fakeTarget('2.51.0', peer.openHandle);
    const report = await runSchedule(target, { seed: 23, ...options, ...schedule, poolOptions });
    expectClean([report]);
    expect(report.met['second run']).toBeGreaterThan(10);
    expect(report.met['ended view']).toBeGreaterThan(10);
  });
});
