import { describeTier, sharedTriton } from '@zerohop/test-support';
import { describe, expect, test } from 'vitest';
import { TritonClient } from '../../src/index.js';

describeTier('triton', 'close() with control calls under way', () => {
  describe.each(['gRPC', 'HTTP'])('over %s', (transport) => {
    test.each(['that has not connected yet', 'that is connected'])(
      'of a client %s: they are answered',
      async (which) => {
        const { grpcUrl, httpUrl } = sharedTriton();
        const client = new TritonClient(transport === 'gRPC' ? grpcUrl : httpUrl);
        if (which === 'that is connected') await client.isLive();
        let answered = false;
        const live = client.isLive();
        const metadata = client.modelMetadata('identity').finally(() => {
          answered = true;
        });
        await client.close();
        expect(answered).toBe(true);
        expect([await live, (await metadata).name]).toEqual([true, 'identity']);
      },
    );
  });
});
