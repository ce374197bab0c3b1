import type { Round } from './results.js';
import { caseName } from './summarise.js';
import type { Case } from './tables.js';

export interface RoundsOptions {
  readonly roundsOf: (c: Case) => number;
  /** Milliseconds after which no further round is begun that would not end in time. */
  readonly timeLimitMs: number;
  readonly measure: (c: Case) => Promise<Omit<Round, 'round'>>;
  readonly onProgress: (message: string) => void;
}

export interface RoundsOutcome {
  readonly rounds: ReadonlyMap<Case, readonly Round[]>;
  /** Cases that failed, with the reason; the rounds before that are kept. */
  readonly failures: ReadonlyMap<Case, string>;
  /** False when time ran out before every case had its rounds. */
  readonly complete: boolean;
}

/**
 * Round after round, every case that still wants one once, in an order turned by one in each round: what the machine does
 * meanwhile then falls on all clients alike. A case that failed once is not tried again.
 */
export async function runRounds(cases: readonly Case[], options: RoundsOptions): Promise<RoundsOutcome> {
  const rounds = new Map<Case, Round[]>();
  const failures = new Map<Case, string>();
  const started = performance.now();
  const wanted = Math.max(0, ...cases.map(options.roundsOf));
  for (let round = 0; round < wanted; round++) {
    const begun = performance.now();
    const due = cases.filter((c) => options.roundsOf(c) > round && !failures.has(c));
    const turn = round % Math.max(1, due.length);
    for (const c of [...due.slice(turn), ...due.slice(0, turn)]) {
      try {
        const measured = await options.measure(c);
        rounds.set(c, [...(rounds.get(c) ?? []), { ...measured, round }]);
        options.onProgress(`round ${round + 1}: ${caseName(c)}: p50 ${measured.p50Us.toFixed(0)} us`);
      } catch (error) {
        failures.set(c, error instanceof Error ? error.message : String(error));
        options.onProgress(`${caseName(c)}: ${failures.get(c)}`);
      }
    }
    const now = performance.now();
    if (round + 1 < wanted && now - started + (now - begun) > options.timeLimitMs) {
      return { rounds, failures, complete: false };
    }
  }
  return { rounds, failures, complete: true };
}
