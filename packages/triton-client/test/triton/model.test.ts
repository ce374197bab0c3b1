import { describeTier, privateTriton, sharedTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type InferRequest, type ModelHandle, region, TritonClient, TritonError, tensor } from '../../src/index.js';
import { connect } from '../support/for-one-test.js';

/** Names as the types command writes them. */
interface Batched {
  inputs: { IMAGE: 'FP16'; LABEL?: 'BYTES' };
  outputs: { COPY: 'FP16'; SUM: 'FP32'; TEXT: 'BYTES' };
}

const image = (batch: number) => tensor('FP16', [batch, 3, 2], new Array<number>(batch * 6).fill(0.5));

describeTier('triton', 'ModelHandle on a real server', () => {
  let client: TritonClient;
  let model: ModelHandle<Batched>;

  beforeAll(async () => {
    client = new TritonClient(sharedTriton().grpcUrl);
    model = await client.model<Batched>('batched');
  });

  afterAll(() => client.close());

  test('tells what the model is', () => {
    expect([model.name, model.version]).toEqual(['batched', '']);
    expect(model.inputs).toEqual([
      { name: 'IMAGE', datatype: 'FP16', shape: [-1, 3, 2] },
      { name: 'LABEL', datatype: 'BYTES', shape: [-1, 1] },
    ]);
    expect(model.outputs.map(({ name }) => name)).toEqual(['COPY', 'SUM', 'TEXT']);
    expect(model.metadata.versions).toEqual(['1']);
    expect(model.config).toMatchObject({ maxBatchSize: 4, optionalInputs: ['LABEL'] });
  });

  test('infer, prepare and stream, typed by the names', async () => {
    const call = model.infer({ inputs: { IMAGE: image(2) } }, { timeoutMs: 30_000 });
    const result = await call;
    expect(result.output('COPY').float32()).toEqual(new Float32Array(12).fill(0.5));
    expect(result.output('SUM').float32()).toEqual(Float32Array.of(3, 3));
    expect(result.output('TEXT').strings()).toEqual(['none', 'none']);
    expect(await call.settled).toBe('answered');
    // @ts-expect-error -- no output of that name
    expect(() => result.output('WRONG')).toThrow(RangeError);

    const inputs = { IMAGE: image(1), LABEL: tensor('BYTES', [1, 1], ['é']) };
    const prepared = model.prepare({ inputs, outputs: { TEXT: {} } });
    expect((await prepared.infer()).output('TEXT').strings()).toEqual(['é']);

    const seen: number[] = [];
    for await (const answer of model.stream([{ inputs }, { inputs }])) seen.push(answer.requestIndex);
    expect(seen).toEqual([0, 1]);
  });

  const label = tensor('BYTES', [1, 1], ['a']);
  const into = (byteLength: number) => ({ region: 'r', byteOffset: 0, byteLength });
  test.each<[string, InferRequest]>([
    ['without its input', { inputs: { LABEL: label } }],
    ['unknown input', { inputs: { IMAGE: image(1), MORE: label } }],
    ['datatype', { inputs: { IMAGE: tensor('FP32', [1, 3, 2], new Float32Array(6)) } }],
    ['shape', { inputs: { IMAGE: tensor('FP16', [1, 2, 3], new Uint16Array(6)) } }],
    ['rank', { inputs: { IMAGE: tensor('FP16', [3, 2], new Uint16Array(6)) } }],
    ['batch limit', { inputs: { IMAGE: image(5) } }],
    ['no batch', { inputs: { IMAGE: image(0) } }],
    ['no batch of BYTES', { inputs: { IMAGE: image(0), LABEL: tensor('BYTES', [0, 1], []) } }],
    ['unequal batches', { inputs: { IMAGE: image(2), LABEL: label } }],
    ['unknown output', { inputs: { IMAGE: image(1) }, outputs: { NONE: {} } }],
    ['classes of FP16', { inputs: { IMAGE: image(1) }, outputs: { COPY: { classification: 1 } } }],
  ])('%s: refused here, and by the server', async (name, request) => {
    expect(() => model.infer(request as never)).toThrow(/of model 'batched'/);
    expect(() => model.prepare(request as never)).toThrow(/of model 'batched'/);
    const stream = model.stream([request as never]);
    await expect(stream.next()).rejects.toThrow(/of model 'batched'/);
    // A missing input reaches the model when there is an optional one (2.48, 2.51).
    const code = name === 'without its input' ? /INTERNAL|INVALID_ARGUMENT/ : /INVALID_ARGUMENT/;
    const error = await client.infer('batched', request).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TritonError);
    expect((error as TritonError).code).toMatch(code);
  });

  test('region outputs that are too small, and classes of BYTES, are refused here alone', async () => {
    const inputs = { IMAGE: image(2) };
    expect(() => model.infer({ inputs, outputs: { COPY: into(23) } })).toThrow(
      "Expected at least 24 bytes (FP16 [-1, 3, 2]) for the region of output 'COPY' of model 'batched' but received 23",
    );
    expect(() => model.infer({ inputs, outputs: { TEXT: { classification: 1 } } })).toThrow(
      expect.objectContaining({ code: 'TRITON_UNSAFE_REQUEST' }),
    );
    await expect(model.infer({ inputs, outputs: { COPY: into(24) } })).rejects.toMatchObject({ region: 'r' });
    const place = region('r', { datatype: 'FP16', shape: [1, 3, 2] });
    await expect(model.infer({ inputs: { IMAGE: place } })).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND' });
  });

  test('the version is the handle’s', async () => {
    const first = await client.model('batched', { version: '1' });
    expect((await first.infer({ inputs: { IMAGE: image(1) } })).version).toBe('1');
    expect(() => first.infer({ inputs: { IMAGE: image(1) }, version: '2' } as never)).toThrow(TypeError);
    await expect(client.model('batched', { version: '7' })).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND' });
    await expect(client.model('no-such-model')).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND' });
  });

  test('a model that was loaded anew is known after refresh()', async () => {
    const handle = await client.model('identity');
    const integers = { inputs: { INPUT0: tensor('INT32', [1, 1], [7]) } };
    const tensors = (type: string) => [{ name: 'INPUT0', data_type: type, dims: [-1, -1] }];
    const output = [{ name: 'OUTPUT0', data_type: 'TYPE_INT32', dims: [-1, -1] }];
    const config = { backend: 'python', max_batch_size: 0, input: tensors('TYPE_INT32'), output };
    onTestFinished(async () => {
      // The given configuration stays until the model was unloaded.
      await client.unloadModel('identity');
      await expect
        .poll(async () => (await client.repositoryIndex()).find(({ name }) => name === 'identity')?.state, {
          timeout: 30_000,
        })
        .toBe('UNAVAILABLE');
      await client.loadModel('identity');
    });
    await client.loadModel('identity', { config });
    expect(() => handle.infer(integers)).toThrow(TypeError);
    await handle.refresh();
    expect((await handle.infer(integers)).output('OUTPUT0').data).toEqual(Int32Array.of(7));
  });

  test('over HTTP the same', async () => {
    const http = connect(sharedTriton().httpUrl);
    const handle = await http.model<Batched>('batched');
    expect([handle.inputs, handle.outputs]).toEqual([model.inputs, model.outputs]);
    expect(handle.config).toEqual(model.config);
    expect((await handle.infer({ inputs: { IMAGE: image(2) } })).output('TEXT').strings()).toEqual(['none', 'none']);
    expect(() => handle.infer({ inputs: { IMAGE: image(5) } })).toThrow(RangeError);
  });

  test('without the configuration, which the server keeps to itself, the metadata are what is checked', async () => {
    const triton = await privateTriton({
      models: ['batched'],
      args: ['--grpc-restricted-protocol=model-config:config-key=secret'],
    });
    const outside = new TritonClient(triton.grpcUrl);
    onTestFinished(async () => {
      await outside.close();
      await triton.stop();
    });
    const handle = await outside.model('batched');
    expect(handle.config).toBeUndefined();
    expect((await handle.infer({ inputs: { IMAGE: image(1) } })).output('SUM').data).toEqual(Float32Array.of(3));
    expect(() => handle.infer({ inputs: { IMAGE: label } })).toThrow(TypeError);
    await expect(handle.infer({ inputs: { IMAGE: image(5) } })).rejects.toMatchObject({
      code: 'TRITON_INVALID_ARGUMENT',
    });
    const headers = { 'triton-grpc-protocol-config-key': 'secret' };
    await handle.refresh({ headers });
    expect(() => handle.infer({ inputs: { IMAGE: image(5) } })).toThrow(RangeError);
  });
});
