import { execFileSync } from 'node:child_process';
import { describeTier } from '@zerohop/test-support';
import { expect, it } from 'vitest';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { compileTests, fine } from '../support/c-tests.js';

describeTier('driver', 'the fake driver itself', () => {
  const tests = compileTests('fake-libcuda', [buildFakeLibcuda()]);

  it.each(tests.names)('%s', async (name) => {
    expect(await tests.run(name)).toEqual(fine);
  });

  it('has variants: an old one lacks what came later', () => {
    const symbols = (library: string) =>
      new Set(
        execFileSync('nm', ['-D', '--defined-only', library], { encoding: 'utf8' })
          .split('\n')
          .map((line) => line.split(' ')[2]),
      );
    const now = symbols(buildFakeLibcuda());
    const old = symbols(buildFakeLibcuda({ old: true }));
    const later = ['cuEventElapsedTime_v2', 'cuFuncGetParamInfo', 'cuFuncLoad', 'cuLaunchKernelEx'];
    expect([...now].filter((symbol) => !old.has(symbol)).sort()).toEqual(later);
    expect([...old].filter((symbol) => !now.has(symbol))).toEqual([]);
  });
});
