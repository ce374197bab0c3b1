import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { describeTier, modelNames, sharedTriton, testModels } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  type GenerateAnswer,
  type GenerateOptions,
  region,
  TritonClient,
  TritonError,
  tensor,
} from '../../src/index.js';

/** The same server by both transports: what they say must be equal. */
describeTier('triton', 'TritonClient over HTTP on a real server', () => {
  let http: TritonClient;
  let grpc: TritonClient;

  beforeAll(() => {
    const { httpUrl, grpcUrl, metricsUrl } = sharedTriton();
    http = new TritonClient(httpUrl, { metricsUrl });
    grpc = new TritonClient(grpcUrl);
  });

  afterAll(async () => {
    await http.close();
    await grpc.close();
  });

  const same = async <T>(ask: (client: TritonClient) => Promise<T>): Promise<T> => {
    const [over, beside] = [await ask(http), await ask(grpc)];
    expect(over).toEqual(beside);
    return over;
  };

  test('health', async () => {
    expect(await same((client) => client.isLive())).toBe(true);
    expect(await same((client) => client.isReady())).toBe(true);
    expect(await same((client) => client.isModelReady('identity', '1'))).toBe(true);
    expect(await same((client) => client.isModelReady('identity', '9'))).toBe(false);
    expect(await same((client) => client.isModelReady('no-such-model'))).toBe(false);
    await expect(http.health()).rejects.toMatchObject({ code: 'TRITON_UNIMPLEMENTED', method: 'Check' });
    expect([http.url, http.isLocal]).toEqual([sharedTriton().httpUrl, true]);
    expect(http.connectionEpoch).toBeGreaterThan(0);
  });

  test('metadata and configuration of every model', async () => {
    await same((client) => client.serverMetadata());
    for (const model of modelNames(testModels)) {
      await same((client) => client.modelMetadata(model));
      const { raw } = await same((client) => client.modelConfig(model, '1'));
      expect(raw.name).toBe(model);
    }
  });

  test('statistics and index', async () => {
    // Requests of tests before are counted a little after their answers.
    const unchanging = (model?: string) =>
      vi.waitFor(() => same((client) => client.modelStatistics(model)), { timeout: 10_000 });
    await unchanging('identity');
    const all = await unchanging();
    expect(all.map(({ name }) => name)).toContain('identity');
    const index = await same((client) => client.repositoryIndex());
    expect(index.length).toBeGreaterThan(0);
    await same((client) => client.repositoryIndex({ ready: true }));
  });

  test('trace settings: changed, read, set back', async () => {
    const before = await same((client) => client.traceSettings());
    const update = { level: ['OFF'], rate: 7, count: 3, logFrequency: 2, model: 'identity' } as const;
    const changed = await http.traceSettings(update);
    expect(changed).toMatchObject({ level: ['OFF'], rate: 7, count: 3, logFrequency: 2 });
    expect(await grpc.traceSettings({ model: 'identity' })).toEqual(changed);
    await http.traceSettings({ level: null, rate: null, count: null, logFrequency: null, model: 'identity' });
    expect(await same((client) => client.traceSettings({ model: 'identity' }))).toEqual(before);
  });

  test('log settings: changed, read, set back', async () => {
    const before = await same((client) => client.logSettings());
    const changed = await http.logSettings({ warning: false, verboseLevel: 1, format: 'ISO8601' });
    expect(changed).toMatchObject({ warning: false, verboseLevel: 1, format: 'ISO8601' });
    expect(await grpc.logSettings()).toEqual(changed);
    const { warning, verboseLevel } = before;
    expect(await http.logSettings({ warning, verboseLevel, format: 'default' })).toEqual(before);
  });

  test('load with a configuration and a file, index, unload', async () => {
    const code = readFileSync(`${testModels}/identity/1/model.py`);
    const { raw } = await http.modelConfig('identity');
    const config = { ...raw, name: 'of_http', max_batch_size: 4, input: [input('X')], output: [input('OUTPUT0')] };
    const file = Buffer.from(code.toString().replace('"INPUT0"', '"X"'));
    await http.loadModel('of_http', { config, files: { '1/model.py': file } });
    expect((await same((client) => client.modelConfig('of_http'))).maxBatchSize).toBe(4);
    const inputs = { X: tensor('FP32', [2, 1], Float32Array.of(1, 2)) };
    expect((await http.infer('of_http', { inputs })).output('OUTPUT0').data).toEqual(Float32Array.of(1, 2));
    await http.unloadModel('of_http', { unloadDependents: true });
    await expect.poll(() => http.isModelReady('of_http')).toBe(false);
    await expect(http.loadModel('no-such-model')).rejects.toMatchObject({
      code: 'TRITON_INTERNAL',
      httpStatus: 500,
      method: 'RepositoryModelLoad',
    });
  });

  const input = (name: string) => ({ name, data_type: 'TYPE_FP32', dims: [1] });

  test('system regions: registered, listed, used in a mixed request, unregistered', async () => {
    const name = `zerohop-http-${process.pid}`;
    const values = Float32Array.from({ length: 4096 }, (_, index) => index);
    writeFileSync(`/dev/shm/${name}`, Buffer.concat([Buffer.from(values.buffer), Buffer.alloc(16384)]));
    try {
      await http.systemSharedMemory.register({ name, key: `/${name}`, byteLength: 32768 });
      expect(await same((client) => client.systemSharedMemory.status(name))).toEqual([
        { name, key: `/${name}`, byteOffset: 0, byteLength: 32768 },
      ]);
      await expect(
        http.systemSharedMemory.register({ name, key: `/${name}`, byteLength: 32768 }),
      ).rejects.toMatchObject({ code: 'TRITON_ALREADY_EXISTS', httpStatus: 400 });
      const input = region(name, { datatype: 'FP32', shape: [64, 64] });
      const inMessage = await http.infer('identity_64', { inputs: { INPUT0: input } });
      expect(inMessage.output('OUTPUT0').data).toEqual(values);
      const output = { region: name, byteOffset: 16384, byteLength: 16384 };
      const request = { inputs: { INPUT0: input }, outputs: { OUTPUT0: output } };
      const call = http.infer('identity_64', request);
      const reply = (await call).output('OUTPUT0');
      expect([reply.shape, reply.bytes.byteLength, await call.settled]).toEqual([[64, 64], 0, 'answered']);
      const file = readFileSync(`/dev/shm/${name}`);
      expect(file.subarray(16384)).toEqual(file.subarray(0, 16384));
      const small = { OUTPUT0: { ...output, byteLength: 16 } };
      await expect(http.infer('identity_64', { ...request, outputs: small })).rejects.toMatchObject({
        code: 'TRITON_INTERNAL',
        output: 'OUTPUT0',
        requiredByteLength: 16384,
      });
      await http.systemSharedMemory.unregister(name);
      expect(await http.systemSharedMemory.status(name)).toEqual([]);
      await expect(http.infer('identity_64', request)).rejects.toMatchObject({
        code: 'TRITON_NOT_FOUND',
        region: name,
      });
    } finally {
      await http.systemSharedMemory.unregister(name);
      unlinkSync(`/dev/shm/${name}`);
    }
  });

  test('a CUDA region with a handle that is none is refused', async () => {
    const region = { name: 'cuda-http', rawHandle: new Uint8Array(64), deviceId: 0, byteLength: 64 };
    await expect(http.cudaSharedMemory.register(region)).rejects.toMatchObject({ code: 'TRITON_INVALID_ARGUMENT' });
    expect(await same((client) => client.cudaSharedMemory.status())).toEqual([]);
    await http.cudaSharedMemory.unregister('cuda-http');
  });

  test('FP32 in the message, as a view that needs no copy', async () => {
    for (const id of ['', 'a', 'ab', 'abc', 'abcd']) {
      const values = Float32Array.of(1, -2, Number.NaN, Number.POSITIVE_INFINITY, 5, 6);
      const call = http.infer('identity', { id, inputs: { INPUT0: tensor('FP32', [2, 3], values) } });
      const result = await call;
      expect([result.model, result.version, result.id, result.parameters]).toEqual(['identity', '1', id, {}]);
      const output = result.output('OUTPUT0');
      expect([output.datatype, output.shape, output.data]).toEqual(['FP32', [2, 3], values]);
      expect(output.data.buffer).toBe(output.bytes.buffer);
      expect(await call.settled).toBe('answered');
    }
  });

  test('an unaligned array, and an empty one', async () => {
    const bytes = new Uint8Array(9).subarray(1);
    bytes.set(new Uint8Array(Float32Array.of(3, 4).buffer));
    const unaligned = { INPUT0: { datatype: 'FP32', shape: [2], data: bytes } } as const;
    expect((await http.infer('parameters', { inputs: unaligned })).output('OUTPUT0').data).toEqual(
      Float32Array.of(3, 4),
    );
    const empty = { inputs: { INPUT0: tensor('FP32', [0], new Float32Array(0)) }, outputs: { OUTPUT0: {} } };
    const result = await same(async (client) => {
      const { shape, data } = (await client.infer('parameters', empty)).output('OUTPUT0');
      return { shape, data };
    });
    expect(result).toEqual({ shape: [0], data: new Float32Array(0) });
  });

  test('BYTES in the message', async () => {
    const strings = ['', 'déjà vu', 'x'.repeat(70_000)];
    const request = { inputs: { INPUT0: tensor('BYTES', [3], strings) }, outputs: { OUTPUT0: {} } };
    expect((await http.infer('echo_bytes', request)).output('OUTPUT0').strings()).toEqual(strings);
  });

  test('parameters arrive as they do over gRPC', async () => {
    const parameters = {
      text: 'a "quoted" \\ text\n',
      yes: true,
      no: false,
      whole: -42,
      exact: Number.MAX_SAFE_INTEGER,
      big: 2n ** 63n - 1n,
      small: -(2n ** 63n),
      double: 0.1,
      wide: 2 ** 60,
      huge: 1e300,
      nan: Number.NaN,
      infinite: Number.NEGATIVE_INFINITY,
    };
    const inputs = { INPUT0: tensor('FP32', [1], Float32Array.of(1)) };
    const text = await same(async (client) => {
      const [json] = (await client.infer('parameters', { inputs, parameters })).output('PARAMETERS').strings();
      // The server's map has no order.
      return json?.slice(2, -1).split(',"').sort();
    });
    expect(text?.join()).toContain('9223372036854775807');
  });

  test('a prepared request keeps its values', async () => {
    const values = Float32Array.of(1, 2);
    const prepared = http.prepare('identity', { inputs: { INPUT0: tensor('FP32', [1, 2], values) } });
    values.fill(9);
    const answers = await Promise.all([prepared.infer(), prepared.infer()]);
    expect(answers.map((answer) => answer.output('OUTPUT0').data[1])).toEqual([2, 2]);
  });

  test('a raw binary request', async () => {
    const values = Float32Array.of(1, 2, 3);
    const raw = await http.inferRaw('parameters', new Uint8Array(values.buffer), { version: '1' });
    expect(raw.output('OUTPUT0').data).toEqual(values);
    const config = {
      backend: 'python',
      input: [{ name: 'INPUT0', data_type: 'TYPE_STRING', dims: [1] }],
      output: [{ name: 'OUTPUT0', data_type: 'TYPE_STRING', dims: [1] }],
    };
    const code = readFileSync(`${testModels}/echo_bytes/1/model.py`);
    await http.loadModel('one_text', { config, files: { '1/model.py': code } });
    const text = await http.inferRaw('one_text', Buffer.from('one element'));
    expect(text.output('OUTPUT0').strings()).toEqual(['one element']);
    await http.unloadModel('one_text');
    await expect(http.inferRaw('identity', new Uint8Array(6))).rejects.toMatchObject({
      code: 'TRITON_INVALID_ARGUMENT',
    });
    const alone = grpc.inferRaw('parameters', new Uint8Array(4));
    await expect(alone).rejects.toMatchObject({
      code: 'TRITON_UNIMPLEMENTED',
      message: expect.stringContaining('httpUrl'),
    });
    expect(await alone.settled).toBe('not-sent');
  });

  test.each(['gzip', 'deflate'] as const)('%s both ways', async (compression) => {
    const values = new Float32Array(64 * 64).fill(1.5);
    const request = { inputs: { INPUT0: tensor('FP32', [64, 64], values) } };
    const result = await http.infer('identity_64', request, { compression });
    expect(result.output('OUTPUT0').data).toEqual(values);
    await expect(http.infer('nope', request, { compression })).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND' });
  });

  test('an answer past 4 MiB', async () => {
    const values = new Float32Array(1300 * 1000).fill(0.5);
    values[values.length - 1] = 7;
    const result = await http.infer('identity', { inputs: { INPUT0: tensor('FP32', [1300, 1000], values) } });
    expect(Buffer.compare(result.output('OUTPUT0').bytes, new Uint8Array(values.buffer))).toBe(0);
  });

  test('failures have the codes of gRPC', async () => {
    const input = tensor('FP32', [1, 1], Float32Array.of(1));
    const cases: readonly (readonly [string, Parameters<TritonClient['infer']>[1], string])[] = [
      ['no-such-model', { inputs: {} }, 'TRITON_NOT_FOUND'],
      ['identity', { inputs: { INPUT0: input }, version: '9' }, 'TRITON_NOT_FOUND'],
      ['identity', { inputs: { INPUT0: input }, version: 'x' }, 'TRITON_INVALID_ARGUMENT'],
      ['identity', { inputs: { INPUT0: input }, version: '-1' }, 'TRITON_INVALID_ARGUMENT'],
      ['identity', { inputs: { WRONG: input } }, 'TRITON_INVALID_ARGUMENT'],
      ['identity', { inputs: {} }, 'TRITON_INVALID_ARGUMENT'],
      ['identity_64', { inputs: { INPUT0: input }, id: 'shape' }, 'TRITON_INVALID_ARGUMENT'],
      ['identity', { inputs: { INPUT0: input }, outputs: { OUTPUT9: {} } }, 'TRITON_INVALID_ARGUMENT'],
      ['fail', { inputs: { INPUT0: input }, parameters: { how: 'raise' } }, 'TRITON_INTERNAL'],
      [
        'identity',
        { inputs: { INPUT0: region('no-such-region', { datatype: 'FP32', shape: [1, 1] }) } },
        'TRITON_NOT_FOUND',
      ],
    ];
    for (const [model, request, code] of cases) {
      for (const client of [http, grpc]) {
        await expect(client.infer(model, request)).rejects.toMatchObject({ code, method: 'ModelInfer', model });
      }
    }
    // A lane has the text alone, HTTP a status beside it.
    await expect(http.infer('fail', { inputs: { INPUT0: input }, id: 'f' })).rejects.toMatchObject({
      code: 'TRITON_INTERNAL',
      httpStatus: 500,
      requestId: 'f',
      message: expect.stringContaining('This model always fails'),
    });
    for (const client of [http, grpc]) {
      await expect(client.modelMetadata('nope')).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND', model: 'nope' });
      await expect(client.modelConfig('identity', 'x')).rejects.toMatchObject({ code: 'TRITON_INVALID_ARGUMENT' });
      await expect(client.modelStatistics('nope')).rejects.toMatchObject({ code: 'TRITON_INVALID_ARGUMENT' });
    }
    await expect(http.infer('text', { inputs: { text_input: tensor('BYTES', [1], ['x']) } })).rejects.toMatchObject({
      code: 'TRITON_UNIMPLEMENTED',
      httpStatus: 501,
    });
  });

  test.each(['a b', 'a/b', 'a%20b', 'é', 'a?b', 'a#b', '..', '.'])('the name %j is refused', async (name) => {
    expect(() => http.infer(name, { inputs: {} })).toThrow(RangeError);
    await expect(http.modelMetadata(name)).rejects.toThrow('percent-encoding');
    await expect(http.systemSharedMemory.status(name)).rejects.toThrow(RangeError);
    await expect(http.generate(name, {})).rejects.toThrow(RangeError);
  });

  test('an address with a path that leads nowhere is told what the client adds to it', async () => {
    const { httpUrl } = sharedTriton();
    for (const [path, advice] of [
      ['/v2', `the client adds /v2/… to its address itself, so leave it out of ${httpUrl}/v2`],
      ['/v2/models', `so leave it out of ${httpUrl}/v2/models`],
      ['/api', `is the path of ${httpUrl}/api right? The client adds /v2/… to it`],
    ] as const) {
      await using client = new TritonClient(httpUrl + path);
      const request = { inputs: { INPUT0: tensor('FP32', [1, 1], [1]) } };
      for (const call of [
        () => client.serverMetadata(),
        () => client.isReady(),
        () => client.model('identity'),
        () => client.infer('identity', request),
        () => client.generate('text', { text_input: 'a' }),
      ]) {
        await expect(call()).rejects.toMatchObject({
          code: 'TRITON_NOT_FOUND',
          message: expect.stringContaining(advice),
        });
      }
    }
    await expect(http.infer('no-such-model', { inputs: {} })).rejects.not.toThrow('/v2/');
  });

  test('a decoupled model is told where it has its answers', async () => {
    const request = { inputs: { INPUT0: tensor('INT32', [1], [1]) } };
    const message = expect.stringContaining('use stream() of a client with a grpc:// address, or generateStream()');
    await expect(http.infer('repeat', request)).rejects.toMatchObject({ code: 'TRITON_UNIMPLEMENTED', message });
    await expect(http.stream('repeat', [request]).next()).rejects.toMatchObject({ message });
  });

  test('names with every other character reach the server as they are', async () => {
    const name = "a-._~!$&'()*+,;=:@Z9";
    await expect(http.modelMetadata(name)).rejects.toMatchObject({
      code: 'TRITON_NOT_FOUND',
      details: expect.stringContaining(`'${name}'`),
    });
  });

  test('generate', async () => {
    const answer = await http.generate('text', { text_input: 'hi', id: '7' });
    const expected = { id: '7', model_name: 'text', model_version: '1', text_output: 'hi', score: Number.NaN };
    expect(answer).toEqual({ ...expected, number: 2n ** 62n });
    for (const n of [0, 2]) {
      await expect(http.generate('text', { text_input: 'hi', parameters: { n } })).rejects.toMatchObject({
        code: 'TRITON_UNIMPLEMENTED',
        details: expect.stringContaining('exactly 1 response'),
      });
    }
    await expect(http.generate('text', { text_input: 'hi', fail_at: 0 })).rejects.toMatchObject({
      code: 'TRITON_UNKNOWN',
      details: 'This text always fails',
      httpStatus: 400,
      method: 'generate',
    });
    await expect(http.generate('nope', { text_input: 'hi' })).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND' });
    await expect(http.generate('text', { text_input: [['hi']] })).resolves.toMatchObject({ text_output: 'hi' });
    await expect(http.generate('text', { text_input: 'hi', list: [1] })).rejects.toMatchObject({
      code: 'TRITON_INVALID_ARGUMENT',
    });
    await expect(grpc.generate('text', { text_input: 'hi' })).rejects.toMatchObject({
      code: 'TRITON_UNIMPLEMENTED',
      message: expect.stringContaining('httpUrl'),
    });
  });

  test('generateStream', async () => {
    const read = async (parameters: Record<string, number>) => {
      const numbers: unknown[] = [];
      let error: unknown;
      try {
        const answers = http.generateStream('text', { text_input: 'déjà', parameters }, { version: '1' });
        for await (const { number, text_output } of answers) {
          expect(text_output).toBe('déjà');
          numbers.push(number);
        }
      } catch (thrown) {
        error = thrown;
      }
      return { numbers, error };
    };
    const [first, second] = [2n ** 62n, 2n ** 62n + 1n];
    expect(await read({ n: 2 })).toEqual({ numbers: [first, second], error: undefined });
    expect(await read({ n: 0 })).toEqual({ numbers: [], error: undefined });
    const many = await read({ n: 500 });
    expect([many.numbers.length, many.error]).toEqual([500, undefined]);
    const failed = { code: 'TRITON_UNKNOWN', details: 'This text always fails', method: 'generate_stream' };
    const middle = await read({ n: 3, fail_at: 1 });
    expect(middle.numbers).toEqual([first]);
    expect(middle.error).toMatchObject(failed);
    const atOnce = await read({ n: 3, fail_at: 0 });
    expect(atOnce.numbers).toEqual([]);
    expect(atOnce.error).toMatchObject({ ...failed, httpStatus: 400 });
  });

  test('generateStream yields an error where it is asked to, and goes on when the model does', async () => {
    const read = async (failAt: number) => {
      const seen: unknown[] = [];
      const body = { text_input: 'x', parameters: { n: 3, fail_at: failAt } };
      for await (const answer of http.generateStream('text', body, { onError: 'yield' })) {
        seen.push(answer.error instanceof TritonError ? answer.error : (answer as GenerateAnswer).number);
      }
      return seen;
    };
    const failed = { code: 'TRITON_UNKNOWN', details: 'This text always fails', method: 'generate_stream' };
    expect(await read(1)).toEqual([2n ** 62n, expect.objectContaining({ ...failed, httpStatus: 200 }), 2n ** 62n + 2n]);
    // The whole answer has the status of the first one.
    expect(await read(0)).toEqual([expect.objectContaining({ ...failed, httpStatus: 400 })]);

    const unknown = http.generateStream('no-such-model', { text_input: 'x' }, { onError: 'yield' });
    expect(await unknown.next()).toMatchObject({ value: { error: { code: 'TRITON_NOT_FOUND' } } });
    expect(await unknown.next()).toEqual({ done: true, value: undefined });
  });

  test('a reader that leaves, a signal and a limit end generateStream', async () => {
    const body = { text_input: 'x', parameters: { n: 40, ms: 20 } };
    for await (const answer of http.generateStream('text', body)) {
      expect(answer.text_output).toBe('x');
      break;
    }
    const read = async (options: GenerateOptions) => {
      for await (const answer of http.generateStream('text', body, options)) expect(answer.text_output).toBe('x');
    };
    const reason = new Error('enough');
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 100);
    await expect(read({ signal: controller.signal })).rejects.toBe(reason);
    await expect(read({ timeoutMs: 100 })).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
  });

  test('metrics', async () => {
    await http.infer('identity', { inputs: { INPUT0: tensor('FP32', [1, 1], Float32Array.of(1)) } });
    const { samples, text } = await http.metrics();
    const sample = samples.find(
      ({ name, labels }) => name === 'nv_inference_request_success' && labels.model === 'identity',
    );
    expect(sample).toMatchObject({ type: 'counter', labels: { model: 'identity', version: '1' } });
    expect(sample?.value).toBeGreaterThan(0);
    expect(samples).toHaveLength(text.split('\n').filter((line) => /^\w/.test(line)).length);
    await expect(grpc.metrics()).rejects.toMatchObject({
      code: 'TRITON_UNIMPLEMENTED',
      message: expect.stringContaining('metricsUrl'),
    });
    const wrong = new TritonClient(sharedTriton().httpUrl, {
      metricsUrl: sharedTriton().metricsUrl.replace('/metrics', '/elsewhere'),
    });
    await expect(wrong.metrics()).rejects.toMatchObject({ code: 'TRITON_MALFORMED_RESPONSE' });
    await wrong.close();
  });

  test('a client of both sends large tensors over HTTP, small ones and regions on lanes', async () => {
    const { grpcUrl, httpUrl } = sharedTriton();
    await using both = new TritonClient(grpcUrl, { httpUrl, httpFromByteLength: 1024 });
    const request = (columns: number) => ({
      inputs: { INPUT0: tensor('FP32', [1, columns], new Float32Array(columns).fill(2)) },
    });
    // Only a lane's answers carry it.
    const overLane = { triton_final_response: true };
    const infer = async (columns: number) => (await both.infer('identity', request(columns))).parameters;
    expect([await infer(255), await infer(256)]).toEqual([overLane, {}]);
    expect((await both.prepare('identity', request(255)).infer()).parameters).toEqual(overLane);
    expect((await both.prepare('identity', request(256)).infer()).parameters).toEqual({});
    expect((await both.generate('text', { text_input: 'hi' })).text_output).toBe('hi');
    expect(both.stats).toMatchObject({ requests: 4, lost: 0, queued: 0 });
    const { grpc: onLanes, http: overHttp } = both.stats.bytes;
    for (const [count, tensors] of [
      [onLanes.sent, 2 * 255 * 4],
      [onLanes.received, 2 * 255 * 4],
      [overHttp.sent, 2 * 256 * 4],
      [overHttp.received, 2 * 256 * 4],
    ] as const) {
      expect(count).toBeGreaterThan(tensors);
      expect(count).toBeLessThan(tensors + 1000);
    }
    expect(both.url).toBe(grpcUrl);
    const alone = new TritonClient(grpcUrl);
    expect((await alone.infer('identity', request(100_000))).parameters).toEqual(overLane);
    await alone.close();
  });
});
