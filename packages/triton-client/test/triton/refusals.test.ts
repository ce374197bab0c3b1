import { randomBytes } from 'node:crypto';
import { SharedMemory } from '@zerohop/cuda-native';
import { describeTier, privateTriton, sharedTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { region, TritonClient, tensor } from '../../src/index.js';

const TRANSPORTS = [
  {
    transport: 'gRPC',
    urlOf: ({ grpcUrl }: { grpcUrl: string }) => grpcUrl,
    restriction: '--grpc-restricted-protocol=shared-memory:shm-key=secret',
    key: 'triton-grpc-protocol-shm-key',
  },
  {
    transport: 'HTTP',
    urlOf: ({ httpUrl }: { httpUrl: string }) => httpUrl,
    restriction: '--http-restricted-api=shared-memory:shm-key=secret',
    key: 'shm-key',
  },
] as const;

describeTier(
  'triton',
  'what would harm a real server',
  () => {
    describe.each(TRANSPORTS)('over $transport', suite);
  },
  { needs: ['addon'] },
);

function suite({ urlOf, restriction, key }: (typeof TRANSPORTS)[number]): void {
  let client: TritonClient;

  beforeAll(() => {
    client = new TritonClient(urlOf(sharedTriton()));
  });

  afterAll(() => client.close());

  async function memory(): Promise<{ name: string; key: string; bytes: Float32Array }> {
    const name = `zerohop-refusals-${randomBytes(6).toString('hex')}`;
    const object = await SharedMemory.create(`/${name}`, 4096);
    onTestFinished(() => object.close());
    return { name, key: `/${name}`, bytes: new Float32Array(object.buffer) };
  }

  test('a second name for a key, also while the first is under way, and after another client took it', async () => {
    const { name, key } = await memory();
    const { systemSharedMemory } = client;
    const first = systemSharedMemory.register({ name, key, byteLength: 4096 });
    const second = systemSharedMemory.register({ name: `${name}-2`, key, byteLength: 4096 });
    await expect(second).rejects.toMatchObject({ code: 'TRITON_SHM_KEY_IN_USE', region: name });
    await first;
    onTestFinished(() => systemSharedMemory.unregister(name));
    const other = new TritonClient(urlOf(sharedTriton()));
    onTestFinished(() => other.close());
    for (const { systemSharedMemory: regions } of [client, other]) {
      await expect(regions.register({ name: `${name}-3`, key, byteLength: 4096 })).rejects.toMatchObject({
        code: 'TRITON_SHM_KEY_IN_USE',
        region: name,
        message: expect.stringContaining(`The key '${key}' is registered as '${name}'`),
      });
    }
    await expect(systemSharedMemory.register({ name, key, byteLength: 4096 })).rejects.toMatchObject({
      code: 'TRITON_ALREADY_EXISTS',
    });
    expect((await systemSharedMemory.status()).filter((status) => status.key === key)).toHaveLength(1);
    await systemSharedMemory.unregister(name);
    await systemSharedMemory.register({ name: `${name}-4`, key, byteLength: 4096 });
    await systemSharedMemory.unregister(`${name}-4`);
  });

  test('the classes of a BYTES output, which end a server; other outputs have theirs', async () => {
    const outputs = { OUTPUT0: { classification: 2 } };
    const words = { inputs: { INPUT0: tensor('BYTES', [2], ['a', 'b']) }, outputs };
    const call = client.infer('echo_bytes', words);
    await expect(call).rejects.toMatchObject({ code: 'TRITON_UNSAFE_REQUEST' });
    await expect(call).rejects.toThrow("Output 'OUTPUT0' of model 'echo_bytes' is BYTES");
    expect(await call.settled).toBe('not-sent');
    await expect(client.prepare('echo_bytes', words).infer()).rejects.toMatchObject({
      code: 'TRITON_UNSAFE_REQUEST',
    });
    await expect(client.infer('no-such-model', words)).rejects.toMatchObject({ code: 'TRITON_NOT_FOUND' });

    const numbers = { inputs: { INPUT0: tensor('FP32', [1, 3], [5, 7, 6]) }, outputs };
    const answered = client.infer('identity', numbers);
    expect((await answered).output('OUTPUT0').strings()).toEqual(['7.000000:1', '6.000000:2']);
    expect(await answered.settled).toBe('answered');
    const again = await client.prepare('identity', numbers).infer({ timeoutMs: 10_000 });
    expect(again.output('OUTPUT0').shape).toEqual([2]);
    expect(await client.isLive()).toBe(true);
  });

  test('waitUntilReleased waits for the request in flight', async () => {
    const { name, key, bytes } = await memory();
    const { systemSharedMemory } = client;
    await systemSharedMemory.register({ name, key, byteLength: 4096 });
    bytes[0] = 42;
    const call = client.infer('slow', {
      inputs: { INPUT0: region(name, { datatype: 'FP32', shape: [1, 1] }) },
      outputs: { OUTPUT0: { region: name, byteOffset: 2048, byteLength: 4 } },
      parameters: { ms: 1500 },
    });
    // In flight once the server says so.
    const inUse = () => systemSharedMemory.waitUntilReleased(name, { timeoutMs: 100 }).catch((error: unknown) => error);
    expect(await inUse()).toMatchObject({ code: 'TRITON_TIMEOUT', region: name });
    const aborted = AbortSignal.abort(new Error('enough'));
    await expect(systemSharedMemory.waitUntilReleased(name, { signal: aborted })).rejects.toThrow('enough');
    expect(await systemSharedMemory.waitUntilReleased(name)).toBe('released');
    expect(bytes[512]).toBe(42);
    expect(await systemSharedMemory.status(name)).toEqual([]);
    expect(await systemSharedMemory.waitUntilReleased(name)).toBe('unknown');
    await call;
  });

  test('sharedMemoryState: enabled here, restricted where a header is wanted', async () => {
    const before = await client.systemSharedMemory.status();
    expect(await client.sharedMemoryState()).toBe('enabled');
    expect(await client.systemSharedMemory.status()).toEqual(before);
    const triton = await privateTriton({
      models: ['identity'],
      args: [restriction],
    });
    const outside = new TritonClient(urlOf(triton));
    const inside = new TritonClient(urlOf(triton), { headers: { [key]: 'secret' } });
    onTestFinished(async () => {
      await Promise.all([outside.close(), inside.close()]);
      await triton.stop();
    });
    expect(await outside.sharedMemoryState()).toBe('restricted');
    expect(await inside.sharedMemoryState()).toBe('enabled');
    const headers = { [key]: 'secret' };
    expect(await outside.sharedMemoryState({ headers })).toBe('enabled');
  });
}
