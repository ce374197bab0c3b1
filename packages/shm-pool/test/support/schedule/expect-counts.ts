/** What schedules must have met, so that their silence says something. */
import { expect } from 'vitest';
import type { ScheduleReport } from './options.js';

/** A schedule's, or a sum's. */
export type Counted = Omit<ScheduleReport, 'seed'>;

/** Of the requests, at least. */
const SHARES = { timedOut: 0.05, cancelled: 0.02, lateWrites: 0.01 };

/** One kill for so many requests, at least. */
const REQUESTS_PER_KILL = 10_000;

export function sumOf(reports: readonly Counted[], of: (report: Counted) => number): number {
  return reports.reduce((total, report) => total + of(report), 0);
}

/** Asserts that nothing was violated, and that the schedules together met what they have to. */
export function expectClean(reports: readonly Counted[], { kills = true }: { readonly kills?: boolean } = {}): void {
  const told = JSON.stringify(reports);
  for (const { violations } of reports) expect(violations, told).toEqual([]);
  const requests = sumOf(reports, (report) => report.requests);
  // Three standard deviations less: of a few hundred requests chance decides.
  const least = (share: number) => requests * share - 3 * Math.sqrt(requests * share);
  expect(
    sumOf(reports, ({ timedOut }) => timedOut),
    told,
  ).toBeGreaterThanOrEqual(least(SHARES.timedOut));
  expect(
    sumOf(reports, ({ cancelled }) => cancelled),
    told,
  ).toBeGreaterThanOrEqual(least(SHARES.cancelled));
  // In the message there is nothing to write late into.
  if (reports.some(({ transport }) => transport !== 'bytes')) {
    expect(
      sumOf(reports, ({ ledger }) => ledger.lateWrites),
      told,
    ).toBeGreaterThanOrEqual(least(SHARES.lateWrites));
  }
  if (!kills) return;
  const killed = sumOf(reports, ({ disturbances }) => disturbances.kill ?? 0);
  expect(killed, told).toBeGreaterThanOrEqual(Math.max(1, Math.floor(requests / REQUESTS_PER_KILL)));
}
