import { describe, expect, test } from 'vitest';
import { type ClientHoldings, clientGrowth } from '../../src/soak/holdings.js';

const MIB = 2 ** 20;
const reading = (changes: Partial<ClientHoldings>): ClientHoldings => ({
  ...{ done: 0, residentBytes: 80 * MIB, heldBytes: 20 * MIB, files: 20, threads: 11 },
  ...changes,
});
const readings = (of: (i: number) => Partial<ClientHoldings>) =>
  Array.from({ length: 11 }, (_, i) => reading({ done: i, ...of(i) }));

describe('what a client holds', () => {
  test('may rise until code is compiled and heaps have their size', () => {
    expect(clientGrowth(readings((i) => ({ residentBytes: (i === 0 ? 50 : 80) * MIB })))).toEqual([]);
    expect(clientGrowth(readings((i) => ({ heldBytes: (i < 2 ? 20 : 23) * MIB })))).toEqual([]);
  });

  test.each([
    ['what JavaScript holds', (i: number) => ({ heldBytes: (20 + i) * MIB })],
    ['resident bytes', (i: number) => ({ residentBytes: (80 + 4 * i) * MIB })],
    ['open files', (i: number) => ({ files: 20 + i })],
    ['threads', (i: number) => ({ threads: 11 + i })],
  ])('grows: %s', (what, of) => {
    expect(clientGrowth(readings(of))).toEqual([expect.stringContaining(`${what} grew from`)]);
  });
});
