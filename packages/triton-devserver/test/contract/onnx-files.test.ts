import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeTier, repositoryRoot } from '@zerohop/test-support';
import { tensor } from '@zerohop/triton-client';
import { expect, onTestFinished, test } from 'vitest';
import { identityFile, onnxFile } from '../support/onnx-file.js';
import { folderOf, serve } from '../support/onnx-models.js';

const X = tensor('FP32', [1, 2], Float32Array.of(1, 2));

describeTier('contract', 'ONNX files', () => {
  test('that are none keep one version from starting, with what ONNX Runtime says; all else is served', async () => {
    const folder = folderOf({
      'good/1/model.onnx': identityFile('FP32'),
      'broken/1/model.onnx': 'this is no model',
      'empty/1/model.onnx': '',
      'cut/1/model.onnx': identityFile('FP32').slice(0, 40),
      'huge/1/model.onnx': '',
      'no_type/1/model.onnx': identityFile('BF16'),
      'no_op/1/model.onnx': onnxFile({
        inputs: [{ name: 'X', type: 'FP32', dims: [1] }],
        outputs: [{ name: 'Y', type: 'FP32', dims: [1] }],
        nodes: [{ op: 'Nonsense', in: ['X'], out: ['Y'] }],
      }),
      'sequence/1/model.onnx': onnxFile({
        inputs: [{ name: 'X', type: 'FP32', dims: [1] }],
        outputs: [{ name: 'Y', type: 'FP32', dims: [1], sequence: true }],
        nodes: [{ op: 'SequenceConstruct', in: ['X'], out: ['Y'] }],
      }),
    });
    // As large as a file system lets it be without its bytes.
    truncateSync(join(folder, 'huge/1/model.onnx'), 5 * 2 ** 30);
    const { client } = await serve({ modelRepository: folder, exitOnError: false, strictReadiness: false });
    const index = await client.repositoryIndex();
    const reasons = Object.fromEntries(index.map(({ name, state, reason }) => [name, `${state} ${reason}`]));
    const failed = (text: string) => expect.stringMatching(`^UNAVAILABLE .*${text}`);
    expect(reasons).toEqual({
      good: 'READY ',
      broken: failed('onnx runtime error: .*Protobuf parsing failed'),
      empty: failed('onnx runtime error: '),
      cut: failed('onnx runtime error: .*Protobuf parsing failed'),
      huge: failed('onnx runtime error: '),
      no_type: failed('onnx runtime error: Unsupported data type: 16'),
      no_op: failed('onnx runtime error: .*Nonsense'),
      sequence: failed("Unsupported ONNX Type for I/O 'Y', expected 'ONNX_TYPE_TENSOR'."),
    });
    expect((await client.infer('good', { inputs: { X } })).output('Y').data).toEqual(Float32Array.of(1, 2));
  });

  test('may have their weights in a file beside them, or be a folder', async () => {
    const outside = onnxFile({
      inputs: [{ name: 'X', type: 'FP32', dims: ['n', 2] }],
      outputs: [{ name: 'Y', type: 'FP32', dims: ['n', 2] }],
      nodes: [{ op: 'Mul', in: ['X', 'W'], out: ['Y'] }],
      constants: [{ name: 'W', type: 'FP32', dims: [2], data: { file: 'weights.bin' } }],
    });
    const weights = new Uint8Array(Float32Array.of(10, 100).buffer);
    const folder = folderOf({
      'beside/1/model.onnx': outside,
      'beside/1/weights.bin': weights,
      'within/1/model.onnx/model.onnx': outside,
      'within/1/model.onnx/weights.bin': weights,
      'without/1/model.onnx': outside,
    });
    const { client } = await serve({ modelRepository: folder, exitOnError: false, strictReadiness: false });
    for (const name of ['beside', 'within']) {
      expect((await client.infer(name, { inputs: { X } })).output('Y').data).toEqual(Float32Array.of(10, 200));
    }
    const entry = (await client.repositoryIndex()).find(({ name }) => name === 'without');
    expect(entry).toMatchObject({ state: 'UNAVAILABLE', reason: expect.stringContaining('weights.bin') });
  });

  test('come with a load, weights and all', async () => {
    const { client } = await serve({
      modelRepository: folderOf({ 'm/1/model.onnx': identityFile('FP32') }),
      modelControl: 'explicit',
    });
    const doubled = onnxFile({
      inputs: [{ name: 'X', type: 'FP32', dims: ['n', 2] }],
      outputs: [{ name: 'Y', type: 'FP32', dims: ['n', 2] }],
      nodes: [{ op: 'Mul', in: ['X', 'W'], out: ['Y'] }],
      constants: [{ name: 'W', type: 'FP32', dims: [2], data: { file: 'weights.bin' } }],
    });
    await client.loadModel('m', {
      config: { backend: 'onnxruntime' },
      files: { '1/model.onnx': doubled, '1/weights.bin': new Uint8Array(Float32Array.of(2, 2).buffer) },
    });
    expect((await client.infer('m', { inputs: { X } })).output('Y').data).toEqual(Float32Array.of(2, 4));
  });

  test('are served in all their versions', async () => {
    const scaled = (factor: number) =>
      onnxFile({
        inputs: [{ name: 'X', type: 'FP32', dims: ['n', 2] }],
        outputs: [{ name: 'Y', type: 'FP32', dims: ['n', 2] }],
        nodes: [{ op: 'Mul', in: ['X', 'W'], out: ['Y'] }],
        constants: [{ name: 'W', type: 'FP32', dims: [1], data: new Uint8Array(Float32Array.of(factor).buffer) }],
      });
    const folder = folderOf({
      'm/config.pbtxt': 'version_policy { all {} }',
      'm/1/model.onnx': scaled(3),
      'm/5/model.onnx': scaled(7),
    });
    const { client } = await serve({ modelRepository: folder });
    expect((await client.modelMetadata('m')).versions).toEqual(['1', '5']);
    const outputs = [];
    for (const version of ['1', '5', undefined]) {
      const response = await client.infer('m', { inputs: { X }, ...(version === undefined ? {} : { version }) });
      outputs.push([...(response.output('Y').data as Float32Array)]);
    }
    expect(outputs).toEqual([
      [3, 6],
      [7, 14],
      [7, 14],
    ]);
  });

  test('need a package, which the reason names when it is missing', async () => {
    // What is published, where only its own dependencies are installed.
    const own = join(repositoryRoot, 'packages/triton-devserver');
    const folder = folderOf({ 'models/m/1/model.onnx': identityFile('FP32') });
    const copy = join(folder, 'node_modules/@zerohop/triton-devserver');
    cpSync(join(own, 'dist'), join(copy, 'dist'), { recursive: true });
    writeFileSync(join(copy, 'package.json'), '{ "type": "module" }');
    for (const name of ['@bufbuild/protobuf', '@grpc/grpc-js', '@zerohop/cuda-native']) {
      const link = join(folder, 'node_modules', name);
      mkdirSync(join(link, '..'), { recursive: true });
      symlinkSync(join(own, 'node_modules', name), link);
    }
    const args = ['dist/cli.js', '--model-repository', join(folder, 'models')];
    const child = spawn(process.execPath, [...args, '--grpc-port=0', '--http-port=0', '--metrics-port=0'], {
      cwd: copy,
      stdio: ['ignore', 'ignore', 'pipe'],
      // Not where the test runner's packages are.
      env: { ...process.env, NODE_PATH: '' },
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    let complaint = '';
    child.stderr.on('data', (chunk) => {
      complaint += chunk;
    });
    const [code] = await once(child, 'close');
    expect({ code, complaint }).toEqual({
      code: 1,
      complaint: expect.stringContaining(
        'An ONNX model needs the package onnxruntime-node, which is not installed: npm install it',
      ),
    });
  });
});
