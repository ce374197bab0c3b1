import { describeTier } from '@zerohop/test-support';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { removeOurEntries } from '../support/names.js';
import { expectClean } from '../support/schedule/expect-counts.js';
import { runSchedule } from '../support/schedule/schedule.js';
import { realTarget } from '../support/schedule/targets.js';

const STORM = { disturbEvery: 100, killEvery: 1000, reopenEvery: 700, resizeEvery: 50, stuckMs: 60_000 };

afterAll(removeOurEntries);

async function everything(version: '2.51' | '2.48', transport: 'system' | 'bytes'): Promise<void> {
  const target = await realTarget(version);
  onTestFinished(() => target.close());
  const report = await runSchedule(target, { seed: 17, requests: 1000, transport, ...STORM });
  expectClean([report]);
  if (transport === 'bytes') expect(report).toMatchObject({ retired: 0, registerCalls: 0 });
  // With so few requests a proof is a matter of chance; none is to be had of a server that doesn't count users.
  else if (version === '2.48') expect(report.ledger.proofs).toBe(0);
}

describeTier('triton', 'random schedules on real servers', () => {
  test.for(['system', 'bytes'] as const)('2.51, everything that can happen, on %s', (transport) =>
    everything('2.51', transport),
  );
});

describeTier(
  'triton',
  'random schedules on an old real server',
  () => {
    test('2.48, everything that can happen', () => everything('2.48', 'system'));
  },
  { needs: ['old-triton'] },
);
