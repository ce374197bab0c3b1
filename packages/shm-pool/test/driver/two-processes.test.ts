import { describeTier, withSmallSharedMemory } from '@zerohop/test-support';
import { test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { expectTwoProcesses } from '../support/two-processes.js';

describeTier(
  'driver',
  'two pools in two processes, on the fake driver',
  () => {
    test('one is killed under load: the other goes on, and the next start clears what was left', () =>
      // With a /dev/shm of its own, where no other test reaps.
      expectTwoProcesses({
        transport: 'cuda',
        server: 'devserver',
        before: withSmallSharedMemory(256),
        env: { ZEROHOP_LIBCUDA: buildFakeLibcuda() },
      }));
  },
  { needs: ['mount'] },
);
