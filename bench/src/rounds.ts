import type { Round } from './results.js';

export interface RoundsOptions<C> {
  readonly nameOf: (c: C) => string;
  readonly roundsOf: (c: C) => number;
  /** Milliseconds after which no further round is begun that would not end in time. */
  readonly timeLimitMs: number;
  readonly measure: (c: C) => Promise<Omit<Round, 'round'>>;
  readonly onProgress: (message: string) => void;
}

export interface RoundsOutcome<C> {
  readonly rounds: ReadonlyMap<C, readonly Round[]>;
  /** Cases that failed, with the reason; the rounds before that are kept. */
  readonly failures: ReadonlyMap<C, string>;
  /** False when time ran out before every case had its rounds. */
  readonly complete: boolean;
}

/**
 * Round after round, every case that still wants one once, in an order turned by one in each round: what the machine does
 * meanwhile then falls on all clients alike. A case that failed once is not tried again.
 */
export async function runRounds<C>(cases: readonly C[], options: RoundsOptions<C>): Promise<RoundsOutcome<C>> {
  const rounds = new Map<C, Round[]>();
  const failures = new Map<C, string>();
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
        options.onProgress(`round ${round + 1}: ${options.nameOf(c)}: p50 ${measured.p50Us.toFixed(0)} us`);
      } catch (error) {
        failures.set(c, error instanceof Error ? error.message : String(error));
        options.onProgress(`${options.nameOf(c)}: ${failures.get(c)}`);
      }
    }
    const now = performance.now();
    if (round + 1 < wanted && now - started + (now - begun) > options.timeLimitMs) {
      return { rounds, failures, complete: false };
    }
  }
  return { rounds, failures, complete: true };
}
