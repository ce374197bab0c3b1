import { describeTier } from '@zerohop/test-support';
import { type InferOutput, tensor } from '@zerohop/triton-client';
import { expect, test } from 'vitest';
import { identityFile, onnxFile } from '../support/onnx-file.js';
import { folderOf, serve } from '../support/onnx-models.js';

const text = (value: string) => new TextEncoder().encode(value);

/** Elements of each kind, the extremes among them. FP16 as bit patterns: 1, -2, infinity, NaN, the smallest, -0. */
const VALUES = {
  BOOL: Uint8Array.of(1, 0, 1, 1, 0, 0),
  UINT8: Uint8Array.of(0, 1, 127, 128, 254, 255),
  UINT16: Uint16Array.of(0, 1, 32767, 32768, 65534, 65535),
  UINT32: Uint32Array.of(0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1),
  UINT64: BigUint64Array.of(0n, 1n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 2n, 2n ** 64n - 1n),
  INT8: Int8Array.of(-128, -1, 0, 1, 126, 127),
  INT16: Int16Array.of(-32768, -1, 0, 1, 32766, 32767),
  INT32: Int32Array.of(-(2 ** 31), -1, 0, 1, 2, 2 ** 31 - 1),
  INT64: BigInt64Array.of(-(2n ** 63n), -1n, 0n, 2n ** 53n + 1n, 1n, 2n ** 63n - 1n),
  FP16: Uint16Array.of(0x3c00, 0xc000, 0x7c00, 0x7e00, 0x0001, 0x8000),
  FP32: Float32Array.of(0, -0, Number.NaN, Number.POSITIVE_INFINITY, 1e-45, -3.4e38),
  FP64: Float64Array.of(0, -0, Number.NaN, Number.NEGATIVE_INFINITY, 5e-324, 1.7e308),
  BYTES: ['', 'plain', 'zwölf', '😀', ' \n', 'x'.repeat(100_000)].map(text),
};

const bytesOf = (data: ArrayBufferView | readonly Uint8Array[]) => {
  if (Array.isArray(data)) return data.map((each: Uint8Array) => Buffer.from(each).toString('base64'));
  const { buffer, byteOffset, byteLength } = data as ArrayBufferView;
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
};
const given = (output: InferOutput) => bytesOf(output.datatype === 'BYTES' ? output.elements() : output.data);

describeTier('contract', 'tensors of ONNX models', () => {
  test('of every datatype are bit for bit what came, of any size, none included', async () => {
    const datatypes = Object.keys(VALUES) as (keyof typeof VALUES)[];
    const files = datatypes.map((datatype) => [`${datatype}/1/model.onnx`, identityFile(datatype)]);
    const { client } = await serve({ modelRepository: folderOf(Object.fromEntries(files)) });
    for (const datatype of datatypes) {
      const data = VALUES[datatype];
      const parts = [
        { shape: [2, 3], part: data },
        { shape: [1, 4], part: data.slice(0, 4) },
        { shape: [4, 0], part: data.slice(0, 0) },
      ];
      for (const { shape, part } of parts) {
        const X = tensor(datatype as 'BYTES', shape, part as Uint8Array[]);
        const output = (await client.infer(datatype, { inputs: { X } })).output('Y');
        expect({ datatype: output.datatype, shape: output.shape, data: given(output) }).toEqual({
          datatype,
          shape,
          data: bytesOf(part),
        });
      }
    }
  });

  test('of no dimensions have one of size 1 in the configuration', async () => {
    const file = onnxFile({
      inputs: [
        { name: 'A', type: 'FP32', dims: [] },
        { name: 'T', type: 'BYTES', dims: [] },
      ],
      outputs: [
        { name: 'SUM', type: 'FP32', dims: [] },
        { name: 'TEXT', type: 'BYTES', dims: [] },
      ],
      nodes: [
        { op: 'Add', in: ['A', 'A'], out: ['SUM'] },
        { op: 'Identity', in: ['T'], out: ['TEXT'] },
      ],
    });
    const { client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': file }) });
    const { inputs, outputs } = await client.modelMetadata('m');
    expect([...inputs, ...outputs].map(({ shape }) => shape)).toEqual([[1], [1], [1], [1]]);
    const response = await client.infer('m', {
      inputs: { A: tensor('FP32', [1], Float32Array.of(21)), T: tensor('BYTES', [1], [text('hello')]) },
    });
    expect(response.output('SUM')).toMatchObject({ shape: [1], data: Float32Array.of(42) });
    expect(response.output('TEXT').shape).toEqual([1]);
    expect(given(response.output('TEXT'))).toEqual(bytesOf([text('hello')]));
  });

  test('of one dimension that is the batch have another in the configuration, by a reshape', async () => {
    const { client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': identityFile('INT32', ['n']) }) });
    expect((await client.modelMetadata('m')).inputs).toMatchObject([{ shape: [-1, 1] }]);
    const data = Int32Array.of(5, 6, 7);
    const result = await client.infer('m', { inputs: { X: tensor('INT32', [3, 1], data) } });
    expect(result.output('Y')).toMatchObject({ shape: [3, 1], data });
  });

  test('of free dimensions have the size that the model gives them', async () => {
    const file = onnxFile({
      inputs: [{ name: 'X', type: 'FP32', dims: ['n'] }],
      outputs: [{ name: 'Y', type: 'INT64', dims: [1, 'found'] }],
      nodes: [{ op: 'NonZero', in: ['X'], out: ['Y'] }],
    });
    const { client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': file }) });
    const found = async (...values: number[]) => {
      const X = tensor('FP32', [values.length], Float32Array.from(values));
      const { shape, data } = (await client.infer('m', { inputs: { X } })).output('Y');
      return { shape, data };
    };
    expect(await found(0, 3, 0, 4)).toEqual({ shape: [1, 2], data: BigInt64Array.of(1n, 3n) });
    expect(await found(0, 0)).toEqual({ shape: [1, 0], data: new BigInt64Array(0) });
  });

  test('of BYTES end at a zero byte, as in the real backend; what is no UTF-8 is refused, not changed', async () => {
    const { client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': identityFile('BYTES', [2]) }) });
    const infer = (...values: Uint8Array[]) => client.infer('m', { inputs: { X: tensor('BYTES', [2], values) } });
    expect(given((await infer(text('a\0b'), text('\0'))).output('Y'))).toEqual(bytesOf([text('a'), text('')]));
    await expect(infer(text('a'), Uint8Array.of(0xff, 0xfe))).rejects.toThrow(
      "an element of 'X' is no UTF-8, and onnxruntime-node takes only text",
    );
  });

  test('are those that the request asks for', async () => {
    const file = onnxFile({
      inputs: [{ name: 'X', type: 'FP32', dims: [2] }],
      outputs: [
        { name: 'A', type: 'FP32', dims: [2] },
        { name: 'B', type: 'FP32', dims: [2] },
      ],
      nodes: [
        { op: 'Neg', in: ['X'], out: ['A'] },
        { op: 'Abs', in: ['X'], out: ['B'] },
      ],
    });
    const { client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': file }) });
    const X = tensor('FP32', [2], Float32Array.of(-1, 2));
    const { outputs } = await client.infer('m', { inputs: { X }, outputs: { B: {} } });
    expect(outputs.map(({ name, data }) => [name, data])).toEqual([['B', Float32Array.of(1, 2)]]);
  });

  test('that are wrong get what ONNX Runtime says, and the model goes on', async () => {
    const file = onnxFile({
      inputs: [
        { name: 'A', type: 'FP32', dims: ['n'] },
        { name: 'B', type: 'FP32', dims: ['m'] },
      ],
      outputs: [{ name: 'Y', type: 'FP32', dims: ['k'] }],
      nodes: [{ op: 'Add', in: ['A', 'B'], out: ['Y'] }],
    });
    const config =
      'max_batch_size: 0 input [ { name: "A" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "B" data_type: TYPE_FP32 dims: [ -1 ] } ] output [ { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] } ]';
    const { client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': file, 'm/config.pbtxt': config }) });
    const of = (length: number) => tensor('FP32', [length], new Float32Array(length));
    await expect(client.infer('m', { inputs: { A: of(2), B: of(3) } })).rejects.toThrow(/onnx runtime error: .*Add/);
    expect((await client.infer('m', { inputs: { A: of(2), B: of(2) } })).output('Y').shape).toEqual([2]);
  });
});
