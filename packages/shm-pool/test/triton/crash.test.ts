import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describeTier, withSmallSharedMemory } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';

const course = fileURLToPath(new URL('../fixtures/crash-course.mjs', import.meta.url));
const ROUNDS = 20;
const AT_ONCE = 3;

interface Outcome {
  readonly kills: number;
  /** What the killed left, for the next start to find. */
  readonly met: { readonly entries: number; readonly registrations: number };
  readonly left: readonly string[];
  readonly atTheEnd: { readonly entries: readonly string[]; readonly regions: readonly unknown[] };
}

describeTier(
  'triton',
  'kill -9 at any moment',
  () => {
    test.for([
      ['devserver', 'system'],
      ['devserver', 'cuda'],
      ['triton', 'system'],
    ] as const)(
      'leaves nothing that the next start does not clean: %s, %s memory',
      { timeout: 400_000 },
      async ([server, kind]) => {
        const [command = '', ...before] = withSmallSharedMemory(256);
        const args = [...before, process.execPath, course, server, kind, String(ROUNDS), String(AT_ONCE)];
        const env = kind === 'cuda' ? { ...process.env, ZEROHOP_LIBCUDA: buildFakeLibcuda() } : process.env;
        const { stdout } = await promisify(execFile)(command, args, { env });
        const outcome = JSON.parse(stdout) as Outcome;
        expect(outcome).toMatchObject({ kills: ROUNDS * AT_ONCE, left: [], atTheEnd: { entries: [], regions: [] } });
        // The kills did meet regions.
        expect(outcome.met.entries).toBeGreaterThan(10);
        expect(outcome.met.registrations).toBeGreaterThan(10);
      },
    );
  },
  { needs: ['mount', 'g++'] },
);
