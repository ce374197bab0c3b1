import { randomUUID } from 'node:crypto';
import { connect } from 'node:http2';
import { TritonClient, tensor } from '@zerohop/triton-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ModelInferRequest } from '../../src/grpc/gen/grpc_service.js';
import type { DevServer, ModelTensor } from '../../src/index.js';
import { clientOf, codeOf, faultServer, type Gate, ints, recovers, sender } from '../support/fault-server.js';
import { rawHttp } from '../support/raw-http.js';
import { ShmObject } from '../support/shm-object.js';

const MIB = 2 ** 20;
const INTS = { data_type: 'TYPE_INT32', dims: [-1n] } as const;

/** What a server says of its deaths, while `act` runs and until it has begun anew. */
async function deaths(server: DevServer, act: () => Promise<unknown>): Promise<string[]> {
  const said: string[] = [];
  const listen = (warning: Error & { code?: string }) => {
    if (warning.code === 'ZEROHOP_DEVSERVER_CRASH') said.push(warning.message);
  };
  process.on('warning', listen);
  onTestFinished(() => void process.off('warning', listen));
  const client = clientOf(server.grpcUrl);
  const object = new ShmObject(4096);
  const name = randomUUID();
  await client.systemSharedMemory.register({ name, key: object.key, byteLength: 4096 });
  await act();
  await expect.poll(() => said.length).toBeGreaterThan(0);
  const late = clientOf(server.grpcUrl);
  await recovers(() => late.infer('same', ints(1)));
  expect(await late.systemSharedMemory.status()).toEqual([]);
  return said;
}

/** That a request during which something happens is lost: the process dies when the model goes on. */
async function lostWith(gate: Gate, call: PromiseLike<unknown>, happens: () => unknown): Promise<void> {
  const lost = codeOf(call);
  await expect.poll(() => gate.waiting).toBe(1);
  await happens();
  gate.open();
  expect(await lost).toBe('TRITON_CONNECTION_LOST');
}

const texts = { X: { name: 'X', datatype: 'BYTES', shape: [1], data: ['a'] } };

describe('what a real server dies of ends the connections, and the process goes on without regions', () => {
  test('classification of BYTES, over HTTP', async () => {
    const { server } = await faultServer();
    const body = JSON.stringify({ inputs: [texts.X], outputs: [{ name: 'Y', parameters: { classification: 1 } }] });
    const said = await deaths(server, async () => {
      await expect(rawHttp(server.httpUrl, { path: '/v2/models/texts/infer', body })).rejects.toMatchObject({
        code: 'ECONNRESET',
      });
    });
    expect(said).toEqual(["A real Triton would have died here: classification of the BYTES output 'Y'"]);
  });

  test('classification of BYTES, over gRPC', async () => {
    const { server } = await faultServer();
    const message = ModelInferRequest.fromPartial({
      model_name: 'texts',
      inputs: [{ name: 'X', datatype: 'BYTES', shape: [1n] }],
      outputs: [{ name: 'Y', parameters: { classification: { int64_param: 1n } } }],
      raw_input_contents: [Uint8Array.of(1, 0, 0, 0, 65)],
    });
    expect(await deaths(server, () => streamEnds(server, [message], false))).toHaveLength(1);
  });

  test('an error on a stream with triton_grpc_error and another request in flight', async () => {
    const { server, gate } = await faultServer();
    const request = (model_name: string) =>
      ModelInferRequest.fromPartial({
        model_name,
        inputs: [{ name: 'X', datatype: 'INT32', shape: [1n] }],
        raw_input_contents: [new Uint8Array(4)],
      });
    const said = await deaths(server, () => streamEnds(server, [request('held'), request('failing')], true));
    expect(said).toEqual([
      'A real Triton would have died here: an error on a stream with triton_grpc_error and other requests in flight',
    ]);
    // What the dead process had to do ends in silence.
    gate.open();
    expect(await codeOf(clientOf(server.grpcUrl).infer('same', ints(1)))).toBe('OK');
  });

  test.each(['texts', 'same', 'held', 'chain'])('an object that its owner has truncated, model %s', async (model) => {
    const { server, gate } = await faultServer();
    const { client, send } = sender(server, 'lane');
    const object = new ShmObject(8192);
    await client.systemSharedMemory.register({ name: 'cut', key: object.key, byteLength: 8192 });
    const said = await deaths(server, async () => {
      if (model === 'texts' || model === 'same') {
        object.shrink(0);
        const datatype = model === 'texts' ? 'BYTES' : 'INT32';
        const inputs = { X: { datatype, shape: [1], region: 'cut', byteOffset: 0, byteLength: 4 } } as const;
        expect(await codeOf(send(model, { inputs }))).toBe('TRITON_CONNECTION_LOST');
        return;
      }
      const outputs = { Y: { region: 'cut', byteOffset: 0, byteLength: 4 } };
      await lostWith(gate, send(model, { ...ints(1), outputs }), () => object.shrink(0));
    });
    expect(said).toEqual([
      'A real Triton would have died here: SIGBUS: the owner of a shared memory object has shrunk it',
    ]);
  });

  test.each(['looks again', 'answers with what it saw', 'writes what it saw'])(
    'an object truncated while a model has it in place, which then %s',
    async (then) => {
      const { server, gate } = await faultServer({
        models: {
          inPlace: {
            config: { input: [{ name: 'X', ...INTS }], output: [{ name: 'Y', ...INTS }] },
            execute: async (request) => {
              const { X } = request.inputs as { X: ModelTensor & { data: Int32Array } };
              const seen = then === 'looks again' ? undefined : X.data;
              await gate.wait(request);
              return { Y: { shape: X.shape, data: seen ?? X.data } };
            },
          },
        },
      });
      const { client, send } = sender(server, 'lane');
      const object = new ShmObject(2 * MIB);
      const into = new ShmObject(2 * MIB);
      await client.systemSharedMemory.register({ name: 'cut', key: object.key, byteLength: 2 * MIB });
      await client.systemSharedMemory.register({ name: 'into', key: into.key, byteLength: 2 * MIB });
      const said = await deaths(server, async () => {
        const inputs = {
          X: { datatype: 'INT32', shape: [MIB / 2], region: 'cut', byteOffset: 0, byteLength: 2 * MIB },
        };
        const outputs = { Y: { region: 'into', byteOffset: 0, byteLength: 2 * MIB } };
        const call = send('inPlace', { inputs, ...(then === 'writes what it saw' ? { outputs } : {}) } as never);
        await lostWith(gate, call, () => object.shrink(0));
      });
      expect(said).toEqual([
        'A real Triton would have died here: SIGBUS: the owner of a shared memory object has shrunk it',
      ]);
    },
  );

  test('2.48: a region unregistered while a request uses it', async () => {
    const { server, gate } = await faultServer({ version: '2.48' });
    const { client, send } = sender(server, 'lane');
    const object = new ShmObject(4096);
    await client.systemSharedMemory.register({ name: 'block', key: object.key, byteLength: 4096 });
    const said = await deaths(server, async () => {
      const outputs = { Y: { region: 'block', byteOffset: 0, byteLength: 4 } };
      const call = send('held', { ...ints(1), outputs });
      await lostWith(gate, call, () => client.systemSharedMemory.unregister('block'));
    });
    expect(said).toEqual([
      'A real Triton would have died here: SIGSEGV: a region was unregistered while a request used it',
    ]);
  });

  test.each(['lane', 'unary', 'http'] as const)('the fault "crash", by %s', async (way) => {
    const { server } = await faultServer();
    const { send } = sender(server, way);
    server.addFault({ kind: 'crash', times: 1, model: 'texts' });
    const request = { inputs: { X: tensor('BYTES', [1], ['a']) } };
    const said = await deaths(server, async () => {
      expect(await codeOf(send('texts', request))).toBe('TRITON_CONNECTION_LOST');
    });
    expect(said).toEqual(['A real Triton would have died here: the fault "crash"']);
    await recovers(() => send('texts', request));
  });

  test('a crash of a server that was replaced ends that one alone', async () => {
    const { server, gate } = await faultServer({ version: '2.48' });
    const { client, send } = sender(server, 'lane');
    const object = new ShmObject(4096);
    await client.systemSharedMemory.register({ name: 'block', key: object.key, byteLength: 4096 });
    const outputs = { Y: { region: 'block', byteOffset: 0, byteLength: 4 } };
    const lost = codeOf(send('held', { ...ints(1), outputs }));
    await expect.poll(() => gate.waiting).toBe(1);
    await client.systemSharedMemory.unregister('block');
    await server.replace();
    const late = new TritonClient(server.grpcUrl);
    onTestFinished(() => late.close());
    await late.systemSharedMemory.register({ name: 'kept', key: object.key, byteLength: 4096 });
    gate.open();
    expect(await lost).toBe('TRITON_CONNECTION_LOST');
    expect((await late.systemSharedMemory.status()).map(({ name }) => name)).toEqual(['kept']);
  });
});

/** Sends messages on one stream, and waits for the end of its connection. */
async function streamEnds(
  server: DevServer,
  messages: readonly ModelInferRequest[],
  errorsEnd: boolean,
): Promise<void> {
  const session = connect(server.grpcUrl.replace('grpc:', 'http:'));
  session.on('error', () => undefined);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/inference.GRPCInferenceService/ModelStreamInfer',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(errorsEnd ? { triton_grpc_error: 'true' } : {}),
  });
  stream.on('error', () => undefined);
  for (const message of messages) {
    const bytes = ModelInferRequest.encode(message).finish();
    const head = Buffer.alloc(5);
    head.writeUInt32BE(bytes.byteLength, 1);
    stream.write(Buffer.concat([head, bytes]));
  }
  await new Promise((resolve) => session.once('close', resolve));
}
