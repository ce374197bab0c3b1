import { describeTier } from '@zerohop/test-support';
import { expect, it } from 'vitest';
import { allFunctions, tour, trySample } from '../faults/index.mjs';

const functions = allFunctions();

describeTier('driver', 'faults of the driver and of nvJPEG', () => {
  it('can be tried in every function: a tour of the public surface calls them all', async () => {
    const { problems, called } = await tour();
    expect(problems).toEqual([]);
    expect(functions.filter(({ name }) => !called.includes(name))).toEqual([]);
  });

  it('are looked for on the oldest driver too, which lacks the optional functions', async () => {
    const { problems, called } = await tour({ old: true });
    expect(problems).toEqual([]);
    const missed = functions.filter(({ name }) => !called.includes(name)).map(({ name }) => name);
    expect(missed).toEqual(functions.filter(({ optional }) => optional).map(({ name }) => name));
  });

  // The whole run, with every code and the first, second and last use: pnpm soak faults
  it('reach whoever made the call, leave nothing behind, and let the rest work', async () => {
    const results = await trySample();
    expect(results.filter(({ hit, problems }) => hit === undefined || problems.length > 0)).toEqual([]);
    expect(new Set(results.map(({ fault }) => fault.call))).toEqual(new Set(functions.map(({ name }) => name)));
  }, 120_000);
});
