import { expect, onTestFinished, test } from 'vitest';
import {
  DevServer,
  type ExecuteBatch,
  type ModelDefinition,
  type ModelOutputData,
  ServerError,
} from '../../src/index.js';
import { clientOf, ints } from '../support/fault-server.js';

const config = {
  max_batch_size: 4,
  input: [{ name: 'X', data_type: 'TYPE_INT32', dims: [1] }],
  output: [{ name: 'Y', data_type: 'TYPE_INT32', dims: [1] }],
  // Long enough for all that a test sends at once; a full batch does not wait.
  dynamic_batching: { max_queue_delay_microseconds: 60_000_000 },
} as const;

async function serving(model: ModelDefinition) {
  const server = await DevServer.start({ models: { model } });
  onTestFinished(() => server.kill());
  const client = clientOf(server.grpcUrl);
  const infer = async (value: number) => {
    const { inputs } = ints(value);
    const answer = await client.infer('model', { inputs: { X: { ...inputs.X, shape: [1, 1] } } });
    return (answer.output('Y').data as Int32Array)[0];
  };
  const all = (values: readonly number[]) =>
    Promise.all(values.map((value) => infer(value).catch((error: { details: string }) => error.details)));
  return { server, client, all };
}

test('the requests of a batch come together, and each gets its own answer or error', async () => {
  const sizes: number[] = [];
  const executeBatch: ExecuteBatch = (requests) => {
    sizes.push(requests.length);
    return requests.map(({ inputs: { X } }) => {
      const values = X?.data as Int32Array;
      if (values[0] === 3) return new ServerError('INVALID_ARG', 'three');
      return { Y: { shape: [1, 1], data: values.map((value) => 10 * value) } };
    });
  };
  const { all, client } = await serving({ config, executeBatch });
  expect(await all([1, 2, 3, 4])).toEqual([10, 20, 'three', 40]);
  expect(sizes).toEqual([4]);
  const [statistics] = await client.modelStatistics('model');
  expect(statistics).toMatchObject({ executionCount: 1, inferenceCount: 4 });
});

test.each<[string, ExecuteBatch, RegExp]>([
  [
    'throws',
    () => {
      throw new RangeError('boom');
    },
    /^Failed to process the request\(s\) for model 'model_0_0', message: RangeError: boom\n/,
  ],
  ['gives too little', () => [{}], /^executeBatch gave 1 answers to 4 requests$/],
  ['gives no list', () => ({}) as never, /^executeBatch gave no list of answers to 4 requests$/],
  ['gives nothing for one', () => [undefined, undefined, undefined, undefined] as never, /^The model gave no outputs/],
])('where it %s, all hear of it', async (_, executeBatch, text) => {
  const { all } = await serving({ config, executeBatch });
  for (const answer of await all([1, 2, 3, 4])) expect(answer).toMatch(text);
});

test('without batching it gets one request at a time, also made by create', async () => {
  const { max_batch_size: _, dynamic_batching: __, ...plain } = config;
  const executeBatch: ExecuteBatch = (requests) => requests.map(({ inputs: { X } }) => ({ Y: X as ModelOutputData }));
  const create = () => ({ executeBatch });
  const server = await DevServer.start({ models: { model: { config: plain, create } } });
  onTestFinished(() => server.kill());
  expect((await clientOf(server.grpcUrl).infer('model', ints(5))).output('Y').data).toEqual(Int32Array.of(5));
});
