import { createServer } from 'node:http';
import { Server, ServerCredentials, status as Status } from '@grpc/grpc-js';
import { expect, onTestFinished, test } from 'vitest';
import { GRPCInferenceServiceService as Service } from '../../src/grpc/gen/grpc_service.js';
import { type InferRequest, region } from '../../src/index.js';
import { connect, listen, start, startHttp } from '../support/for-one-test.js';

type Reply = (error: object | null, answer?: object) => void;

/** A server with the calls of this file alone: GPUs, and switched-off shared memory, are not to be had here. */
async function serverWith(handlers: Record<string, (call: { request: unknown }, reply: Reply) => void>) {
  const server = new Server();
  const names = Object.keys(handlers) as (keyof typeof Service)[];
  server.addService(Object.fromEntries(names.map((name) => [name, Service[name]])), handlers);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  onTestFinished(() => server.forceShutdown());
  return `grpc://127.0.0.1:${port}`;
}

const DISABLED = "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.";

test.each([
  ['disabled', Status.UNIMPLEMENTED, DISABLED],
  ['disabled', Status.UNIMPLEMENTED, 'Shared memory feature is currently not supported on Windows'],
  ['restricted', Status.UNAVAILABLE, "This protocol is restricted, expecting header 'triton-grpc-protocol-k'"],
  ['restricted', Status.PERMISSION_DENIED, 'denied by a proxy'],
] as const)('sharedMemoryState: %s, by %i %s', async (state, code, details) => {
  const names: string[] = [];
  const url = await serverWith({
    systemSharedMemoryUnregister: ({ request }, reply) => {
      names.push((request as { name: string }).name);
      reply({ code, details });
    },
  });
  expect(await connect(url).sharedMemoryState()).toBe(state);
  expect(names).toEqual([expect.stringMatching(/^zerohop-probe-[-0-9a-f]{36}$/)]);
});

test('sharedMemoryState: another failure is no answer', async () => {
  const url = await serverWith({
    systemSharedMemoryUnregister: (_, reply) => reply({ code: Status.INTERNAL, details: 'broken' }),
  });
  await expect(connect(url).sharedMemoryState()).rejects.toMatchObject({ code: 'TRITON_INTERNAL' });
});

test.each([DISABLED, 'Client shared memory is disabled.'])('the error quotes the flag: %s', async (details) => {
  const url = await serverWith({
    systemSharedMemoryStatus: (_, reply) => reply(null, { regions: {} }),
    systemSharedMemoryRegister: (_, reply) => reply({ code: Status.UNIMPLEMENTED, details }),
  });
  const call = connect(url).systemSharedMemory.register({ name: 'r', key: '/r', byteLength: 8 });
  await expect(call).rejects.toMatchObject({
    code: 'TRITON_UNIMPLEMENTED',
    details,
    message: expect.stringContaining('--allow-client-shm=true'),
  });
});

test.each([DISABLED, 'Client shared memory is disabled.'])(
  'so does that of a request, on a lane, in a unary call, on a stream and over HTTP: %s',
  async (details) => {
    const grpc = await start();
    const http = await startHttp();
    const lanes = connect(grpc.url);
    const overHttp = connect(http.url);
    http.handler = (exchange) => exchange.fail(501, details);
    const request: InferRequest = { inputs: { a: region('r', { datatype: 'FP32', shape: [4] }) } };
    const flagged = expect.objectContaining({
      code: 'TRITON_UNIMPLEMENTED',
      details,
      message: expect.stringMatching(/^ModelInfer of 'm': .*--allow-client-shm=true/),
    });

    const lane = expect(lanes.infer('m', request)).rejects.toEqual(flagged);
    (await grpc.next()).refuse(details);
    await lane;
    const unary = expect(lanes.infer('m', request, { headers: { a: 'b' } })).rejects.toEqual(flagged);
    (await grpc.nextUnary()).refuse(Status.UNIMPLEMENTED, details);
    await unary;
    const stream = expect(lanes.stream('m', [request]).next()).rejects.toEqual(flagged);
    (await grpc.next()).refuse(details);
    await stream;
    await expect(overHttp.infer('m', request)).rejects.toEqual(flagged);
    await expect(overHttp.stream('m', [request]).next()).rejects.toEqual(flagged);
  },
);

test('a GPU ordinal beyond the server’s GPUs is refused; the metrics are read once', async () => {
  const registered: unknown[] = [];
  const url = await serverWith({
    cudaSharedMemoryRegister: ({ request }, reply) => {
      registered.push((request as { deviceId: bigint }).deviceId);
      reply(null, {});
    },
  });
  let reads = 0;
  let gpus = ['GPU-1', 'GPU-2'];
  const metrics = createServer((_, response) => {
    reads += 1;
    response.end(gpus.map((uuid) => `nv_gpu_utilization{gpu_uuid="${uuid}"} 0`).join('\n'));
  });
  const metricsUrl = `http://127.0.0.1:${await listen(metrics)}/metrics`;
  const region = (deviceId: number) => ({ name: 'r', rawHandle: new Uint8Array(64), deviceId, byteLength: 8 });

  const client = connect(url, { metricsUrl });
  await client.cudaSharedMemory.register(region(1));
  for (const deviceId of [2, 99]) {
    await expect(client.cudaSharedMemory.register(region(deviceId))).rejects.toMatchObject({
      code: 'TRITON_UNSAFE_REQUEST',
      message: `Expected an ordinal below 2, the server's GPUs, for deviceId but received ${deviceId} of type number`,
    });
  }
  await client.cudaSharedMemory.register(region(0));
  // Once before there was a connection, once on it.
  expect(reads).toBe(2);

  gpus = [];
  await connect(url, { metricsUrl }).cudaSharedMemory.register(region(3));
  await connect(url).cudaSharedMemory.register(region(4));
  await connect(url, { metricsUrl: 'http://127.0.0.1:1/metrics' }).cudaSharedMemory.register(region(5));
  expect(registered).toEqual([1n, 0n, 3n, 4n, 5n]);
});

test('registrations one after another and at once share a look at the server’s keys', async () => {
  let looks = 0;
  const regions: Record<string, object> = { other: { name: 'other', key: '/taken', offset: 0n, byteSize: 8n } };
  const url = await serverWith({
    systemSharedMemoryStatus: (_, reply) => {
      looks += 1;
      reply(null, { regions });
    },
    systemSharedMemoryRegister: ({ request }, reply) => {
      const { name, key } = request as { name: string; key: string };
      regions[name] = { name, key, offset: 0n, byteSize: 8n };
      reply(null, {});
    },
    systemSharedMemoryUnregister: ({ request }, reply) => {
      delete regions[(request as { name: string }).name];
      reply(null, {});
    },
  });
  const { systemSharedMemory } = connect(url);
  const register = (name: string, key: string) => systemSharedMemory.register({ name, key, byteLength: 8 });

  await Promise.all(Array.from({ length: 8 }, (_, index) => register(`a${index}`, `/a${index}`)));
  expect(looks).toBe(1);

  await expect(register('mine', '/taken')).rejects.toMatchObject({ code: 'TRITON_SHM_KEY_IN_USE', region: 'other' });
  // What this client registered since the look counts, too.
  await expect(register('again', '/a3')).rejects.toMatchObject({ code: 'TRITON_SHM_KEY_IN_USE', region: 'a3' });
  const both = [register('first', '/b'), register('second', '/b')];
  await expect(both[1]).rejects.toMatchObject({ code: 'TRITON_SHM_KEY_IN_USE', region: 'first' });
  await both[0];

  const seen = looks;
  await systemSharedMemory.unregister('a3');
  await register('again', '/a3');
  expect(looks).toBe(seen + 1);
  expect(Object.keys(regions)).toContain('again');

  // Another client unregisters everything, which this one does not see.
  for (const name of Object.keys(regions)) delete regions[name];
  await register('anew', '/a3');
  expect(Object.keys(regions)).toEqual(['anew']);
});
