import { describeTier } from '@zerohop/test-support';
import { expect, it } from 'vitest';
import { allFunctions, runLate, tour } from '../faults/index.mjs';

const functions = allFunctions();
const waiting = functions.filter(({ callClass }) => callClass === 'kWaits').map(({ name }) => name);
/** Of the 200 or so that a call of 200 ms leaves time for; on the JS thread it would leave two at most. */
const LEAST_TURNS = 10;

describeTier('driver', 'calls that may wait', () => {
  it('are never made on the JS thread', async () => {
    const { problems, called, onLoop } = await tour();
    expect(problems).toEqual([]);
    expect(called.filter((name) => !functions.some((known) => known.name === name))).toEqual([]);
    expect(
      functions.map(({ callClass }) => callClass).filter((each) => !/^k(Prompt|Enqueues|Waits)$/.test(each)),
    ).toEqual([]);
    expect(onLoop.filter((name) => waiting.includes(name))).toEqual([]);
    // Else the log would not tell the JS thread from others.
    expect(onLoop).toContain('cuStreamQuery');
  });

  it('may be late all together: the event loop keeps turning', async () => {
    const seen = await runLate([waiting]);
    expect(seen.filter(({ turns }) => turns < LEAST_TURNS)).toEqual([]);
    expect(seen.map(({ operation }) => operation)).toEqual(
      expect.arrayContaining([
        'open',
        'allocate',
        'export',
        'allocate pinned memory',
        'load a module',
        'find a kernel',
        'enable peer access',
        "open another process's memory",
        'register shared memory',
        'make a decoder',
        'decode',
        'make an encoder',
        'encode',
        'drop',
      ]),
    );
  });

  it('may be late one at a time: the event loop keeps turning', async () => {
    const seen = await runLate(waiting);
    expect(seen.filter(({ turns }) => turns < LEAST_TURNS)).toEqual([]);
    const late = new Set(seen.map((each) => each.late));
    expect(waiting.filter((name) => !late.has(name))).toEqual([]);
  });
});
