import { describe, expect, test } from 'vitest';
import { toMarkdown } from '../../src/markdown.js';
import { parseReport } from '../../src/peers.js';
import type { Round, TransportResults } from '../../src/results.js';
import { ratiosOf, summariseRow } from '../../src/summarise.js';
import { type Case, TABLES } from '../../src/tables.js';

const table = TABLES[0] as (typeof TABLES)[number];
const ours: Case = { table, client: 'pool', transport: 'system', inFlight: 1, work: 'infer' };
const peer: Case = { ...ours, client: 'perf_analyzer' };

function rounds(...p50s: number[]): Round[] {
  return p50s.map((p50Us, round) => ({ round, requests: 10, p50Us, p99Us: p50Us * 2, requestsPerSecond: 100 }));
}

describe('ratiosOf', () => {
  test('divides round by round, and only where both have the round', () => {
    const [ratio, ...others] = ratiosOf([
      summariseRow(ours, rounds(90, 100, 110)),
      summariseRow(peer, rounds(100, 200)),
    ]);
    expect(others).toEqual([]);
    expect(ratio?.peer).toBe('perf_analyzer');
    expect(ratio?.p50).toEqual({ median: 0.7, min: 0.5, max: 0.9, perRound: [0.9, 0.5] });
  });

  test('compares no row with one that does other work, or by another transport', () => {
    const others: Case[] = [
      { ...peer, transport: 'cuda' },
      { ...peer, inFlight: 4 },
    ];
    const writes = summariseRow({ ...ours, work: 'write+infer+read' }, rounds(1));
    expect(ratiosOf([summariseRow(ours, rounds(1)), writes, ...others.map((c) => summariseRow(c, rounds(1)))])).toEqual(
      [],
    );
  });
});

describe('parseReport', () => {
  const csv =
    'Concurrency,Inferences/Second,Client Send,Server Queue,p50 latency,p90 latency,p95 latency,p99 latency\n' +
    '1,2845.04,3,36,314,426,492,697\n';

  test("reads perf_analyzer's columns by name", () => {
    expect(parseReport(csv, '  Client: \n    Request count: 10386\n')).toEqual({
      requests: 10386,
      p50Us: 314,
      p99Us: 697,
      requestsPerSecond: 2845.04,
    });
  });

  test('says which column is missing', () => {
    expect(() => parseReport(csv.replace('p99 latency', 'p98 latency'), '')).toThrow("no 'p99 latency'");
  });
});

describe('toMarkdown', () => {
  test('prints every row with its client, transport and backend, every ratio, and what did not run', () => {
    const rows = [summariseRow(ours, rounds(90, 110)), summariseRow(peer, rounds(100, 100))];
    const results: TransportResults = {
      kind: 'transports',
      date: '2026-01-02',
      commit: 'abc',
      machine: { name: 'cpu', cpu: 'A CPU', cores: 2, memoryGiB: 4, kernel: '6.1', gpus: [] },
      versions: { node: 'v20.19.0' },
      parameters: { durationMs: 100, warmUpMs: 50, complete: true },
      tables: [{ id: table.id, title: table.title }],
      rows,
      ratios: ratiosOf(rows),
      skipped: [{ row: 'every CUDA row', reason: 'no driver' }],
    };
    const text = toMarkdown(results);
    expect(text).toContain('| **zerohop, one lane** | system shm | 1 | native | 2 | 100 (90–110) |');
    expect(text).toContain('| C++ perf_analyzer (sync) | system shm | 1 | native | 2 | 100 |');
    expect(text).toContain('| C++ perf_analyzer (sync) | system shm | 1 | native | 1.00 (0.90–1.10) |');
    expect(text).toContain('- every CUDA row: no driver');
  });
});
