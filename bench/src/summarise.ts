/** From rounds to rows and ratios. */
import type { Ratio, Round, Row } from './results.js';
import { spread } from './statistics.js';
import type { Case } from './tables.js';

export function caseName(c: Case): string {
  const work = c.work === 'infer' ? '' : `, ${c.work}`;
  return `${c.table.id}: ${c.client}, ${c.transport}, ${c.inFlight} in flight${work}`;
}

export function summariseRow(c: Case, rounds: readonly Round[]): Row {
  const cpu = rounds.flatMap((round) => round.clientCpuUs ?? []);
  return {
    table: c.table.id,
    model: c.table.model,
    backend: c.table.backend,
    client: c.client,
    transport: c.transport,
    inFlight: c.inFlight,
    work: c.work,
    rounds,
    summary: {
      p50Us: spread(rounds.map((round) => round.p50Us)),
      p99Us: spread(rounds.map((round) => round.p99Us)),
      requestsPerSecond: spread(rounds.map((round) => round.requestsPerSecond)),
      ...(cpu.length > 0 && { clientCpuUs: spread(cpu) }),
    },
  };
}

/** Our p50 over each peer's, of the same round; only rows that do the same work are compared. */
export function ratiosOf(rows: readonly Row[]): Ratio[] {
  const ours = rows.filter((row) => row.client === 'pool' && row.work === 'infer');
  return ours.flatMap((row) =>
    rows
      .filter(
        (peer) =>
          peer.client !== 'pool' &&
          peer.table === row.table &&
          peer.transport === row.transport &&
          peer.inFlight === row.inFlight,
      )
      .flatMap((peer) => {
        const perRound = row.rounds.flatMap((round) => {
          const other = peer.rounds.find((candidate) => candidate.round === round.round);
          return other === undefined ? [] : [round.p50Us / other.p50Us];
        });
        if (perRound.length === 0) return [];
        return [
          {
            table: row.table,
            backend: row.backend,
            peer: peer.client,
            transport: row.transport,
            inFlight: row.inFlight,
            p50: { ...spread(perRound), perRound },
          },
        ];
      }),
  );
}
