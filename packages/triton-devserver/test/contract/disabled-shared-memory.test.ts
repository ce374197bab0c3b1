import { randomBytes } from 'node:crypto';
import { SharedMemory } from '@zerohop/cuda-native';
import { TritonClient } from '@zerohop/triton-client';
import { expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../src/index.js';

const DISABLED = "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.";

// NVIDIA's acceptance case 1: of the versions at hand as wheels none has such a server.
test.each(['grpc', 'http'] as const)('2.68 without the flag refuses to register, over %s', async (transport) => {
  const server = await DevServer.start({ version: '2.68' });
  const client = new TritonClient(transport === 'grpc' ? server.grpcUrl : server.httpUrl);
  const key = `/zerohop-disabled-${randomBytes(6).toString('hex')}`;
  const memory = await SharedMemory.create(key, 64);
  onTestFinished(async () => {
    memory.unlink();
    memory.close();
    await client.close();
    await server.stop();
  });
  const refused = { code: 'TRITON_UNIMPLEMENTED', details: DISABLED };
  const { systemSharedMemory, cudaSharedMemory } = client;

  expect(await systemSharedMemory.status()).toEqual([]);
  expect(await cudaSharedMemory.status()).toEqual([]);
  await expect(systemSharedMemory.register({ name: 'a', key, byteLength: 64 })).rejects.toMatchObject(refused);
  const handle = { name: 'a', rawHandle: new Uint8Array(64), deviceId: 0, byteLength: 64 };
  await expect(cudaSharedMemory.register(handle)).rejects.toMatchObject(refused);
  await expect(systemSharedMemory.unregister('a')).rejects.toMatchObject(refused);
  await expect(cudaSharedMemory.unregister('a')).rejects.toMatchObject(refused);
  expect(await systemSharedMemory.status()).toEqual([]);
  expect(await client.sharedMemoryState()).toBe('disabled');
});
