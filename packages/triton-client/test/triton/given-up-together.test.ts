import { getEventListeners } from 'node:events';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type CallOptions,
  type InferRequest,
  TritonClient,
  type TritonClientOptions,
  tensor,
} from '../../src/index.js';

const REQUEST: InferRequest = {
  inputs: { INPUT0: tensor('FP32', [1, 1], Float32Array.of(1)) },
  parameters: { ms: 300 },
};
const CALLS = 40;

describeTier('triton', 'many requests that are given up at once', () => {
  describe.each(['gRPC', 'HTTP'])('over %s', (transport) => {
    function connect(options?: TritonClientOptions): TritonClient {
      const { grpcUrl, httpUrl } = sharedTriton();
      const client = new TritonClient(transport === 'gRPC' ? grpcUrl : httpUrl, options);
      onTestFinished(() => client.close());
      return client;
    }

    describe.each([
      ['cancel', 'lost'],
      ['detach', 'answered'],
    ] as const)("with '%s'", (onAbort, settlement) => {
      const expected = [
        ...Array.from({ length: 4 }, () => settlement),
        ...Array.from({ length: CALLS - 4 }, () => 'not-sent'),
      ];

      async function settlements(client: TritonClient, options: CallOptions, giveUp?: () => void): Promise<string[]> {
        const call = () => client.infer('slow', REQUEST, { ...options, onAbort });
        const calls = Array.from({ length: CALLS }, call);
        const outcomes = Promise.allSettled(calls);
        // Until the server has all that it gets.
        if (giveUp !== undefined) {
          await new Promise((resolve) => setTimeout(resolve, 100));
          giveUp();
        }
        expect((await outcomes).map(({ status }) => status)).not.toContain('fulfilled');
        return Promise.all(calls.map(({ settled }) => settled));
      }

      test('by one signal: those that wait are not sent any more', async () => {
        const client = connect({ lanes: 4 });
        await client.infer('slow', { ...REQUEST, parameters: { ms: 0 } });
        const controller = new AbortController();
        expect(await settlements(client, { signal: controller.signal }, () => controller.abort())).toEqual(expected);
        expect(client.stats).toMatchObject({ queued: 0, lanes: { busy: 0, detached: 0 } });
      });

      test('by one time limit', async () => {
        const client = connect({ lanes: 4 });
        await client.infer('slow', { ...REQUEST, parameters: { ms: 0 } });
        // Time limits that were set in two milliseconds end in two, and between them some are sent.
        const settled = await settlements(client, { timeoutMs: 100 });
        expect(settled.filter((end) => end === 'not-sent').length).toBeGreaterThanOrEqual(CALLS / 2);
        expect(new Set(settled)).toEqual(new Set([settlement, 'not-sent']));
        expect(client.stats).toMatchObject({ queued: 0, lanes: { busy: 0, detached: 0 } });
      });
    });

    test('after some were given up, the others that wait are sent', async () => {
      const client = connect({ lanes: 1 });
      const given = client.infer('slow', REQUEST, { timeoutMs: 100 });
      const waiting = client.infer('slow', { ...REQUEST, parameters: { ms: 0 } });
      await expect(given).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
      expect((await waiting).output('OUTPUT0').data[0]).toBe(1);
    });

    test('calls that share a signal put one listener on it, and none when they are over', async () => {
      const client = connect();
      const { signal } = new AbortController();
      const quick = { ...REQUEST, parameters: { ms: 0 } };
      const calls = Array.from({ length: CALLS }, () => client.infer('slow', quick, { signal }));
      const metadata = client.modelMetadata('slow', '', { signal });
      const stream = client.stream('slow', [quick], { signal });
      expect(getEventListeners(signal, 'abort')).toHaveLength(1);
      for await (const answer of stream) expect(answer.final).toBe(true);
      await Promise.all([...calls, metadata]);
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    });
  });
});
