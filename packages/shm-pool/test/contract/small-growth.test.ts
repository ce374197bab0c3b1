import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describeTier, withSmallSharedMemory } from '@zerohop/test-support';
import { expect, test } from 'vitest';

const fixture = fileURLToPath(new URL('../fixtures/small-growth.mjs', import.meta.url));

describeTier(
  'contract',
  'an output that grows in a /dev/shm of 1 MiB',
  () => {
    test('a slot for which there is no room goes on with what it has; a larger answer is refused with the reason', async () => {
      const [command = '', ...before] = withSmallSharedMemory(1);
      const { stdout } = await promisify(execFile)(command, [...before, process.execPath, fixture]);
      expect(JSON.parse(stdout)).toEqual({
        first: { runs: 2, right: true },
        secondSmall: { runs: 1, right: true },
        secondLarge: { code: 'ERR_SHM_FULL', message: expect.stringMatching(/need.* bytes.*free.*--shm-size/s) },
        secondSmallAgain: { runs: 1, right: true },
        firstAgain: { runs: 1, right: true },
        idle: 2,
        retired: 0,
        unproven: [],
        left: [],
      });
    });
  },
  { needs: ['mount'] },
);
