import { describeTier } from '@zerohop/test-support';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { describeGrowth } from '../support/growth-suite.js';
import { describeRequests } from '../support/request-suite.js';
import { describeSeveralPools } from '../support/several-pools-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

describeTier('driver', 'requests with CUDA memory on the fake driver, against a devserver', () => {
  const suite = { transport: 'cuda', options: { serverDeviceId: 0 } } as const;
  describeRequests(suite);
  describeSeveralPools(suite);
  describeGrowth(suite);
});
