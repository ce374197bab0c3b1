import type { Round } from './results.js';
import { caseName } from './summarise.js';
import type { Case } from './tables.js';

export interface RoundsOptions {
  readonly rounds: number;
  /** Milliseconds after which no further round is begun that would not end in time. */
  readonly timeLimitMs: number;
  readonly measure: (c: Case) => Promise<Omit<Round, 'round'>>;
  readonly onProgress: (message: string) => void;
}

export interface RoundsOutcome {
  readonly rounds: ReadonlyMap<Case, readonly Round[]>;
  /** Cases that failed in every round they were tried, with the last reason. */
  readonly failures: ReadonlyMap<Case, string>;
  readonly completed: number;
}

/**
 * Round after round, every case once, in an order turned by one in each round: what the machine does meanwhile then
 * falls on all clients alike. A case that failed once is not tried again.
 */
export async function runRounds(cases: readonly Case[], options: RoundsOptions): Promise<RoundsOutcome> {
  const rounds = new Map<Case, Round[]>();
  const failures = new Map<Case, string>();
  const started = performance.now();
  let completed = 0;
  while (completed < options.rounds) {
    const begun = performance.now();
    const turned = [...cases.slice(completed % cases.length), ...cases.slice(0, completed % cases.length)];
    for (const c of turned) {
      if (failures.has(c)) continue;
      try {
        const measured = await options.measure(c);
        rounds.set(c, [...(rounds.get(c) ?? []), { ...measured, round: completed }]);
        options.onProgress(`round ${completed + 1}: ${caseName(c)}: p50 ${measured.p50Us.toFixed(0)} us`);
      } catch (error) {
        failures.set(c, error instanceof Error ? error.message : String(error));
        options.onProgress(`${caseName(c)}: ${failures.get(c)}`);
      }
    }
    completed++;
    const now = performance.now();
    if (now - started + (now - begun) > options.timeLimitMs) break;
  }
  return { rounds, failures, completed };
}
