import type { Datatype } from '@zerohop/cuda-native/tensor';
import { expect, test } from 'vitest';
import { BLOCK_ALIGNMENT, FIRST_OUTPUT_BYTES, type PlanInput, planSlot, withCapacities } from '../../src/layout.js';

const tensor = (name: string, datatype: Datatype, ...shape: number[]) => ({ name, datatype, shape });
const plan = (input: Partial<PlanInput>) =>
  planSlot({ model: 'm', inputs: [], outputs: [], maxBatchSize: 0, ...input });

test('inputs come first, then outputs, at 256-byte-aligned offsets', () => {
  const { inputs, outputs, byteLength, inputByteLength } = plan({
    inputs: [tensor('A', 'FP32', 1, 3, 5), tensor('B', 'UINT8', 257)],
    outputs: [tensor('C', 'FP16', 7)],
  });
  expect(inputs.map(({ byteOffset, byteLength: size }) => [byteOffset, size])).toEqual([
    [0, 60],
    [256, 257],
  ]);
  expect(inputByteLength).toBe(256 + 257);
  expect(outputs).toEqual([
    { name: 'C', datatype: 'FP16', declared: [7], shape: [7], byteOffset: 768, byteLength: 14, maxByteLength: 14 },
  ]);
  expect(byteLength).toBe(782);
});

test('blocks never overlap, whatever the sizes', () => {
  let state = 12345;
  const random = (limit: number) => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return 1 + (state % limit);
  };
  for (let round = 0; round < 200; round += 1) {
    const tensors = Array.from({ length: random(6) }, (_, index) =>
      tensor(`T${index}`, 'INT64', random(50), random(9)),
    );
    const split = random(tensors.length);
    const { inputs, outputs, byteLength } = plan({ inputs: tensors.slice(0, split), outputs: tensors.slice(split) });
    let end = 0;
    for (const block of [...inputs, ...outputs]) {
      expect(block.byteOffset % BLOCK_ALIGNMENT).toBe(0);
      expect(block.byteOffset).toBeGreaterThanOrEqual(end);
      end = block.byteOffset + block.byteLength;
    }
    expect(byteLength).toBe(end);
  }
});

test('an open dimension needs a shape, and a shape has to fit the model', () => {
  const inputs = [tensor('A', 'FP32', -1, 3)];
  expect(() => plan({ inputs })).toThrow(expect.objectContaining({ code: 'ERR_TENSOR_SIZE' }));
  expect(plan({ inputs, shapes: { A: [5, 3] } }).byteLength).toBe(60);
  expect(() => plan({ inputs, shapes: { A: [5, 4] } })).toThrow(RangeError);
  expect(() => plan({ inputs, shapes: { A: [5] } })).toThrow(RangeError);
  expect(() => plan({ inputs, shapes: { A: [0, 3] } })).toThrow(RangeError);
  expect(() => plan({ inputs, shapes: { B: [5, 3] } })).toThrow(/has no tensor 'B'; it has 'A'/);
});

test('the batch is 1 unless given; outputs take the batch of the inputs', () => {
  const model = { inputs: [tensor('A', 'FP32', -1, 4)], outputs: [tensor('B', 'FP32', -1, 2)], maxBatchSize: 8 };
  expect(plan(model)).toMatchObject({ inputs: [{ shape: [1, 4] }], outputs: [{ shape: [1, 2] }] });
  expect(plan({ ...model, shapes: { A: [6, 4] } })).toMatchObject({ outputs: [{ shape: [6, 2] }] });
  expect(() => plan({ ...model, shapes: { A: [9, 4] } })).toThrow(/max_batch_size 8/);
});

test('an input of BYTES is refused', () => {
  expect(() => plan({ inputs: [tensor('S', 'BYTES', 1)] })).toThrow(
    expect.objectContaining({ code: 'ERR_TENSOR_SIZE' }),
  );
});

test('one batch for all: that of the input that has a shape, and of no other', () => {
  const inputs = [tensor('A', 'FP32', -1, 4), tensor('B', 'FP32', -1, 1)];
  const outputs = [tensor('C', 'FP32', -1, 2)];
  const model = { inputs, outputs, maxBatchSize: 8 };
  expect(plan({ ...model, shapes: { B: [6, 1] } })).toMatchObject({
    inputs: [{ shape: [6, 4] }, { shape: [6, 1] }],
    outputs: [{ shape: [6, 2] }],
  });
  expect(() => plan({ ...model, shapes: { A: [6, 4], B: [5, 1] } })).toThrow(
    "Expected the batch of input 'A', 6, for shapes.B[0] but received 5",
  );
});

test("names that every object has are a tensor's as others", () => {
  const model = { inputs: [tensor('constructor', 'FP32', -1, 2)], outputs: [tensor('valueOf', 'BYTES', 1)] };
  expect(plan({ ...model, maxBatchSize: 4 })).toMatchObject({
    inputs: [{ shape: [1, 2] }],
    outputs: [{ byteLength: FIRST_OUTPUT_BYTES }],
  });
});

test.for<[string, Datatype, number[], number[]]>([
  ['BYTES', 'BYTES', [1], [1]],
  ['BYTES of open dimensions', 'BYTES', [-1], [FIRST_OUTPUT_BYTES / 4]],
  ['open dimensions', 'FP16', [-1, 3], [Math.floor(FIRST_OUTPUT_BYTES / 6), 3]],
])('an output whose size nothing tells starts small and can grow: %s', ([, datatype, declared, shape]) => {
  const model = { outputs: [tensor('S', datatype, ...declared), tensor('T', 'FP32', 2)] };
  const first = { byteLength: FIRST_OUTPUT_BYTES, maxByteLength: 256 * 1024 * 1024, shape };
  expect(plan(model).outputs[0]).toMatchObject(first);
  expect(plan({ ...model, maxOutputBytes: 100 }).outputs[0]).toMatchObject({ byteLength: 100, maxByteLength: 100 });
  const hinted = (byteLength: number) => plan({ ...model, outputHints: { S: { byteLength } }, maxOutputBytes: 1000 });
  expect(hinted(60).outputs[0]).toMatchObject({ byteLength: 60, maxByteLength: 1000 });
  expect(hinted(6000).outputs[0]).toMatchObject({ byteLength: 6000, maxByteLength: 6000 });
});

test('with more room for an output, inputs stay where they are and nothing overlaps', () => {
  const before = plan({
    inputs: [tensor('A', 'FP32', 5)],
    outputs: [tensor('B', 'FP32', -1, 2), tensor('C', 'BYTES', 3), tensor('D', 'INT8', 9)],
  });
  const after = withCapacities(before, new Map([['B', 100_001]]));
  expect(after.inputs).toEqual(before.inputs);
  expect(after.outputs).toMatchObject([
    { name: 'B', shape: [12_500, 2], byteLength: 100_001, byteOffset: 256 },
    { name: 'C', shape: [3], byteLength: FIRST_OUTPUT_BYTES, byteOffset: 256 + 100_096 },
    { name: 'D', shape: [9], byteLength: 9 },
  ]);
  expect(after.byteLength).toBe((after.outputs[2]?.byteOffset ?? 0) + 9);
  expect(before.outputs[0]).toMatchObject({ byteLength: FIRST_OUTPUT_BYTES });
});

test('a hint bounds an output with an open dimension', () => {
  const outputs = [tensor('N', 'FP32', -1, 6)];
  const [output] = plan({ outputs, outputHints: { N: { byteLength: 250 } } }).outputs;
  expect(output).toMatchObject({ shape: [10, 6], byteLength: 250 });
  expect(() => plan({ outputs, outputHints: { N: { byteLength: -1 } } })).toThrow(RangeError);
  expect(() => plan({ outputs, outputHints: { N: 5 as never } })).toThrow(RangeError);
  expect(() => plan({ outputs, outputHints: { X: { byteLength: 1 } } })).toThrow(/has no output 'X'/);
});

test('what does not fit 2^53 bytes is refused', () => {
  const shapes = { A: [2 ** 30, 2 ** 30] };
  expect(() => plan({ inputs: [tensor('A', 'FP64', -1, -1)], shapes })).toThrow(/2\^53/);
});
