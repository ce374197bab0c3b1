import { describeTier } from '@zerohop/test-support';
import { afterAll, beforeAll } from 'vitest';
import { conformanceSuite } from '../conformance/suite.js';
import { ConformanceServers } from '../support/conformance-servers.js';

describeTier(
  'triton',
  'conformance',
  () => {
    const servers = new ConformanceServers('2.48');
    beforeAll(() => servers.start());
    afterAll(() => servers.stop());

    for (const transport of ['grpc', 'http'] as const) conformanceSuite(servers.target(transport));
  },
  { needs: ['old-triton'] },
);
