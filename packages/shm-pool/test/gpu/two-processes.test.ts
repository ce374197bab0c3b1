import { describeTier, sharedTriton } from '@zerohop/test-support';
import { test } from 'vitest';
import { expectTwoProcesses } from '../support/two-processes.js';

describeTier('gpu', 'two pools in two processes, on a real GPU and a real server', () => {
  test('one is killed under load: the other goes on, and the next start clears what was left', () =>
    expectTwoProcesses({ transport: 'cuda', server: sharedTriton().grpcUrl }));
});
