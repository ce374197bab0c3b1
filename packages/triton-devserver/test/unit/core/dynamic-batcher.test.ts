import { expect, onTestFinished, test } from 'vitest';
import { DynamicBatcher } from '../../../src/core/dynamic-batcher.js';
import type { Job } from '../../../src/core/job.js';
import { ModelConfig } from '../../../src/grpc/gen/model_config.js';

const HOUR_US = 3_600_000_000n;

/** A batcher whose only instance runs a batch until it is told to end, and how often it looked at a job. */
function batcherOf(batching: NonNullable<ModelConfig['dynamic_batching']>, maxBatch = 4) {
  const config = ModelConfig.fromPartial({ name: 'm', max_batch_size: maxBatch } as never);
  const ran: number[][] = [];
  let end = () => {};
  let looks = 0;
  const run = (jobs: readonly Job[]) => {
    ran.push(jobs.map(({ request }) => Number(request.id)));
    return new Promise<void>((resolve) => {
      end = resolve;
    });
  };
  const batcher = new DynamicBatcher(config, batching, 1, run);
  onTestFinished(() => batcher.close());
  const refused: number[] = [];
  let numbers = 0;
  const enqueue = (more: object = {}) => {
    numbers += 1;
    const number = numbers;
    const request = { id: String(number), priority: 0n, timeoutUs: 0n, signal: new AbortController().signal, ...more };
    const job = {
      get request() {
        looks += 1;
        return request;
      },
      checked: { batchSize: 1, inputs: [] },
      respond: () => undefined,
      queuedAt: process.hrtime.bigint(),
      controls: [],
      refuse: () => refused.push(number),
    };
    batcher.enqueue(job as unknown as Job);
  };
  const next = async () => {
    end();
    await new Promise(setImmediate);
  };
  return { batcher, ran, refused, enqueue, next, looks: () => looks };
}

const policies = {
  'no limits': { preferred_batch_size: [4] },
  'a limit each': { default_queue_policy: { default_timeout_microseconds: HOUR_US, allow_timeout_override: true } },
  'levels and a delay': {
    priority_levels: 2n,
    default_priority_level: 1n,
    max_queue_delay_microseconds: HOUR_US,
    preferred_batch_size: [4],
  },
};

test.each(Object.entries(policies))('%s: a request costs the same however many wait', async (_, policy) => {
  const { batcher, ran, enqueue, next, looks } = batcherOf(batchingOf(policy));
  const count = 4000;
  for (let index = 0; index < count; index += 1) {
    enqueue({ priority: BigInt(1 + (index % 2)), timeoutUs: BigInt(count - index) * 1_000_000n });
  }
  expect(ran.length).toBe(1);
  expect(batcher.pending).toBe(count - (ran[0]?.length ?? 0));
  while (batcher.pending > 0) await next();
  expect(ran.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (__, index) => index + 1));
  // A few for each request, and those of the next batch with each that comes.
  expect(looks() / count).toBeLessThan(60);
});

/** A batcher with no limits, as the server completes its configuration. */
const plain = { preferred_batch_size: [4] };
const batchingOf = (batching: object) =>
  ModelConfig.fromPartial({ dynamic_batching: batching } as never).dynamic_batching as never;

test('without limits batches are made ahead, two for an instance; what is cancelled of them runs, of others not', async () => {
  const { batcher, ran, refused, enqueue, next } = batcherOf(batchingOf(plain));
  const abort = new AbortController();
  enqueue();
  for (let index = 0; index < 100; index += 1) enqueue({ signal: abort.signal });
  abort.abort();
  enqueue();
  expect([refused, batcher.pending]).toEqual([[], 101]);
  await next();
  // The second one had no more than what came before there were two.
  expect(refused).toEqual(Array.from({ length: 95 }, (_, index) => index + 7));
  await next();
  expect(ran).toEqual([[1], [2, 3, 4, 5], [6, 102]]);
});

test('with limits batches are made when an instance is free: what was cancelled until then does not run', async () => {
  const { ran, refused, enqueue, next } = batcherOf(
    batchingOf({ ...plain, priority_levels: 2n, default_priority_level: 1n }),
  );
  const abort = new AbortController();
  enqueue();
  enqueue({ signal: abort.signal });
  for (let index = 0; index < 5; index += 1) enqueue();
  abort.abort();
  enqueue({ signal: abort.signal });
  expect(refused).toEqual([]);
  await next();
  expect([refused, ran]).toEqual([[2], [[1], [3, 4, 5, 6]]]);
  await next();
  expect([refused, ran.at(-1)]).toEqual([[2, 8], [7]]);
});

test('with a delay a batch of a preferred size grows by what comes before an instance takes it', async () => {
  const { ran, enqueue, next } = batcherOf(
    batchingOf({ preferred_batch_size: [3], max_queue_delay_microseconds: HOUR_US }),
  );
  for (let index = 0; index < 3; index += 1) enqueue();
  for (let index = 0; index < 5; index += 1) enqueue();
  await next();
  expect(ran).toEqual([
    [1, 2, 3],
    [4, 5, 6, 7],
  ]);
});
