import { describe, expect, test } from 'vitest';
import { type InferRequest, type ModelConfig, type ModelMetadata, region, tensor } from '../../src/index.js';
import { ModelRules } from '../../src/model-rules.js';
import { checkRequest } from '../../src/request.js';

const METADATA: ModelMetadata = {
  name: 'm',
  versions: ['1'],
  platform: '',
  inputs: [
    { name: 'IMAGE', datatype: 'FP32', shape: [-1, 3, -1] },
    { name: 'SIZE', datatype: 'INT32', shape: [2] },
    { name: 'LABEL', datatype: 'BYTES', shape: [-1, 1] },
  ],
  outputs: [
    { name: 'BOXES', datatype: 'FP32', shape: [-1, 100, 4] },
    { name: 'NAMES', datatype: 'BYTES', shape: [-1, 100] },
    { name: 'HALF', datatype: 'FP16', shape: [-1, 8] },
    { name: 'OPEN', datatype: 'INT64', shape: [-1, -1] },
    { name: 'OTHER', datatype: 'INT64', shape: [-1, 2] },
  ],
};

const CONFIG: ModelConfig = {
  name: 'm',
  platform: '',
  backend: 'x',
  maxBatchSize: 4,
  decoupled: false,
  instanceGroups: [],
  parameters: {},
  optionalInputs: ['LABEL'],
  raw: {
    input: [{ name: 'SIZE', is_shape_tensor: true }, { name: 'IMAGE' }],
    batch_output: [{ target_name: ['OTHER'], kind: 'BATCH_SCATTER_WITH_INPUT_SHAPE' }],
  },
};

const image = (batch: number) => tensor('FP32', [batch, 3, 2], new Float32Array(batch * 6));
const SIZE = tensor('INT32', [2], [1, 2]);
const INPUTS = { IMAGE: image(2), SIZE };

function check(request: InferRequest, config: ModelConfig | undefined = CONFIG, metadata = METADATA): void {
  new ModelRules(metadata, config).check(checkRequest('m', request));
}

const withOutput = (name: string, output: object) => ({ inputs: INPUTS, outputs: { [name]: output as never } });
const into = (byteLength: number) => ({ region: 'r', byteOffset: 0, byteLength });

describe('a request that fits passes', () => {
  test.each<[string, InferRequest]>([
    ['without the optional input', { inputs: INPUTS }],
    ['with it', { inputs: { ...INPUTS, LABEL: tensor('BYTES', [2, 1], ['a', 'b']) } }],
    ['by region', { inputs: { ...INPUTS, IMAGE: region('r', { datatype: 'FP32', shape: [1, 3, 9] }) } }],
    ['the largest batch', { inputs: { ...INPUTS, IMAGE: image(4) } }],
    ['outputs in regions that are exactly large enough', withOutput('BOXES', into(2 * 100 * 4 * 4))],
    ['an output of open size', withOutput('OPEN', into(8))],
    ['an output with a batch of its own', withOutput('OTHER', into(8))],
    ['BYTES in a region', withOutput('NAMES', into(8))],
    ['classes', withOutput('BOXES', { classification: 3 })],
  ])('%s', (_, request) => {
    expect(() => check(request)).not.toThrow();
  });
});

describe('a request that does not fit is refused, and the error says why', () => {
  test.each<[InferRequest, typeof TypeError | typeof RangeError, string]>([
    [{ inputs: { SIZE } }, TypeError, "Expected a tensor for input 'IMAGE' of model 'm' but received undefined"],
    [
      { inputs: { ...INPUTS, WRONG: SIZE } },
      RangeError,
      "Expected one of 'IMAGE', 'SIZE', 'LABEL' for an input of model 'm' but received 'WRONG' of type string",
    ],
    [
      { inputs: { ...INPUTS, IMAGE: tensor('FP64', [1, 3, 1], [1, 2, 3]) } },
      TypeError,
      "Expected FP32 for the datatype of input 'IMAGE' of model 'm' but received 'FP64' of type string",
    ],
    [
      { inputs: { ...INPUTS, IMAGE: tensor('FP32', [1, 2, 1], [1, 2]) } },
      RangeError,
      "Expected [-1, 3, -1] for the shape of input 'IMAGE' of model 'm' but received [1, 2, 1] of type object",
    ],
    [
      { inputs: { ...INPUTS, IMAGE: tensor('FP32', [3, 1], [1, 2, 3]) } },
      RangeError,
      "Expected [-1, 3, -1] for the shape of input 'IMAGE' of model 'm' but received [3, 1] of type object",
    ],
    [
      { inputs: { ...INPUTS, IMAGE: image(5) } },
      RangeError,
      "Expected 1 to 4 for the batch of model 'm' but received 5 of type number",
    ],
    [
      { inputs: { ...INPUTS, IMAGE: tensor('FP32', [0, 3, 1], []) } },
      RangeError,
      "Expected 1 to 4 for the batch of model 'm' but received 0 of type number",
    ],
    [
      { inputs: { IMGE: image(2), SIZE } },
      RangeError,
      "Expected one of 'IMAGE', 'SIZE', 'LABEL' for an input of model 'm' but received 'IMGE' of type string",
    ],
    [
      { inputs: { ...INPUTS, LABEL: tensor('BYTES', [1, 1], ['a']) } },
      RangeError,
      "Expected 2, the batch of 'IMAGE', for the batch of input 'LABEL' of model 'm' but received 1 of type number",
    ],
    [
      withOutput('BOX', {}),
      RangeError,
      "Expected one of 'BOXES', 'NAMES', 'HALF', 'OPEN', 'OTHER' for an output of model 'm' but received 'BOX'",
    ],
    [
      withOutput('BOXES', into(3199)),
      RangeError,
      "Expected at least 3200 bytes (FP32 [-1, 100, 4]) for the region of output 'BOXES' of model 'm' but received 3199",
    ],
    [
      withOutput('HALF', { classification: 1 }),
      TypeError,
      "Expected a datatype with classes for the classification of output 'HALF' of model 'm' but received 'FP16'",
    ],
    [withOutput('NAMES', { classification: 1 }), TypeError, "Output 'NAMES' of model 'm' is BYTES"],
  ])('%#', (request, kind, message) => {
    expect(() => check(request)).toThrow(kind);
    expect(() => check(request)).toThrow(message);
  });

  test('a decoupled model writes no regions', () => {
    expect(() => check(withOutput('BOXES', into(1e6)), { ...CONFIG, decoupled: true })).toThrow(
      expect.objectContaining({ code: 'TRITON_UNSAFE_REQUEST', message: expect.stringContaining("'BOXES'") }),
    );
  });

  test('a model with a sequence batcher wants one', () => {
    const config = { ...CONFIG, raw: { ...CONFIG.raw, sequence_batching: {} } };
    expect(() => check({ inputs: INPUTS }, config)).toThrow(
      "Expected a sequence, which model 'm' works in, for sequence",
    );
    expect(() => check({ inputs: INPUTS, sequence: { id: 1, start: true } }, config)).not.toThrow();
  });
});

test('without a batch dimension the first dimension is one like others', () => {
  const config = { ...CONFIG, maxBatchSize: 0 };
  const metadata = { ...METADATA, outputs: [{ name: 'BOXES', datatype: 'FP32', shape: [100, 4] }] } as const;
  expect(() => check({ inputs: { ...INPUTS, IMAGE: image(9) } }, config, metadata)).not.toThrow();
  expect(() => check(withOutput('BOXES', into(1600)), config, metadata)).not.toThrow();
  expect(() => check(withOutput('BOXES', into(1599)), config, metadata)).toThrow('at least 1600 bytes');
});

test('without a configuration only what metadata tell is checked', () => {
  const rules = new ModelRules(METADATA, undefined);
  const passes = (request: InferRequest) => () => rules.check(checkRequest('m', request));
  expect(passes({ inputs: {} })).not.toThrow();
  expect(passes({ inputs: { ...INPUTS, IMAGE: image(9) } })).not.toThrow();
  expect(passes(withOutput('BOXES', into(8)))).not.toThrow();
  expect(passes({ inputs: { IMAGE: SIZE } })).toThrow(TypeError);
  expect(passes(withOutput('NAMES', { classification: 1 }))).toThrow(
    expect.objectContaining({ code: 'TRITON_UNSAFE_REQUEST' }),
  );
});
