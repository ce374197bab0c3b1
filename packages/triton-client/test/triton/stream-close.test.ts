import { describeTier, sharedTriton } from '@zerohop/test-support';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DisposedError, type InferRequest, TritonClient, type TritonClientOptions, tensor } from '../../src/index.js';

const REQUEST: InferRequest = { inputs: { INPUT0: tensor('FP32', [1, 1], Float32Array.of(1)) } };

function connect(transport: string, options?: TritonClientOptions): TritonClient {
  const { grpcUrl, httpUrl } = sharedTriton();
  const client = new TritonClient(transport === 'gRPC' ? grpcUrl : httpUrl, options);
  onTestFinished(() => client.close());
  return client;
}

/** Gives requests without an end, and counts how many were asked for. */
class Endless implements IterableIterator<InferRequest> {
  asked = 0;
  readonly #failFrom: number;

  constructor(failFrom = Number.POSITIVE_INFINITY) {
    this.#failFrom = failFrom;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<InferRequest> {
    this.asked += 1;
    if (this.asked >= this.#failFrom) throw new Error('the source broke');
    return { done: false, value: REQUEST };
  }
}

describeTier('triton', 'streams that are left while their source or their reader waits', () => {
  describe.each(['gRPC', 'HTTP'])('over %s', (transport) => {
    test('a stream that was left asks its source for nothing', async () => {
      const client = connect(transport);
      const source = new Endless();
      const stream = client.stream('identity', source);
      // Nobody reads: sooner or later no more is asked.
      let before = -1;
      await expect
        .poll(
          () => {
            const same = source.asked === before && source.asked > 0;
            before = source.asked;
            return same;
          },
          { interval: 200, timeout: 10_000 },
        )
        .toBe(true);
      const { asked } = source;
      await stream.return();
      await stream.settled;
      expect(source.asked).toBe(asked);
    });

    test('close() while the source waits: the reader is told, and the stream settles', async () => {
      const client = connect(transport);
      async function* waiting(): AsyncGenerator<InferRequest> {
        yield REQUEST;
        await new Promise(() => {});
      }
      const stream = client.stream('identity', waiting());
      expect(await stream.next()).toMatchObject({ done: false, value: { requestIndex: 0 } });
      const next = expect(stream.next()).rejects.toBeInstanceOf(DisposedError);
      await client.close();
      await next;
      expect(await stream.settled).toBe('answered');
      expect(client.stats.streams.open).toBe(0);
    });

    test('close() while nobody reads: the stream settles, and the reader is told later', async () => {
      const client = connect(transport, { closeTimeoutMs: 1000 });
      const source = new Endless();
      const stream = client.stream('identity', source, { maxOutstanding: 4 });
      await expect.poll(() => source.asked).toBeGreaterThan(4);
      await client.close();
      await stream.settled;
      expect(client.stats.streams.open).toBe(0);
      const { asked } = source;
      await expect(
        (async () => {
          for await (const _ of stream);
        })(),
      ).rejects.toMatchObject({ code: expect.stringMatching(/^(ERR_DISPOSED|TRITON_CANCELLED)$/) });
      expect(source.asked).toBe(asked);
    });

    test('a source that would fail after the stream was left fails nobody', async () => {
      const client = connect(transport);
      const unhandled: unknown[] = [];
      const note = (reason: unknown) => unhandled.push(reason);
      process.on('unhandledRejection', note);
      onTestFinished(() => void process.off('unhandledRejection', note));
      const source = new Endless(17);
      const stream = client.stream('identity', source, { maxOutstanding: 16 });
      await expect.poll(() => source.asked, { timeout: 10_000 }).toBeGreaterThanOrEqual(16);
      await stream.return();
      await stream.settled;
      await new Promise(setImmediate);
      expect(unhandled).toEqual([]);
    });
  });
});
