import { expect, onTestFinished, test } from 'vitest';
import { runSchedule } from './schedule/schedule.js';
import type { Target } from './schedule/target.js';
import { packageWith, SEEDED_BUGS, type SeededBug } from './seeded-bugs.js';

/** One test for each bug of that transport: a schedule as short as those of the tiers notices it, for the right reason. */
export function describeSeededBugs(transport: 'system' | 'cuda', makeTarget: (version: string) => Target): void {
  const bugs = SEEDED_BUGS.filter((bug) => (bug.transport ?? 'system') === transport);
  test.for(bugs.map((bug): [string, SeededBug] => [bug.name, bug]))('noticed: %s', async ([, bug]) => {
    const { pool, remove } = await packageWith(bug);
    onTestFinished(remove);
    const report = await runSchedule(makeTarget(bug.version ?? '2.51.0'), {
      seed: 31,
      requests: 3000,
      transport,
      disturbEvery: 20,
      killEvery: 500,
      reopenEvery: 300,
      stuckMs: 2000,
      ...bug.schedule,
      poolOptions: { ...(transport === 'cuda' && { serverDeviceId: 0 }), ...bug.schedule?.poolOptions },
      open: (...args) => pool.TensorPool.open(...args),
    });
    expect(report.violations.length, JSON.stringify(report)).toBeGreaterThan(0);
    expect(report.violations[0]).toMatch(bug.caughtBy);
  });
}
