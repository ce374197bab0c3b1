import { describeTier } from '@zerohop/test-support';
import { region, type TritonClient, tensor } from '@zerohop/triton-client';
import { expect, test } from 'vitest';
import { anonymousBytes, heldBytes, peakGrowth } from '../support/memory.js';
import { heavyGraph, onnxFile } from '../support/onnx-file.js';
import { folderOf, serve, untilOneWaits } from '../support/onnx-models.js';
import { ShmObject } from '../support/shm-object.js';

const MIB = 2 ** 20;
const IMAGE = [1, 3, 2160, 3840] as const;
const IMAGE_BYTES = 3 * 2160 * 3840 * 4;

async function register(client: TritonClient, byteLength: number): Promise<ShmObject> {
  const object = new ShmObject(byteLength);
  await client.systemSharedMemory.register({ name: 'block', key: object.key, byteLength });
  return object;
}

describeTier(
  'contract',
  'ONNX models and regions',
  () => {
    test('a 4K image is copied once, into memory that is used again', async () => {
      const file = onnxFile({
        inputs: [{ name: 'X', type: 'FP32', dims: IMAGE }],
        outputs: [{ name: 'Y', type: 'FP32', dims: [1, 3] }],
        nodes: [{ op: 'ReduceMax', in: ['X'], out: ['Y'], attributes: { axes: [2, 3], keepdims: 0 } }],
      });
      const { client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': file }) });
      const object = await register(client, IMAGE_BYTES + 12);
      const request = client.prepare('m', {
        inputs: { X: region('block', { datatype: 'FP32', shape: IMAGE }) },
        outputs: { Y: { region: 'block', byteOffset: IMAGE_BYTES, byteLength: 12 } },
      });
      const largest = async (value: number) => {
        object.fillPart(4 * 2160 * 3840 * 2 + 400, Float32Array.of(value));
        await request.infer();
        return object.bytes().subarray(IMAGE_BYTES).readFloatLE(8);
      };
      await heldBytes();
      const before = anonymousBytes();
      const first = await peakGrowth(() => request.infer());
      await heldBytes();
      // The copy, and what the code of the first request takes.
      expect(anonymousBytes() - before).toBeLessThan(IMAGE_BYTES + 30 * MIB);
      expect(first).toBeLessThan(2 * IMAGE_BYTES + 30 * MIB);
      const held = await heldBytes();
      const later = await peakGrowth(async () => {
        for (let left = 5; left > 0; left -= 1) await request.infer();
      });
      expect(later).toBeLessThan(5 * MIB);
      expect((await heldBytes()) - held).toBeLessThan(5 * MIB);
      expect([await largest(3), await largest(8)]).toEqual([3, 8]);
    });

    test('a write after the request was queued is seen', async () => {
      const { nodes, inputs } = heavyGraph(40, 'ZERO');
      const file = onnxFile({
        inputs: [...inputs, { name: 'X', type: 'FP32', dims: [1, 4] }],
        outputs: [{ name: 'Y', type: 'FP32', dims: [1, 4] }],
        nodes: [...nodes, { op: 'Add', in: ['X', 'ZERO'], out: ['Y'] }],
      });
      const { server, client } = await serve({ modelRepository: folderOf({ 'm/1/model.onnx': file }) });
      const object = await register(client, 16);
      object.fillPart(0, Float32Array.of(1, 1, 1, 1));
      const size = (edge: bigint) => tensor('INT64', [2], BigInt64Array.of(edge, edge));
      const X = tensor('FP32', [1, 4], new Float32Array(4));
      const first = client.infer('m', { inputs: { N: size(1024n), X } });
      const second = client.infer('m', {
        inputs: { N: size(1n), X: region('block', { datatype: 'FP32', shape: [1, 4] }) },
      });
      await untilOneWaits(server);
      object.fillPart(0, Float32Array.of(2, 3, 4, 5));
      await first;
      expect((await second).output('Y').data).toEqual(Float32Array.of(2, 3, 4, 5));
    });
  },
  { needs: ['addon'] },
);
