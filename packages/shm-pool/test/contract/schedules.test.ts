import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { removeOurEntries } from '../support/names.js';
import { expectClean } from '../support/schedule/expect-counts.js';
import { runSchedules } from '../support/schedule/many.js';
import { runSchedule } from '../support/schedule/schedule.js';
import { devServerTarget, fakeTarget } from '../support/schedule/targets.js';

const STORM = { disturbEvery: 120, killEvery: 1000, reopenEvery: 600, resizeEvery: 40 };
const OFTEN = { disturbEvery: 30, reopenEvery: 80, killEvery: 400, resizeEvery: 20 };
const SHORT = { disturbEvery: 80, killEvery: 800 };

afterAll(removeOurEntries);

describe('random schedules on a double in this process', () => {
  test('no connection lost, one pool: nothing is registered again or retired', async () => {
    const report = await runSchedule(fakeTarget(), { seed: 11, requests: 1500, transport: 'system', slots: 6 });
    expectClean([report], { kills: false });
    expect(report).toMatchObject({ retired: 0, registerCalls: 6, reregistrations: 0, pools: 1 });
    expect(report.met['smaller request']).toBeGreaterThan(50);
  });

  test('resized all the time: as many slots as the last wish, nothing is registered again or retired', async () => {
    const options = { requests: 1000, transport: 'system', slots: 6, resizeEvery: 8 } as const;
    const report = await runSchedule(fakeTarget(), { seed: 41, ...options });
    expectClean([report], { kills: false });
    expect(report).toMatchObject({ retired: 0, reregistrations: 0, pools: 1 });
    expect(report.met['failed resize']).toBeUndefined();
    expect(report.met.resize).toBeGreaterThan(30);
  });

  test.for(['2.48.0', '2.51.0'])('outputs that outgrow their blocks, version %s', async (version) => {
    const options = { requests: 600, transport: 'system', growing: true } as const;
    const report = await runSchedule(fakeTarget(version), { seed: 42, ...options, ...STORM, ...OFTEN });
    expectClean([report]);
    expect(report.met['second run']).toBeGreaterThan(10);
  });

  test.for(['system', 'bytes'] as const)('views that end with their lease, on %s', async (transport) => {
    const options = { requests: 600, transport, poolOptions: { strictViews: true } } as const;
    const report = await runSchedule(fakeTarget(), { seed: 43, ...options, ...STORM, ...OFTEN });
    expectClean([report]);
    expect(report.met['ended view']).toBeGreaterThan(10);
  });

  test('regions forgotten: registered anew, nothing is retired', async () => {
    const options = { requests: 1500, transport: 'system', disturbEvery: 60, loseConnections: false } as const;
    const report = await runSchedule(fakeTarget(), { seed: 12, ...options });
    expectClean([report], { kills: false });
    expect(report.reregistrations).toBeGreaterThan(10);
    expect(report.retired).toBe(0);
  });

  test.for(['2.48.0', '2.51.0', '2.53.0'])('everything that can happen, version %s', async (version) => {
    const report = await runSchedule(fakeTarget(version), { seed: 13, requests: 2000, transport: 'system', ...STORM });
    expectClean([report]);
    expect(report.ledger.lost).toBeGreaterThan(10);
    expect(report.ledger.proofs > 0).toBe(version !== '2.48.0');
  });

  test('short ones, each with circumstances of its own', async () => {
    const options = { requests: 2500, each: 100, killEvery: 1000, transport: 'system' } as const;
    const sum = await runSchedules(fakeTarget(), { seed: 1400, ...options });
    expectClean([sum]);
    expect(sum.schedules).toBeGreaterThan(15);
    for (const what of ['resize', 'second run', 'smaller request', 'ended view'] as const)
      expect(sum.met[what], what).toBeGreaterThan(5);
  });

  test('everything that can happen, in the message', async () => {
    const report = await runSchedule(fakeTarget(), { seed: 14, requests: 2000, transport: 'bytes', ...STORM });
    expectClean([report]);
    expect(report).toMatchObject({ retired: 0, registerCalls: 0 });
  });
});

describe('random schedules on the devserver', () => {
  test.for(['2.48', '2.51', '2.53', '2.68'] as const)('everything that can happen, version %s', async (version) => {
    const target = await devServerTarget(version);
    onTestFinished(() => target.close());
    const report = await runSchedule(target, { seed: 15, requests: 1200, transport: 'system', ...STORM, ...SHORT });
    expectClean([report]);
    expect(report.ledger.lost).toBeGreaterThan(10);
    expect(report.ledger.proofs > 0).toBe(version !== '2.48');
  });

  test.for(['2.48', '2.53'] as const)('outputs that outgrow their blocks, version %s', async (version) => {
    const target = await devServerTarget(version);
    onTestFinished(() => target.close());
    const options = { seed: 44, requests: 400, transport: 'system', growing: true } as const;
    const report = await runSchedule(target, { ...options, ...STORM, ...OFTEN, poolOptions: { strictViews: true } });
    expectClean([report]);
    expect(report.met['second run']).toBeGreaterThan(0);
  });

  test('everything that can happen, in the message', async () => {
    const target = await devServerTarget('2.51');
    onTestFinished(() => target.close());
    const report = await runSchedule(target, { seed: 16, requests: 1200, transport: 'bytes', ...STORM, ...SHORT });
    expectClean([report]);
    expect(report).toMatchObject({ retired: 0, registerCalls: 0 });
  });
});
