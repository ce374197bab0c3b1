import type { Machine } from '../machine.js';
import type { Measurement } from '../results.js';
import { type Interval, medianInterval } from '../statistics.js';
import { type Case, type Comparison, caseName, type Figure } from './cases.js';

export type ClientRound = Measurement & {
  readonly round: number;
  /** How much the peak of resident memory rose while requests were made. Not known for programs that are not Node. */
  readonly rssGrowthBytes?: number;
};

export interface ClientRow extends Omit<Case, 'work'> {
  readonly work: string;
  readonly model: string;
  readonly rounds: readonly ClientRound[];
}

/** Ours against a peer, round by round; without a peer the figure itself. */
export interface Outcome {
  readonly ours: string;
  readonly peer?: string;
  readonly figure: Figure;
  readonly value: Interval & { readonly perRound: readonly number[] };
  readonly atMost?: number;
  readonly atLeast?: number;
  /** Whether the median is as asked; absent where nothing was. */
  readonly met?: boolean;
}

/** The shape of a results file of the client's benchmark. Times in microseconds. */
export interface ClientResults {
  readonly kind: 'client';
  readonly date: string;
  readonly commit: string;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  readonly parameters: { readonly durationMs: number; readonly warmUpMs: number; readonly complete: boolean };
  readonly rows: readonly ClientRow[];
  readonly outcomes: readonly Outcome[];
  readonly skipped: readonly { readonly row: string; readonly reason: string }[];
}

/** Undefined when no round has both. */
export function outcomeOf(comparison: Comparison, roundsOf: (c: Case) => readonly ClientRound[]): Outcome | undefined {
  const { ours, peer, figure, atMost, atLeast } = comparison;
  const perRound = roundsOf(ours).flatMap((round) => {
    const own = round[figure];
    if (own === undefined) return [];
    if (peer === undefined) return [own];
    const other = roundsOf(peer).find((candidate) => candidate.round === round.round)?.[figure];
    return other === undefined ? [] : [own / other];
  });
  if (perRound.length === 0) return undefined;
  const value = { ...medianInterval(perRound), perRound };
  return {
    ours: caseName(ours),
    ...(peer !== undefined && { peer: caseName(peer) }),
    figure,
    value,
    ...(atMost !== undefined && { atMost, met: value.median <= atMost }),
    ...(atLeast !== undefined && { atLeast, met: value.median >= atLeast }),
  };
}
