import type { Datatype } from '@zerohop/cuda-native/tensor';
import { expect, test } from 'vitest';
import { BLOCK_ALIGNMENT, type PlanInput, planSlot } from '../../src/layout.js';

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
  expect(outputs).toEqual([{ name: 'C', datatype: 'FP16', shape: [7], byteOffset: 768, byteLength: 14 }]);
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

test('BYTES: an input is refused, an output needs its size', () => {
  expect(() => plan({ inputs: [tensor('S', 'BYTES', 1)] })).toThrow(
    expect.objectContaining({ code: 'ERR_TENSOR_SIZE' }),
  );
  const outputs = [tensor('S', 'BYTES', -1)];
  expect(() => plan({ outputs })).toThrow(expect.objectContaining({ code: 'ERR_TENSOR_SIZE' }));
  expect(plan({ outputs, outputHints: { S: { byteLength: 1000 } } }).outputs[0]).toMatchObject({ byteLength: 1000 });
});

test('a hint bounds an output with an open dimension', () => {
  const outputs = [tensor('N', 'FP32', -1, 6)];
  const [output] = plan({ outputs, outputHints: { N: { byteLength: 250 } } }).outputs;
  expect(output).toMatchObject({ shape: [10, 6], byteLength: 250 });
  expect(() => plan({ outputs, outputHints: { N: { byteLength: -1 } } })).toThrow(RangeError);
  expect(() => plan({ outputs, outputHints: { X: { byteLength: 1 } } })).toThrow(/has no output 'X'/);
});

test('what does not fit 2^53 bytes is refused', () => {
  const shapes = { A: [2 ** 30, 2 ** 30] };
  expect(() => plan({ inputs: [tensor('A', 'FP64', -1, -1)], shapes })).toThrow(/2\^53/);
});
