import { TritonClient, tensor } from '@zerohop/triton-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DevServer, type ModelDefinition } from '../../src/index.js';

const config = {
  input: [{ name: 'A', data_type: 'TYPE_FP32', dims: [-1] }],
  output: [
    { name: 'B', data_type: 'TYPE_FP32', dims: [-1] },
    { name: 'T', data_type: 'TYPE_STRING', dims: [-1] },
  ],
} as const;

const DECOUPLED = { ...config, model_transaction_policy: { decoupled: true } };

/** What a model written in JavaScript may give, and what its client hears of it. */
const MISTAKES: Readonly<Record<string, readonly [gives: () => unknown, text: string | RegExp]>> = {
  nothing: [() => undefined, 'The model gave no outputs: it has to give an object with B, T'],
  misnamed: [() => ({ C: {} }), "The model gave an output 'C', and its configuration has B, T"],
  bare: [() => ({ B: [1, 2] }), "The model gave no data for output 'B', which is FP32: it takes a Float32Array"],
  list: [
    () => ({ B: { shape: [2], data: [1, 2] } }),
    "The model gave a Array for output 'B', which is FP32: it takes a Float32Array",
  ],
  text: [
    () => ({ B: { shape: [2], data: 'xy' } }),
    "The model gave a String for output 'B', which is FP32: it takes a Float32Array",
  ],
  doubles: [
    () => ({ B: { shape: [1], data: Float64Array.of(1) } }),
    "The model gave a Float64Array for output 'B', which is FP32: it takes a Float32Array",
  ],
  shapeless: [() => ({ B: { data: Float32Array.of(1) } }), "The model gave no shape for output 'B'"],
  short: [
    () => ({ B: { shape: [2], data: Float32Array.of(1) } }),
    "output tensor shape does not match size of output for 'B'",
  ],
  bytes: [
    () => ({ T: { shape: [1], data: Float32Array.of(1) } }),
    "The model gave a Float32Array for output 'T', which is BYTES: it takes an array of strings or byte strings",
  ],
  numbers: [
    () => ({ T: { shape: [1], data: [1] } }),
    "The model gave a Number for an element of output 'T', which is a string or a Uint8Array",
  ],
  throws: [
    function throws() {
      throw new RangeError('boom');
    },
    /^Failed to process the request\(s\) for model 'throws_0_0', message: RangeError: boom\n\nAt:\n {2}\/.*model-mistakes\.test\.ts\(\d+\): throws\n/,
  ],
};

describe('what a model gives by mistake', () => {
  let server: DevServer;

  beforeAll(async () => {
    const models = Object.entries(MISTAKES).map(([name, [gives]]) => [name, { config, execute: () => gives() }]);
    server = await DevServer.start({ models: Object.fromEntries(models) as Record<string, ModelDefinition> });
  });
  afterAll(() => server.stop());

  describe.each(['grpcUrl', 'httpUrl'] as const)('%s', (url) => {
    test.each(Object.entries(MISTAKES))('%s', async (name, [, text]) => {
      await using client = new TritonClient(server[url]);
      const answer = client.infer(name, { inputs: { A: tensor('FP32', [1], Float32Array.of(1)) } });
      const error: unknown = await answer.then(
        () => undefined,
        (refusal: unknown) => refusal,
      );
      expect(error).toMatchObject({ details: typeof text === 'string' ? text : expect.stringMatching(text) });
    });
  });
});

test('an output more than the configuration has is dropped, as by a real Python model', async () => {
  const B = { shape: [1], data: Float32Array.of(7) };
  const execute = () => ({ B, T: { shape: [1], data: ['t'] }, C: B });
  await using server = await DevServer.start({ models: { m: { config, execute } } });
  await using client = new TritonClient(server.grpcUrl);
  const { outputs } = await client.infer('m', { inputs: { A: tensor('FP32', [1], Float32Array.of(1)) } });
  expect(outputs.map(({ name }) => name)).toEqual(['B', 'T']);
});

describe('a model that can not run is said at the start', () => {
  const lacks = /the model has executeDecoupled and no execute, but its configuration lacks model_transaction_policy/;
  const answers = () => [{ outputs: {} }, { outputs: {} }];

  test.each<[string, ModelDefinition, RegExp]>([
    ['several answers', { config, executeDecoupled: answers }, lacks],
    ['several answers of an object', { config, create: () => ({ executeDecoupled: answers }) }, lacks],
    [
      'code twice',
      { config, execute: () => ({}), onnx: 'x.onnx' },
      /the model has an execute function and onnx: give it one of them/,
    ],
    ['no code', { config }, /the model has none of execute, /],
    [
      'a batch of a decoupled model',
      { config: DECOUPLED, executeBatch: () => [] },
      /has executeBatch alone, which a decoupled/,
    ],
    [
      'made without code',
      { config, create: () => ({}) },
      /create\(\) must give an object with execute or executeBatch or/,
    ],
  ])('%s', async (_, definition, text) => {
    await expect(DevServer.start({ models: { m: definition } })).rejects.toThrow(text);
  });
});
