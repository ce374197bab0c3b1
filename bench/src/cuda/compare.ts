/** Runs figures by the programs in turn and compares them round by round. */
import { percentile, type Spread, spread } from '../statistics.js';
import type { Asked } from './asked.js';
import type { Figure, Limit, MeasuredFigure, Program, ProgramFigure } from './figures.js';

type Rounds = Partial<Record<Program, { p50: number; p99: number }[]>>;

/**
 * In each round every figure is measured by all its programs, one right after the other, in an order that turns by one
 * with each round.
 *
 * @param seconds no round begins that would probably end later
 */
export async function compare(
  figures: readonly Figure[],
  programs: Readonly<Record<Program, Asked>>,
  rounds: number,
  seconds: number,
  progress: (text: string) => void,
): Promise<MeasuredFigure[]> {
  const began = performance.now();
  const measured = new Map<string, Rounds>(figures.map(({ id }) => [id, {}]));
  for (let round = 0; round < rounds; round += 1) {
    for (const { id, requests } of figures) {
      const entries = Object.entries(requests) as [Program, string][];
      const turn = round % entries.length;
      for (const [program, request] of [...entries.slice(turn), ...entries.slice(0, turn)]) {
        const samples = Float64Array.from(await programs[program].ask(request)).sort();
        const of = measured.get(id) as Rounds;
        of[program] ??= [];
        of[program].push({ p50: percentile(samples, 0.5), p99: percentile(samples, 0.99) });
      }
    }
    progress(`round ${round + 1} of ${rounds}`);
    const tookMs = (performance.now() - began) / (round + 1);
    if (performance.now() - began + tookMs > seconds * 1000) break;
  }
  return figures.map((figure) => conclude(figure, measured.get(figure.id) as Rounds));
}

function conclude({ id, says, bytes, limit }: Figure, rounds: Rounds): MeasuredFigure {
  const programs: Partial<Record<Program, ProgramFigure>> = {};
  const against: Partial<Record<Program, { moreNs: Spread; share: Spread }>> = {};
  const peer = rounds.peer ?? [];
  for (const [program, own] of Object.entries(rounds) as [Program, { p50: number; p99: number }[]][]) {
    const perRound = own.map(({ p50 }) => p50);
    programs[program] = {
      p50Ns: { ...spread(perRound), perRound },
      p99Ns: spread(own.map(({ p99 }) => p99)),
    };
    if (program === 'peer') continue;
    against[program] = {
      moreNs: spread(perRound.map((ours, round) => ours - (peer[round]?.p50 ?? Number.NaN))),
      share: spread(perRound.map((ours, round) => (peer[round]?.p50 ?? Number.NaN) / ours)),
    };
  }
  const ours = programs.ours;
  const compared = against.ours;
  return {
    id,
    says,
    ...(bytes !== undefined && { bytes }),
    programs,
    against,
    ...(limit !== undefined && ours !== undefined && { limit, met: meets(limit, ours, compared) }),
  };
}

function meets(limit: Limit, ours: ProgramFigure, compared: { moreNs: Spread; share: Spread } | undefined): boolean {
  switch (limit.kind) {
    case 'milliseconds':
      return ours.p50Ns.median <= limit.atMost * 1e6;
    case 'share':
      return compared !== undefined && compared.share.median >= limit.atLeast;
    case 'more-us':
      return compared !== undefined && compared.moreNs.median <= limit.atMost * 1000;
  }
}
