import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier, repositoryRoot } from '@zerohop/test-support';
import { TritonClient, tensor } from '@zerohop/triton-client';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../src/index.js';

const FILE = join(repositoryRoot, 'models/defects/1/model.onnx');
const SHAPE = [1, 3, 2160, 3840];

describeTier('contract', 'ONNX models', () => {
  test('give what ONNX Runtime gives, from a folder without a configuration and from code', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'zerohop-onnx-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'found/1'), { recursive: true });
    cpSync(FILE, join(folder, 'found/1/model.onnx'));
    const server = await DevServer.start({ modelRepository: folder, models: { given: { onnx: FILE } } });
    onTestFinished(() => server.kill());
    const client = new TritonClient(server.grpcUrl);
    onTestFinished(() => client.close());
    const values = Float32Array.from({ length: 3 * 2160 * 3840 }, (_, at) => (at % 251) / 251);
    const session = await InferenceSession.create(FILE);
    const expected = (await session.run({ images: new Tensor('float32', values, SHAPE) })).output0 as Tensor;
    for (const model of ['found', 'given']) {
      const { platform, inputs } = await client.modelMetadata(model);
      expect({ platform, inputs }).toMatchObject({ platform: 'onnxruntime_onnx', inputs: [{ name: 'images' }] });
      const output = (await client.infer(model, { inputs: { images: tensor('FP32', SHAPE, values) } })).output(
        'output0',
      );
      expect(output.shape).toEqual(expected.dims);
      const data = Buffer.from((output.data as Float32Array).slice().buffer);
      expect(data.equals(Buffer.from((expected.data as Float32Array).slice().buffer))).toBe(true);
    }
  });
});
