import { describeTier, privateTriton } from '@zerohop/test-support';
import { afterAll, describe } from 'vitest';
import { namedTwiceSuite } from '../support/named-twice-suite.js';

describeTier(
  'triton',
  'real servers',
  () => {
    describe.each(['2.51', '2.48'] as const)('outputs named several times, version %s', (version) => {
      let server: ReturnType<typeof privateTriton> | undefined;
      afterAll(async () => (await server)?.stop());

      namedTwiceSuite(() => {
        server ??= privateTriton({ models: ['identity'], version });
        return server;
      });
    });
  },
  { needs: ['old-triton'] },
);
