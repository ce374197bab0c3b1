import { describeTier } from '@zerohop/test-support';
import { afterAll, onTestFinished, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { forkedTarget } from '../support/forked-target.js';
import { removeOurEntries } from '../support/names.js';
import { expectSteadySchedule, expectStorm, withCudaRegions } from '../support/schedule-on-cuda.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

afterAll(removeOurEntries);

describeTier('driver', 'random schedules on device memory of the fake driver, on a server in another process', () => {
  async function target() {
    const opened = withCudaRegions(await forkedTarget());
    onTestFinished(() => opened.close());
    return opened;
  }

  test('no connection lost: nothing is retired', async () => expectSteadySchedule(await target(), 1500));

  test('everything that can happen', async () => expectStorm(await target(), 3000));
});
