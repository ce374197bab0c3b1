import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { elementByteLength } from '../../src/datatype.js';
import { encodeRequest as encodeChecked } from '../../src/grpc/encode.js';
import { type InferParameter, ModelInferRequest } from '../../src/grpc/gen/grpc_service.js';
import { type InferRequest, type ParameterValue, region, type Tensor, tensor } from '../../src/index.js';
import { checkRequest } from '../../src/request.js';
import type { OutputRequest, RegionRef, RegionTensor } from '../../src/types/request.js';

type Parameters = Record<string, InferParameter>;

const int64 = (value: bigint | number): InferParameter => ({
  parameterChoice: { $case: 'int64Param', value: BigInt(value) },
});

function parameter(value: ParameterValue): InferParameter {
  if (typeof value === 'boolean') return { parameterChoice: { $case: 'boolParam', value } };
  if (typeof value === 'string') return { parameterChoice: { $case: 'stringParam', value } };
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return int64(value);
  return { parameterChoice: { $case: 'doubleParam', value } };
}

function regionParameters(ref: RegionRef): Parameters {
  return {
    shared_memory_region: parameter(ref.region),
    shared_memory_byte_size: int64(ref.byteLength),
    ...(ref.byteOffset > 0 && { shared_memory_offset: int64(ref.byteOffset) }),
  };
}

/** The same request through the generated codec. */
function generated(model: string, request: InferRequest): Uint8Array {
  const inputs = Object.entries(request.inputs);
  return ModelInferRequest.encode({
    modelName: model,
    modelVersion: request.version ?? '',
    id: request.id ?? '',
    parameters: {
      ...Object.fromEntries(Object.entries(request.parameters ?? {}).map(([key, value]) => [key, parameter(value)])),
      ...(request.priority !== undefined && { priority: int64(request.priority) }),
      ...(request.queueTimeoutUs !== undefined && { timeout: int64(request.queueTimeoutUs) }),
    },
    inputs: inputs.map(([name, input]) => ({
      name,
      datatype: input.datatype,
      shape: input.shape.map(BigInt),
      parameters: 'region' in input ? regionParameters(input) : {},
    })),
    outputs: Object.entries(request.outputs ?? {}).map(([name, output]) => ({
      name,
      parameters:
        'region' in output
          ? regionParameters(output as RegionRef)
          : 'classification' in output
            ? { classification: int64(output.classification) }
            : {},
    })),
    rawInputContents: inputs.flatMap(([, input]) => ('region' in input ? [] : [input.data])),
  }).finish();
}

/** Text of one code unit to several, past the length at which a length takes two bytes. */
const name = fc.oneof(fc.string({ minLength: 1, unit: 'grapheme' }), fc.constantFrom('n'.repeat(127), 'n'.repeat(300)));
const shape = fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 2 });
const count = (dimensions: readonly number[]) => dimensions.reduce((product, dimension) => product * dimension, 1);

const message: fc.Arbitrary<Tensor> = fc
  .record({ datatype: fc.constantFrom('FP32', 'UINT8', 'INT64', 'FP16', 'BOOL'), shape })
  .map(({ datatype, shape: dimensions }) => ({
    datatype,
    shape: dimensions,
    data: Buffer.alloc(count(dimensions) * (elementByteLength(datatype) ?? 0), 0xa5),
  }));
const byteOffset = fc.oneof(fc.constant(0), fc.nat(), fc.maxSafeNat());
const inRegion: fc.Arbitrary<RegionTensor> = fc
  .record({ name, shape, byteOffset })
  .map(({ name: regionName, ...rest }) => region(regionName, { datatype: 'FP32', ...rest }));
const output: fc.Arbitrary<OutputRequest> = fc.oneof(
  fc.constant({}),
  fc.record({ region: name, byteOffset, byteLength: fc.integer({ min: 1, max: 2 ** 40 }) }),
  fc.record({ classification: fc.integer({ min: 1 }) }),
);
const value: fc.Arbitrary<ParameterValue> = fc.oneof(
  fc.boolean(),
  fc.string(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true }).filter((number) => !Number.isSafeInteger(number)),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
);
const entries = <T>(of: fc.Arbitrary<T>, maxKeys: number) =>
  fc.dictionary(
    name.filter((key) => key !== '__proto__'),
    of,
    { maxKeys, noNullPrototype: true },
  );
const request: fc.Arbitrary<InferRequest> = fc.record(
  {
    inputs: entries(fc.oneof(message, inRegion), 4),
    outputs: entries(output, 3),
    parameters: entries(value, 3).filter(
      (keys) =>
        !Object.keys(keys).some((key) =>
          /^(triton_|(?:priority|timeout|headers|binary_data_output|sequence_\w+)$)/.test(key),
        ),
    ),
    id: fc.string(),
    version: fc.string(),
    priority: fc.nat(),
    queueTimeoutUs: fc.integer({ min: 1 }),
  },
  { requiredKeys: ['inputs'] },
);

const encodeRequest = (model: string, made: InferRequest) => encodeChecked(checkRequest(model, made));

describe('encodeRequest', () => {
  test('writes the bytes of the generated codec', () => {
    fc.assert(
      fc.property(name, request, (model, made) => {
        expect(encodeRequest(model, made).bytes.equals(generated(model, made))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('a request that names regions carries no tensor', () => {
    const encoded = encodeRequest('defects', {
      inputs: { images: region('slot-1', { datatype: 'FP32', shape: [1, 3, 2160, 3840] }) },
      outputs: { output0: { region: 'slot-1', byteOffset: 99_532_800, byteLength: 5_184_000 } },
    });
    expect(encoded.bytes.byteLength).toBeLessThan(500);
    expect(encoded.namesRegion).toBe(true);
  });

  test('raw contents are only those of inputs in the message, in their order', () => {
    const { bytes } = encodeRequest('m', {
      inputs: {
        a: tensor('UINT8', [1], Uint8Array.of(1)),
        b: region('r', { datatype: 'UINT8', shape: [1] }),
        c: tensor('UINT8', [1], Uint8Array.of(3)),
      },
    });
    const decoded = ModelInferRequest.decode(bytes);
    expect(decoded.inputs.map((input) => input.name)).toEqual(['a', 'b', 'c']);
    expect(decoded.rawInputContents.map((raw) => [...raw])).toEqual([[1], [3]]);
  });

  test('copies: changing an array afterwards changes nothing', () => {
    const data = Uint8Array.of(1, 2);
    const { bytes } = encodeRequest('m', { inputs: { a: tensor('UINT8', [2], data) } });
    data.fill(9);
    expect([...(ModelInferRequest.decode(bytes).rawInputContents[0] ?? [])]).toEqual([1, 2]);
  });

  test.each<[string, unknown, string]>([
    [
      'a size that is not the shape’s',
      { inputs: { a: { datatype: 'FP32', shape: [2], data: new Uint8Array(4) } } },
      "Expected 8 bytes (FP32 [2]) for the size of input 'a' but received 4 of type number",
    ],
    [
      'a dimension of -1',
      { inputs: { a: { datatype: 'FP32', shape: [-1], data: new Uint8Array(4) } } },
      'Expected non-negative integer for shape[0]',
    ],
    [
      'data that is not bytes',
      { inputs: { a: { datatype: 'FP32', shape: [1], data: new Float32Array(1) } } },
      "Expected Uint8Array for data of input 'a'",
    ],
    [
      'an empty region name',
      { inputs: { a: { region: '', datatype: 'FP32', shape: [1], byteOffset: 0, byteLength: 4 } } },
      "Expected non-empty string for region of 'a'",
    ],
    [
      'an empty input name',
      { inputs: { '': { datatype: 'FP32', shape: [1], data: new Uint8Array(4) } } },
      'input name',
    ],
    [
      'a negative offset',
      { inputs: {}, outputs: { o: { region: 'r', byteOffset: -1, byteLength: 4 } } },
      "Expected non-negative integer for byteOffset of 'o'",
    ],
    [
      'a capacity of 0',
      { inputs: {}, outputs: { o: { region: 'r', byteOffset: 0, byteLength: 0 } } },
      "Expected positive integer for byteLength of 'o'",
    ],
    [
      'region and classification',
      { inputs: {}, outputs: { o: { region: 'r', byteOffset: 0, byteLength: 4, classification: 1 } } },
      "a region or a classification for output 'o'",
    ],
    ['classification 0', { inputs: {}, outputs: { o: { classification: 0 } } }, "classification of 'o'"],
    [
      'a parameter of the server’s',
      { inputs: {}, parameters: { triton_enable_empty_final_response: true } },
      'triton_',
    ],
    ['priority as a parameter', { inputs: {}, parameters: { priority: 1 } }, 'parameters.priority'],
    ['an integer past 64 bits', { inputs: {}, parameters: { a: 2n ** 63n } }, 'a 64-bit integer for parameters.a'],
    ['a parameter of no type', { inputs: {}, parameters: { a: null } }, 'Expected boolean, number, bigint or string'],
  ])('refuses %s', (_, wrong, text) => {
    expect(() => encodeRequest('m', wrong as InferRequest)).toThrow(text);
  });

  test('refuses what no message can hold', () => {
    const huge = { datatype: 'UINT8', shape: [2 ** 30], data: new Uint8Array(2 ** 30) } as const;
    expect(() => encodeRequest('m', { inputs: { a: huge, b: huge } })).toThrow(/at most 2147483647 bytes/);
  });
});
