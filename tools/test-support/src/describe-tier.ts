import { describe, test } from 'vitest';
import { type Need, verdict } from './needs.js';

export type Tier = 'unit' | 'contract' | 'host' | 'driver' | 'arm64' | 'triton' | 'gpu';

const NEEDS: Readonly<Record<Tier, readonly Need[]>> = {
  unit: [],
  contract: [],
  host: [],
  driver: ['addon'],
  arm64: ['arm64'],
  triton: ['triton'],
  gpu: ['gpu', 'triton'],
};

/**
 * `describe` for the tests of a tier: the only way a test may be skipped. On a developer's machine the tests are skipped,
 * with the reason in their name, when something the tier needs is missing. With CI=true that fails, unless the need is in
 * the list of needs.ts; with REQUIRE_GPU=1 a missing GPU fails.
 *
 * @param options.needs what these tests need beyond the tier: `{ needs: ['g++', 'peers'] }`
 */
export function describeTier(
  tier: Tier,
  name: string,
  tests: () => void,
  options: { needs?: readonly Need[] } = {},
): void {
  for (const need of [...NEEDS[tier], ...(options.needs ?? [])]) {
    const found = verdict(need);
    if (found.run) continue;
    if (found.fail) {
      describe(name, () => {
        test(`needs: ${need}`, () => {
          throw new Error(found.reason);
        });
      });
    } else {
      describe.skip(`${name} (${found.reason})`, tests);
    }
    return;
  }
  describe(name, tests);
}
