import { describe, expect, it } from 'vitest';
import { type ModelClient, readDetectorModel } from '../../src/model.js';

const images = { name: 'images', datatype: 'FP32', shape: [1, 3, 96, 64] } as const;
const output0 = { name: 'output0', datatype: 'FP32', shape: [1, 8, 500] } as const;

type Tensors = Awaited<ReturnType<ModelClient['modelMetadata']>>['inputs'];

function serving(inputs: Tensors, outputs: Tensors, decoupled = false): ModelClient {
  return {
    modelMetadata: async (name) => ({ name, versions: ['1'], platform: 'python', inputs, outputs }),
    modelConfig: async (name) => ({
      name,
      platform: '',
      backend: 'python',
      maxBatchSize: 0,
      decoupled,
      instanceGroups: [],
      parameters: { labels: 'a,b,c,d' },
      optionalInputs: [],
      raw: {},
    }),
    repositoryIndex: async () => [],
  };
}

const read = (client: ModelClient) => readDetectorModel(client, 'm', 'grpc://h:1');

describe('readDetectorModel', () => {
  it('reads size and classes from the shapes', async () => {
    expect(await read(serving([images], [output0]))).toEqual({
      name: 'm',
      parameters: { labels: 'a,b,c,d' },
      input: { name: 'images', width: 64, height: 96 },
      output: { name: 'output0', classCount: 4, anchors: 500 },
    });
  });

  it('takes a batch dimension that varies, and finds the output among others', async () => {
    const batched = [{ ...images, shape: [-1, 3, 96, 64] }];
    const outputs = [{ name: 'count', datatype: 'INT32', shape: [1] } as const, { ...output0, shape: [-1, 8, 500] }];
    expect(await read(serving(batched, outputs))).toMatchObject({ output: { name: 'output0' } });
  });

  it('tells a model that is not there from a server that is gone', async () => {
    const failing = (metadata: string, index: string): ModelClient => ({
      ...serving([], []),
      modelMetadata: () => Promise.reject(Object.assign(new Error(metadata), { code: metadata })),
      repositoryIndex: () => Promise.reject(Object.assign(new Error(index), { code: index })),
    });
    await expect(read(failing('TRITON_NOT_FOUND', 'TRITON_UNIMPLEMENTED'))).rejects.toMatchObject({
      code: 'ERR_MODEL_NOT_FOUND',
      message: 'The server at grpc://h:1 has no model "m" ready; choose one with --model or load it there.',
    });
    await expect(read(failing('TRITON_UNAVAILABLE', 'TRITON_UNAVAILABLE'))).rejects.toMatchObject({
      code: 'TRITON_UNAVAILABLE',
    });
  });

  it.each([
    ['no input', []],
    ['two inputs', [images, images]],
    ['bytes', [{ ...images, datatype: 'UINT8' as const }]],
    ['a matrix', [{ ...images, shape: [64, 64] }]],
    ['one channel', [{ ...images, shape: [1, 1, 96, 64] }]],
    ['an open size', [{ ...images, shape: [1, 3, -1, -1] }]],
  ])('refuses an input that is no image: %s', async (_, inputs) => {
    await expect(read(serving(inputs, [output0]))).rejects.toMatchObject({
      code: 'ERR_MODEL_SHAPE',
      message: expect.stringMatching(/^Model "m" takes .*needs exactly one image input FP32 \[1, 3, height, width\]/),
    });
  });

  it.each([
    ['none', []],
    ['a matrix', [{ ...output0, shape: [8, 500] }]],
    ['no classes', [{ ...output0, shape: [1, 4, 500] }]],
    ['anchors first', [{ ...output0, shape: [1, 500, 8] }]],
    ['integers', [{ ...output0, datatype: 'INT32' as const }]],
  ])('refuses an output that is no YOLOv8 head: %s', async (_, outputs) => {
    await expect(read(serving([images], outputs))).rejects.toMatchObject({
      code: 'ERR_MODEL_SHAPE',
      message: expect.stringMatching(/^Model "m" gives .*detect reads FP32 \[1, 4 \+ classes, anchors\]/),
    });
  });

  it('refuses what no slot can be planned for', async () => {
    const refused = (client: ModelClient, message: RegExp) =>
      expect(read(client)).rejects.toMatchObject({
        code: 'ERR_MODEL_SHAPE',
        message: expect.stringMatching(message),
      });
    const open = { name: 'masks', datatype: 'FP32', shape: [1, -1] } as const;
    await refused(serving([images], [output0, open]), /gives masks FP32 \[1, -1\], whose size is not known before/);
    const bytes = { name: 'texts', datatype: 'BYTES', shape: [1] } as const;
    await refused(serving([images], [output0, bytes]), /gives texts BYTES \[1\], whose size is not known before/);
    const huge = { ...images, shape: [1, 3, 60_000, 60_000] };
    await refused(serving([huge], [output0]), /images FP32 \[1, 3, 60000, 60000\] of 43200000000 bytes/);
    const wide = { ...output0, shape: [1, 100_000, 200_000] };
    await refused(serving([images], [wide]), /output0 FP32 \[1, 100000, 200000\] of 80000000000 bytes/);
    await refused(serving([images], [output0], true), /is decoupled and may answer a picture several times/);
  });
});
