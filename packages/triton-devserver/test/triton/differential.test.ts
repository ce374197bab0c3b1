import { describeTier } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { compareServers, lineOf } from '../support/differential/comparison.js';
import { KnownDifferences } from '../support/differential/differences.js';

/**
 * The short form of `pnpm soak devserver-differential`, which draws a fresh seed each time: here a change is judged, not
 * chance. load-unload.test.ts has the loads. DIFFERENTIAL_SEED asks for another seed.
 */
const { DIFFERENTIAL_SEED } = process.env;
const REQUESTS = 250;

describeTier(
  'triton',
  'the same few hundred generated requests to a real server and to the devserver',
  () => {
    test.each([
      ['2.51', 557770068],
      ['2.48', 154908897],
    ] as const)(
      '%s: status, text and data are the same',
      async (version, usual) => {
        const seed = Number(DIFFERENTIAL_SEED ?? usual);
        process.stdout.write(`differential, ${version}: DIFFERENTIAL_SEED=${seed}\n`);
        const known = new KnownDifferences();
        const { differences } = await compareServers({
          version,
          seed,
          requests: REQUESTS,
          loads: false,
          known,
          mostLost: 4,
        });
        expect(differences.map(lineOf), `DIFFERENTIAL_SEED=${seed}`).toEqual([]);
      },
      300_000,
    );
  },
  { needs: ['addon'] },
);
