import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ModelDefinition, ModelRequest } from '../../src/index.js';
import { type Ask, steppingServer } from '../support/stepping-server.js';

type Config = NonNullable<ModelDefinition['config']>;
type Batching = NonNullable<Config['dynamic_batching']>;

const value = ({ inputs: { X } }: ModelRequest) => String(X?.data[0]);

/** What runs together, batch after batch, of requests that come while the first one runs. */
async function batches(
  batching: Batching,
  asks: readonly Ask[],
  more: Partial<Config> = {},
  refused = 0,
): Promise<string[][]> {
  const { ask, step } = await steppingServer({ max_batch_size: 4, dynamic_batching: batching, ...more }, value);
  await ask({ value: 0 });
  for (const each of asks) await ask(each);
  const seen: string[][] = [];
  while (seen.flat().length < 1 + asks.length - refused) seen.push(await step());
  expect(await step(0)).toEqual([]);
  return seen;
}

const numbered = (count: number, more: Omit<Ask, 'value'> = {}): Ask[] =>
  Array.from({ length: count }, (_, index) => ({ value: index + 1, ...more }));

test('nothing is taken before an instance is free; then as many as fit', async () => {
  expect(await batches({}, numbered(7))).toEqual([['0'], ['1', '2', '3', '4'], ['5', '6', '7']]);
});

test('as many batches at once as there are instances', async () => {
  const instance_group = [{ count: 2 }];
  const ran = await batches({}, numbered(6), { instance_group });
  // Two are free at the start.
  expect(ran).toEqual([
    ['0', '1'],
    ['2', '3', '4', '5', '6'],
  ]);
});

test('preferred sizes are kept to, and what is left runs all the same', async () => {
  expect(await batches({ preferred_batch_size: [2] }, numbered(5))).toEqual([['0'], ['1', '2'], ['3', '4'], ['5']]);
});

test('requests stay whole, and those of another shape wait for a batch of their own', async () => {
  const asks = [
    { value: 1, batch: 3 },
    { value: 2, batch: 2 },
    { value: 3, width: 2 },
    { value: 4, width: 2 },
    { value: 5 },
  ];
  expect(await batches({}, asks)).toEqual([['0'], ['1'], ['2'], ['3', '4'], ['5']]);
});

test('the highest priority first, the default for others, each level with its own limit', async () => {
  const batching: Batching = {
    priority_levels: 3n,
    default_priority_level: 2n,
    priority_queue_policy: { 1: { max_queue_size: 2 } },
  };
  const asks: Ask[] = [
    { value: 1, priority: 3 },
    { value: 2 },
    { value: 3, priority: 1 },
    { value: 4, priority: 99 },
    { value: 5, priority: 1 },
    { value: 6, priority: 1 },
  ];
  const ran = await batches(batching, asks, { max_batch_size: 1 }, 1);
  expect(ran.flat()).toEqual(['0', '3', '5', '2', '4', '1']);
});

test('with a delay: a batch that could grow waits, a full one does not', async () => {
  const delayed = { max_queue_delay_microseconds: 400_000n };
  const { ask, step } = await steppingServer({ max_batch_size: 2, dynamic_batching: delayed }, value);
  await ask({ value: 1 });
  expect(await step(0)).toEqual([]);
  await ask({ value: 2 });
  expect(await step()).toEqual(['1', '2']);
  await ask({ value: 3 });
  expect(await step(0)).toEqual([]);
  expect(await step()).toEqual(['3']);
});

const limited = (timeout_action: 'REJECT' | 'DELAY'): Config => ({
  max_batch_size: 1,
  dynamic_batching: {
    default_queue_policy: {
      timeout_action,
      default_timeout_microseconds: 60_000_000n,
      allow_timeout_override: true,
      max_queue_size: 3,
    },
  },
});

test('the next batch is not looked at while its instance is busy; what is too late of it then is refused', async () => {
  const { client, ask, step } = await steppingServer(limited('REJECT'), value);
  const { answer: running } = await ask({ value: 1 });
  const { answer: late } = await ask({ value: 2, queueTimeoutUs: 5000 });
  const { answer: patient } = await ask({ value: 3, queueTimeoutUs: 1_000_000_000 });
  const { answer: other } = await ask({ value: 4 });
  expect(await (await ask({ value: 5 })).answer).toBe('TRITON_UNAVAILABLE');
  expect(await Promise.race([late, pause(50, 'waits')])).toBe('waits');
  expect(await step()).toEqual(['1']);
  expect([await running, await late]).toEqual(['OK', 'TRITON_UNAVAILABLE']);
  expect([await step(), await step()]).toEqual([['3'], ['4']]);
  expect([await patient, await other]).toEqual(['OK', 'OK']);
  expect((await client.modelStatistics('stepped'))[0]).toMatchObject({ inferenceCount: 3, fail: { count: 1 } });
});

test('what is too late behind the next batch is refused while the instance is busy', async () => {
  const { ask, step } = await steppingServer(limited('REJECT'), value);
  const asked = [await ask({ value: 1 }), await ask({ value: 2 }), await ask({ value: 3, queueTimeoutUs: 1000 })];
  expect(await asked[2]?.answer).toBe('TRITON_UNAVAILABLE');
  expect([await step(), await step()]).toEqual([['1'], ['2']]);
});

test('DELAY puts what is too late behind all others', async () => {
  const { ask, step } = await steppingServer(limited('DELAY'), value);
  const asked = [await ask({ value: 1 }), await ask({ value: 2, queueTimeoutUs: 1000 }), await ask({ value: 3 })];
  expect([await step(), await step(), await step()]).toEqual([['1'], ['3'], ['2']]);
  expect(await Promise.all(asked.map(({ answer }) => answer))).toEqual(['OK', 'OK', 'OK']);
});

test('without batching: one for each instance, in order; what is cancelled while it waits runs all the same', async () => {
  const { ask, step } = await steppingServer({ instance_group: [{ count: 2 }] }, value);
  const abort = new AbortController();
  const reasons = [];
  for (const each of [1, 2, 3, 4, 5]) {
    const { answer } = await ask({ value: each }, each === 4 ? { signal: abort.signal, onAbort: 'cancel' } : {});
    reasons.push(answer);
  }
  abort.abort();
  const settled = Promise.allSettled(reasons);
  expect([await step(), await step(), await step()]).toEqual([['1', '2'], ['3', '4'], ['5']]);
  expect((await settled).map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
});
