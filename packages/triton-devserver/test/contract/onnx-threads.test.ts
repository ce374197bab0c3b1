import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { describeTier, repositoryRoot } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { completeFromOnnx } from '../../src/backends/onnx/complete.js';
import { OnnxModel } from '../../src/backends/onnx/model.js';
import { sessionOptions } from '../../src/backends/onnx/session-options.js';
import { OnnxThread } from '../../src/backends/onnx/thread.js';
import { configFromJson } from '../../src/config/from-json.js';
import type { ModelRequest } from '../../src/model.js';
import { identityFile } from '../support/onnx-file.js';
import { BUSY, folderOf, HEAVY, LITTLE, rows, serve, stateOf, threads } from '../support/onnx-models.js';

describeTier('contract', 'an ONNX model whose thread ends by itself', () => {
  const ends: Readonly<Record<string, { end: (thread: Worker) => unknown; why: RegExp }>> = {
    'because it is stopped': { end: (thread) => thread.terminate(), why: /has ended$/ },
    'by an error': { end: (thread) => thread.postMessage(null), why: /has ended: .*null/ },
  };

  test.each(Object.entries(ends))(
    'is not ready and says why, and comes back with a load: %s',
    async (_, { end, why }) => {
      const living = threads();
      const modelRepository = folderOf({
        'm/1/model.onnx': BUSY,
        'm/config.pbtxt': 'instance_group [ { count: 2 kind: KIND_CPU } ]',
        'other/1/model.onnx': BUSY,
      });
      const { server, client } = await serve({ modelRepository, modelControl: 'explicit', loadModels: ['m'] });
      const [first] = living;
      await client.loadModel('other');
      if (first !== undefined) end(first);
      await expect.poll(() => stateOf(client, 'm'), { timeout: 20_000 }).toMatch(why);
      expect(await stateOf(client, 'm')).toMatch(/^UNAVAILABLE Internal: the thread of the ONNX model/);
      expect(await client.isModelReady('m')).toBe(false);
      await expect(client.infer('m', { inputs: LITTLE })).rejects.toThrow('no available versions');
      expect(await client.isLive()).toBe(true);
      expect(await client.isReady()).toBe(false);
      expect(rows(await client.infer('other', { inputs: LITTLE }), 'Y').data).toEqual([0]);
      await client.loadModel('m');
      expect(await client.isReady()).toBe(true);
      expect(rows(await client.infer('m', { inputs: LITTLE }), 'Y').data).toEqual([0]);
      await client.unloadModel('m');
      await expect.poll(() => stateOf(client, 'm'), { timeout: 20_000 }).toBe('UNAVAILABLE unloaded');
      await server.stop();
      expect(living.size).toBe(0);
    },
  );

  test.each(Object.entries(ends))(
    'fails what it was told to execute, and what it is told then: %s',
    async (_, { end, why }) => {
      const living = threads();
      const path = join(folderOf({ 'model.onnx': identityFile('FP32') }), 'model.onnx');
      const thread = await OnnxThread.open(path, sessionOptions(configFromJson({}, '2.51.0')));
      const [worker] = living;
      if (worker !== undefined) end(worker);
      const run = () => thread.run([{ name: 'X', type: 'float32', dims: [0, 0], data: new ArrayBuffer(0) }], ['Y']);
      await expect(run()).rejects.toThrow(why);
      await expect(run()).rejects.toThrow(why);
      expect(await thread.lost).toMatch(why);
      await thread.close();
    },
  );

  test('has its other instances for what was queued', async () => {
    const living = threads();
    const path = join(folderOf({ 'model.onnx': identityFile('FP32', [2]) }), 'model.onnx');
    const config = configFromJson({ instance_group: [{ count: 2 }] }, '2.51.0');
    expect(await completeFromOnnx(config, path, { name: 'm', serverVersion: '2.51.0' })).toBeUndefined();
    const model = await OnnxModel.open(path, config);
    const [worker] = living;
    await worker?.terminate();
    const data = Float32Array.of(1, 2);
    const request: ModelRequest = {
      id: '',
      model: 'm',
      version: 1,
      inputs: { X: { datatype: 'FP32', shape: [2], data } },
      requestedOutputs: ['Y'],
      parameters: {},
      sequence: { id: 0n, start: false, end: false },
      priority: 0n,
      timeoutUs: 0n,
      signal: new AbortController().signal,
    };
    const both = [model.execute(request), model.execute(request)];
    expect(await Promise.all(both)).toEqual([{ Y: { shape: [2], data } }, { Y: { shape: [2], data } }]);
    await model.close();
    expect(living.size).toBe(0);
  });

  test('because the process ends does not change how that ends, and nothing is printed', async () => {
    const path = join(folderOf({ 'model.onnx': HEAVY }), 'model.onnx');
    const program = pathToFileURL(join(repositoryRoot, 'packages/triton-devserver/dist/index.js')).href;
    const script = `
      import { DevServer } from ${JSON.stringify(program)};
      const server = await DevServer.start({ models: { m: { onnx: ${JSON.stringify(path)} } } });
      const infer = (...data) => {
        const inputs = [{ name: 'N', datatype: 'INT64', shape: [2], data }];
        return fetch(server.httpUrl + '/v2/models/m/infer', { method: 'POST', body: JSON.stringify({ inputs }) });
      };
      console.log((await infer(-1, 1)).status, (await infer(1, 1)).status);
      infer(1024, 1024).catch(() => undefined);
      const metrics = async () => (await fetch(server.metricsUrl)).text();
      infer(1, 1).catch(() => undefined);
      while (!/^nv_inference_pending_request_count.* 1$/m.test(await metrics()));
      process.exit(7);
    `;
    // As a script that is a module: the thread's program is none.
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script]);
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        printed += chunk;
      });
    }
    const [code] = await once(child, 'close');
    expect({ code, printed }).toEqual({ code: 7, printed: '500 200\n' });
  });
});
