import { describeTier, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { onTestFinished, test } from 'vitest';
import type { Transport } from '../../src/index.js';
import { aThousandRequests } from '../support/thousand.js';

describeTier('triton', 'a thousand requests in a row', () => {
  test.for<Transport>(['system', 'bytes'])('on %s: every answer is its own, and nothing grows', async (transport) => {
    const client = new TritonClient(sharedTriton().grpcUrl);
    onTestFinished(() => client.close());
    await aThousandRequests(client, transport);
  });
});
