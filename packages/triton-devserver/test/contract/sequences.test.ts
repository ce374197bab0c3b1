import { expect, test } from 'vitest';
import type { ModelDefinition, ModelRequest } from '../../src/index.js';
import { steppingServer } from '../support/stepping-server.js';

const name = ({ sequence: { id, start, end } }: ModelRequest) => `${id}${start ? ' start' : ''}${end ? ' end' : ''}`;

async function sequenceServer(config: ModelDefinition['config']) {
  const { ask: request, ...server } = await steppingServer(config, name);
  const ask = async (id: number | string, start = false, end = false) =>
    request({ sequence: { id: typeof id === 'number' ? BigInt(id) : id, start, end } });
  return { ...server, ask };
}

/** What became of requests. */
const answers = (asked: readonly { readonly answer: Promise<string> }[]) =>
  Promise.all(asked.map(({ answer }) => answer));

test('an id is free with its END: what follows with START is another sequence, though the first still runs', async () => {
  const { ask, step } = await sequenceServer({ sequence_batching: {} });
  const asked = [
    await ask(5, true),
    await ask(5, false, true),
    await ask(5, true),
    await ask(5),
    await ask(5, false, true),
  ];
  const ran = [await step(), await step(), await step(), await step(), await step()];
  expect(ran).toEqual([['5 start'], ['5 end'], ['5 start'], ['5'], ['5 end']]);
  expect(await answers(asked)).toEqual(['OK', 'OK', 'OK', 'OK', 'OK']);
  expect(await answers([await ask(5)])).toEqual(['TRITON_INVALID_ARGUMENT']);
});

test('direct: an instance runs one batch at a time, of one request of each of its sequences', async () => {
  const { client, ask, step } = await sequenceServer({ max_batch_size: 4, sequence_batching: { direct: {} } });
  const asked = [await ask(1, true), await ask(2, true), await ask(3, true), await ask(1), await ask(2, false, true)];
  expect(await step()).toEqual(['1 start']);
  expect((await step()).sort()).toEqual(['1', '2 start', '3 start']);
  expect(await step()).toEqual(['2 end']);
  expect(await answers(asked)).toEqual(['OK', 'OK', 'OK', 'OK', 'OK']);
  const [statistics] = await client.modelStatistics('stepped');
  expect(statistics).toMatchObject({ inferenceCount: 5, executionCount: 3 });
});

test('without slots for all: those beyond them wait until another has ended, in order', async () => {
  const { ask, step } = await sequenceServer({ sequence_batching: { direct: {} } });
  const asked = [await ask(1, true), await ask(2, true, true), await ask(3, true, true)];
  expect([await step(), await step(0)]).toEqual([['1 start'], []]);
  asked.push(await ask(1, false, true));
  expect([await step(), await step(), await step()]).toEqual([['1 end'], ['2 start end'], ['3 start end']]);
  expect(await answers(asked)).toEqual(['OK', 'OK', 'OK', 'OK']);
});

test('oldest: one at a time without batches, those that wait longest first', async () => {
  const { ask, step } = await sequenceServer({ sequence_batching: { oldest: { max_candidate_sequences: 4 } } });
  const asked = [await ask(1, true), await ask(2, true), await ask(1), await ask(3, true)];
  const ran = [await step(), await step(), await step(), await step()];
  expect(ran).toEqual([['1 start'], ['2 start'], ['1'], ['3 start']]);
  expect(await answers(asked)).toEqual(['OK', 'OK', 'OK', 'OK']);
});

test('two instances run two sequences at once', async () => {
  const { ask, step } = await sequenceServer({ instance_group: [{ count: 2 }], sequence_batching: {} });
  const asked = [await ask(1, true, true), await ask('b', true, true), await ask(3, true, true)];
  expect([await step(2), await step()]).toEqual([['1 start end', 'b start end'], ['3 start end']]);
  expect(await answers(asked)).toEqual(['OK', 'OK', 'OK']);
});

test('a sequence that says nothing for its idle time is forgotten, and its slot is another’s', async () => {
  const { ask, step } = await sequenceServer({ sequence_batching: { max_sequence_idle_microseconds: 60_000n } });
  const asked = [await ask(1, true), await ask(2, true)];
  expect([await step(), await step()]).toEqual([['1 start'], ['2 start']]);
  expect(await answers(asked)).toEqual(['OK', 'OK']);
  expect(await answers([await ask(1)])).toEqual(['TRITON_INVALID_ARGUMENT']);
});
