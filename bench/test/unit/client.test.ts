import { describe, expect, test } from 'vitest';
import { caseName, messagePlan, sharedMemoryPlan } from '../../src/client/cases.js';
import { clientToMarkdown } from '../../src/client/markdown.js';
import { type ClientRound, outcomeOf } from '../../src/client/results.js';
import { medianInterval } from '../../src/statistics.js';

describe('medianInterval', () => {
  test('takes the third value from either end of twelve', () => {
    // P(X < 3), X binomial (12, 1/2): 79 / 4096 = 1.9 %; P(X < 4) would be 7.3 %.
    expect(medianInterval([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1])).toEqual({ median: 6.5, low: 3, high: 10 });
  });

  test('takes the ends of six, and promises nothing of five', () => {
    expect(medianInterval([1, 2, 3, 4, 5, 6])).toEqual({ median: 3.5, low: 1, high: 6 });
    const { low, high } = medianInterval([1, 2, 3, 4, 5]);
    expect([low, high]).toEqual([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]);
  });
});

describe('the plans', () => {
  test.each([
    ['shared memory, GPU', sharedMemoryPlan(true)],
    ['shared memory, no GPU', sharedMemoryPlan(false)],
    ['message', messagePlan()],
  ])('%s: every row that a figure needs is measured, once', (_, { cases, comparisons }) => {
    const names = cases.map(caseName);
    expect(new Set(names).size).toBe(names.length);
    for (const { ours, peer } of comparisons) {
      expect(names).toContain(caseName(ours));
      if (peer !== undefined) expect(names).toContain(caseName(peer));
    }
  });
});

describe('outcomes', () => {
  const [comparison] = sharedMemoryPlan(false).comparisons;
  if (comparison === undefined) throw new Error('no comparison');
  const rounds = (p50s: number[]): ClientRound[] =>
    p50s.map((p50Us, round) => ({ round, requests: 1, p50Us, p99Us: p50Us, requestsPerSecond: 1 }));

  test('divide round by round, and say whether what was asked is there', () => {
    const outcome = outcomeOf(comparison, (c) => rounds(c.client === 'lane' ? [80, 90, 70] : [100, 100]));
    expect(outcome?.value.perRound).toEqual([0.8, 0.9]);
    expect([outcome?.atMost, outcome?.met]).toEqual([0.9, true]);
    expect(outcomeOf(comparison, (c) => (c.client === 'lane' ? rounds([1]) : []))).toBeUndefined();
  });

  test('stand in the Markdown, with what was not met', () => {
    const outcome = outcomeOf(comparison, (c) => rounds(c.client === 'lane' ? [100] : [100]));
    const text = clientToMarkdown({
      kind: 'client',
      date: '2026-01-02',
      commit: 'abc',
      machine: { name: 'cpu', cpu: 'A CPU', cores: 2, memoryGiB: 4, kernel: '6.1', gpus: [] },
      versions: {},
      parameters: { durationMs: 1, warmUpMs: 1, complete: true },
      rows: [],
      outcomes: outcome === undefined ? [] : [outcome],
      skipped: [{ row: 'a row', reason: 'a reason' }],
    });
    expect(text).toContain('| p50 | 1.00 (?–?) | ≤ 0.900 | **no** |');
    expect(text).toContain('- a row: a reason');
  });
});
