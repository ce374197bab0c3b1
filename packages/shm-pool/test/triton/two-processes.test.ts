import { describeTier, withSmallSharedMemory } from '@zerohop/test-support';
import { test } from 'vitest';
import { expectTwoProcesses } from '../support/two-processes.js';

describeTier(
  'triton',
  'two pools in two processes, on a real server',
  () => {
    test('one is killed under load: the other goes on, and the next start clears what was left', () =>
      // With a /dev/shm of its own, where no other test reaps.
      expectTwoProcesses({ transport: 'system', server: 'triton', before: withSmallSharedMemory(256) }));
  },
  { needs: ['mount'] },
);
