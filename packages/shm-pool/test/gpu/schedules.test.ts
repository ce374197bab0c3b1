import { describeTier } from '@zerohop/test-support';
import { afterAll, onTestFinished, test } from 'vitest';
import { removeOurEntries } from '../support/names.js';
import { realTarget } from '../support/schedule/targets.js';
import { expectSteadySchedule, expectStorm, withCudaRegions } from '../support/schedule-on-cuda.js';

afterAll(removeOurEntries);

// The model runs on the CPU: the server itself copies its input from the GPU, and its output there, late ones as well.
describeTier('gpu', 'random schedules on CUDA memory of a real GPU, on a real server', () => {
  async function target() {
    const opened = withCudaRegions(await realTarget('2.51'));
    onTestFinished(() => opened.close());
    return opened;
  }

  test('no connection lost: nothing is retired', async () => expectSteadySchedule(await target(), 5000));

  test('everything that can happen', async () => expectStorm(await target(), 20_000, 60_000));
});
