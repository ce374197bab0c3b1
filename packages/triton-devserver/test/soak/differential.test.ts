import { randomInt } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { describeTier, repositoryRoot } from '@zerohop/test-support';
import { afterAll, expect, test } from 'vitest';
import { describeCommit, describeMachine } from '../../../../bench/src/machine.js';
import { type ComparisonReport, compareServers, lineOf } from '../support/differential/comparison.js';
import { KnownDifferences } from '../support/differential/differences.js';

/**
 * DIFFERENTIAL_SEED repeats a run; DIFFERENTIAL_REQUESTS is how many go to each version; DIFFERENTIAL_REPORT names a file for
 * what differed and what was lost, one line each; DIFFERENTIAL_OUT one for the result.
 */
const { DIFFERENTIAL_OUT, DIFFERENTIAL_REPORT, DIFFERENTIAL_SEED, DIFFERENTIAL_REQUESTS = '3000' } = process.env;
const REQUESTS = Number(DIFFERENTIAL_REQUESTS);
/** So often may the real server die or hang, for each 100 requests: more would be a rule that the generator has to know. */
const MOST_LOST = 1;

describeTier(
  'triton',
  'the same requests to a real server and to the devserver',
  () => {
    const reports: ComparisonReport[] = [];

    afterAll(async () => {
      if (DIFFERENTIAL_OUT === undefined || reports.length === 0) return;
      const result = {
        kind: 'soak-devserver-differential',
        date: new Date().toISOString().slice(0, 10),
        commit: await describeCommit(repositoryRoot),
        machine: await describeMachine(),
        versions: { node: process.version },
        runs: reports.map((report) => ({ ...report, lost: byReason(report), differences: report.differences.length })),
      };
      writeFileSync(DIFFERENTIAL_OUT, `${JSON.stringify(result, null, 1)}\n`);
    });

    test.each(['2.51', '2.48'] as const)(
      '%s: status, text and data are the same',
      async (version) => {
        const seed = DIFFERENTIAL_SEED === undefined ? randomInt(2 ** 31) : Number(DIFFERENTIAL_SEED);
        process.stdout.write(`differential, ${version}: DIFFERENTIAL_SEED=${seed}\n`);
        const report = await compareServers({
          version,
          seed,
          requests: REQUESTS,
          loads: true,
          known: new KnownDifferences(),
          mostLost: Math.ceil((REQUESTS / 100) * MOST_LOST),
          onProblem: (problem) => {
            if (DIFFERENTIAL_REPORT === undefined) return;
            appendFileSync(DIFFERENTIAL_REPORT, `${lineOf({ version, seed, ...problem })}\n`);
          },
        });
        reports.push(report);
        expect(report.differences.map(lineOf), `DIFFERENTIAL_SEED=${seed}`).toEqual([]);
      },
      3_600_000,
    );
  },
  { needs: ['addon'] },
);

/** How often each kind of step was the last one that a real server saw, by how it ended. */
function byReason({ lost }: ComparisonReport): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { how, what } of lost) {
    const reason = `${how.replace(/:.*/s, '')}: ${what.split(' ', 1)[0]}`;
    counts[reason] = (counts[reason] ?? 0) + 1;
  }
  return counts;
}
