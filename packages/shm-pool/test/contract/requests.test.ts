import { describeRequests } from '../support/request-suite.js';
import { describeSeveralPools } from '../support/several-pools-suite.js';

for (const transport of ['system', 'bytes'] as const) {
  describeRequests({ transport });
  describeSeveralPools({ transport });
}
