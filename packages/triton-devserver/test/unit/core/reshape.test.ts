import { expect, test } from 'vitest';
import { reshapedInput } from '../../../src/core/reshape.js';
import { ModelInput } from '../../../src/grpc/gen/model_config.js';

test('an input is reshaped behind its batch dimension, which is not there where the batch is 0', () => {
  const input = ModelInput.fromPartial({ dims: [-1n, 2n], reshape: { shape: [1n, -1n, 2n, 1n] } });
  expect(reshapedInput([3, 5, 2], input)).toEqual([3, 1, 5, 2, 1]);
  expect(reshapedInput([5, 2], input)).toEqual([1, 5, 2, 1]);
});
