import { describe, expect, test } from 'vitest';
import { runRounds } from '../../src/rounds.js';
import { caseName } from '../../src/summarise.js';
import { type Case, casesOf, TABLES } from '../../src/tables.js';

const [table] = TABLES;
const cases = table === undefined ? [] : casesOf(table, ['bytes']);
const figures = { requests: 1, p50Us: 1, p99Us: 1, requestsPerSecond: 1 };
const noLimit = { timeLimitMs: Number.POSITIVE_INFINITY, onProgress: () => {} };

describe('runRounds', () => {
  test('measures every case once a round, beginning with another one each time', async () => {
    const order: Case[] = [];
    const outcome = await runRounds(cases, {
      nameOf: caseName,
      ...noLimit,
      roundsOf: () => 2,
      measure: (c) => {
        order.push(c);
        return Promise.resolve(figures);
      },
    });
    expect(order).toEqual([...cases, ...cases.slice(1), cases[0]]);
    expect(outcome.complete).toBe(true);
    for (const c of cases) expect(outcome.rounds.get(c)?.map((round) => round.round)).toEqual([0, 1]);
  });

  test('measures a case as often as it wants', async () => {
    const outcome = await runRounds(cases, {
      nameOf: caseName,
      ...noLimit,
      roundsOf: (c) => (c === cases[0] ? 3 : 1),
      measure: () => Promise.resolve(figures),
    });
    expect(cases.map((c) => outcome.rounds.get(c)?.length)).toEqual([3, ...cases.slice(1).map(() => 1)]);
  });

  test('gives a case up at its first failure, and keeps the reason', async () => {
    let tries = 0;
    const outcome = await runRounds(cases, {
      nameOf: caseName,
      ...noLimit,
      roundsOf: () => 3,
      measure: (c) => {
        if (c !== cases[0]) return Promise.resolve(figures);
        tries++;
        return Promise.reject(new Error('no such model'));
      },
    });
    expect(tries).toBe(1);
    expect([...outcome.failures]).toEqual([[cases[0], 'no such model']]);
  });

  test('begins no round that would not end within the limit', async () => {
    const outcome = await runRounds(cases, {
      nameOf: caseName,
      roundsOf: () => 5,
      timeLimitMs: 0,
      onProgress: () => {},
      measure: () => Promise.resolve(figures),
    });
    expect(outcome.complete).toBe(false);
    for (const c of cases) expect(outcome.rounds.get(c)).toHaveLength(1);
  });
});

describe('casesOf', () => {
  test('names no row twice', () => {
    const names = TABLES.flatMap((each) => casesOf(each, ['cuda', 'system', 'bytes'])).map(caseName);
    expect(new Set(names).size).toBe(names.length);
  });

  test('measures ours and perf_analyzer alike wherever memory is shared', () => {
    for (const each of TABLES) {
      const rows = casesOf(each, ['cuda', 'system', 'bytes']).filter(
        (c) => c.work === 'infer' && c.transport !== 'bytes',
      );
      const of = (client: string) =>
        rows
          .filter((c) => c.client === client)
          .map((c) => `${c.transport} ${c.inFlight}`)
          .sort();
      expect(of('pool')).toEqual(of('perf_analyzer'));
    }
  });
});
