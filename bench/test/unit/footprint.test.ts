import { describe, expect, test } from 'vitest';
import { type Footprint, growth } from '../../src/footprint.js';

const MIB = 2 ** 20;
const flat: Footprint = {
  clientHeld: 15 * MIB,
  clientRss: 90 * MIB,
  serverRss: 40 * MIB,
  sharedMemoryFiles: 2,
  regions: 2,
};
const empty: Footprint = { ...flat, sharedMemoryFiles: 0, regions: 0 };

/** Four readings of which one figure moves by the steps given. */
function run(figure: keyof Footprint, steps: readonly number[]): Footprint[] {
  let value = flat[figure] ?? 0;
  return [0, ...steps].map((step) => {
    value += step;
    return { ...flat, [figure]: value };
  });
}

const problems = (during: readonly Footprint[], closed = empty, messageBytes = 0) =>
  growth({ before: empty, during, closed }, messageBytes);

describe('growth', () => {
  test('nothing moves: nothing is said', () => {
    expect(problems([flat, flat, flat, flat])).toEqual([]);
    expect(problems([flat, flat, { ...flat, serverRss: undefined }, flat])).toEqual([]);
  });

  test.each([
    ['clientHeld', "the client's memory"],
    ['clientRss', "the client's resident memory"],
    ['serverRss', "the server's resident memory"],
  ] as const)('%s: a tensor of 16 KiB kept in each of 1,000 requests is seen', (figure, words) => {
    expect(problems(run(figure, [4 * MIB, 4 * MIB, 4 * MIB]))).toEqual([expect.stringContaining(`${words} grew: `)]);
  });

  test.each(['clientHeld', 'clientRss', 'serverRss'] as const)('%s: what is taken once is no growth', (figure) => {
    expect(problems(run(figure, [20 * MIB, 0, MIB / 8]))).toEqual([]);
    expect(problems(run(figure, [20 * MIB, -2 * MIB, 5 * MIB]))).toEqual([]);
  });

  test('where tensors travel in messages, a few of them are no growth, and one in each request is', () => {
    const tensor = 100 * MIB;
    expect(problems(run('clientRss', [tensor, tensor, tensor]), empty, tensor)).toEqual([]);
    expect(problems(run('clientRss', [12 * tensor, 12 * tensor, 12 * tensor]), empty, tensor)).toHaveLength(1);
  });

  test('one file or region more is one too many', () => {
    expect(problems(run('sharedMemoryFiles', [0, 0, 1]))).toEqual(['entries of ours in /dev/shm grew from 2 to 3']);
    expect(problems(run('regions', [1, 0, 0]))).toEqual(["the server's list of regions grew from 2 to 3"]);
    expect(problems([flat, flat, flat, flat], flat)).toEqual([
      'after close, entries of ours in /dev/shm grew from 0 to 2',
      "after close, the server's list of regions grew from 0 to 2",
    ]);
  });
});
