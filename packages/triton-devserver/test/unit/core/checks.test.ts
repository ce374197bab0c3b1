import { describe, expect, test } from 'vitest';
import { checkRequest } from '../../../src/core/checks.js';
import type { InferenceRequest, RequestInput } from '../../../src/core/inference.js';
import { ModelConfig } from '../../../src/grpc/gen/model_config.js';
import { PERSONALITIES, type Version } from '../../../src/personality.js';
import { outcomeOf } from '../../support/outcome.js';

const tensor = (name: string, data_type: string) => ({ name, data_type, dims: [-1n] });
const config = (max_batch_size: number) =>
  ModelConfig.fromPartial({
    name: 'm',
    max_batch_size,
    input: [tensor('A', 'TYPE_FP32'), { ...tensor('B', 'TYPE_STRING'), optional: true }],
    output: [tensor('OUT', 'TYPE_FP32')],
  } as never);

const input = (name: string, shape: readonly number[], byteLength: number | Uint8Array): RequestInput => ({
  name,
  datatype: name === 'B' ? 'BYTES' : 'FP32',
  shape,
  source: { bytes: typeof byteLength === 'number' ? new Uint8Array(byteLength) : byteLength },
});

const request = (inputs: readonly RequestInput[], outputs: readonly string[] = []): InferenceRequest => ({
  id: 'q',
  model: 'm',
  version: '',
  inputs,
  outputs: outputs.map((name) => ({ name, classification: 0 })),
  parameters: {},
  sequence: { id: 0n, start: false, end: false },
  priority: 0n,
  timeoutUs: 0n,
  signal: new AbortController().signal,
});

interface Asked {
  readonly batch?: number;
  readonly version?: Version;
  readonly outputs?: readonly string[];
}

const text = async (inputs: readonly RequestInput[], { batch = 0, version = '2.51', outputs = [] }: Asked = {}) => {
  const outcome = await outcomeOf('grpc', () =>
    checkRequest(request(inputs, outputs), config(batch), PERSONALITIES[version]),
  );
  return 'text' in outcome ? outcome.text : 'OK';
};

describe('a batch of 0', () => {
  test('counts as 1, and the model gets the tensor without the dimension', async () => {
    const checked = checkRequest(request([input('A', [0, 2], 8)]), config(4), PERSONALITIES['2.51']);
    expect(checked.inputs[0]?.shape).toEqual([2]);
    expect(checked.batchSize).toBe(1);
    expect(await text([input('A', [0, 2], 0)], { batch: 4 })).toBe(
      "[request id: q] input byte size mismatch for input 'A' for model 'm'. Expected 8, got 0",
    );
  });

  test('takes the size of the next input', () => {
    const inputs = [input('B', [2, 1], Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0)), input('A', [0, 2], 16)];
    const checked = checkRequest(request(inputs), config(4), PERSONALITIES['2.51']);
    expect(checked.inputs.map(({ name, shape }) => [name, ...shape])).toEqual([
      ['A', 2, 2],
      ['B', 2, 1],
    ]);
  });
});

test('a batch beyond 31 bits is no larger than any, and shown with all digits', async () => {
  expect(await text([input('A', [2 ** 31, 2], 16)], { batch: 4 })).toContain('Expected 17179869184, got 16');
  expect(await text([input('B', [1], Uint8Array.of(0, 0, 0, 0)), input('A', [2 ** 62], 16)])).toContain(
    'Expected 0, got 16',
  );
  expect(await text([input('A', [5, 2], 16)], { batch: 4 })).toContain('batch-size must be <= 4');
  expect(await text([input('A', [1, 2, -(2 ** 63)], 16)], { batch: 4 })).toContain('got [1,2,-9223372036854775808]');
});

test('of several outputs that are not there the first by name is told', async () => {
  const outputs = ['Z', 'é', 'X'];
  expect(await text([input('A', [1], 4)], { outputs })).toBe("unexpected inference output 'X' for model 'm'");
});

test('an input that is not there: before all else from 2.51 on, in its turn on 2.48', async () => {
  const inputs = [input('NONE', [1], 4), input('A', [2], 4)];
  expect(await text(inputs)).toBe("unexpected inference input 'NONE' for model 'm'");
  expect(await text(inputs, { version: '2.48' })).toContain("input byte size mismatch for input 'A'");
});

describe('elements of BYTES', () => {
  const bytes = (...numbers: number[]) => [input('A', [1], 4), input('B', [2], Uint8Array.from(numbers))];

  test.each([
    [
      'one too many',
      [1, 0, 0, 0, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      "unexpected number of string elements 3 for inference input 'B' for model 'm', expecting 2",
      "expected 2 string elements for inference input 'B', got 4",
    ],
    [
      'one too few',
      [0, 0, 0, 0],
      "expected 2 string elements for inference input 'B' for model 'm', got 1",
      "expected 2 string elements for inference input 'B', got 1",
    ],
    [
      'a length that is cut off',
      [0, 0, 0, 0, 1, 0],
      "incomplete string length indicator for inference input 'B' for model 'm', expecting 4 bytes but only 2 bytes available. Please make sure the string length indicator is in one buffer.",
      'element byte size indicator exceeds the end of the buffer.',
    ],
    ['an element that is cut off', [0, 0, 0, 0, 9, 0, 0, 0, 65], 'OK', 'OK'],
  ])('%s: the texts of 2.51 and of 2.48', async (_, numbers, newer, older) => {
    const prefixed = (said: string) => (said === 'OK' ? said : `[request id: q] ${said}`);
    expect(await text(bytes(...numbers))).toBe(prefixed(newer));
    expect(await text(bytes(...numbers), { version: '2.48' })).toBe(prefixed(older));
  });
});
