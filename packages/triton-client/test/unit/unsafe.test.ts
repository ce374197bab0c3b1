import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CudaRegions, region, type SystemRegions, TritonClient, tensor } from '../../src/index.js';

const UNSAFE = { code: 'TRITON_UNSAFE_REQUEST' };
const handle = new Uint8Array(64);

describe('what harms servers is refused before anything is sent', () => {
  let listener: Server;
  let connections = 0;
  const clients: TritonClient[] = [];

  beforeAll(async () => {
    listener = createServer(() => {
      connections += 1;
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address() as { port: number };
    for (const scheme of ['grpc', 'http']) clients.push(new TritonClient(`${scheme}://127.0.0.1:${port}`));
  });

  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    expect(connections).toBe(0);
    listener.close();
  });

  // What refuses is the same code for both transports.
  const system = (): SystemRegions => clients[0]?.systemSharedMemory as SystemRegions;
  const cuda = (): CudaRegions => clients[1]?.cudaSharedMemory as CudaRegions;

  test.each([0, -1, -(2 ** 40), 1.5, 2 ** 53, 2 ** 63, Number.NaN])('a size of %s', async (byteLength) => {
    await expect(system().register({ name: 'r', key: '/r', byteLength })).rejects.toMatchObject(UNSAFE);
    const name = { name: 'r', rawHandle: handle, deviceId: 0, byteLength };
    await expect(cuda().register(name)).rejects.toMatchObject(UNSAFE);
    const input = { region: 'r', byteOffset: 0, byteLength };
    for (const client of clients) {
      const inputs = { a: { ...input, datatype: 'BYTES', shape: [1] } } as const;
      expect(() => client.infer('m', { inputs })).toThrow(expect.objectContaining(UNSAFE));
      expect(() => client.prepare('m', { inputs: {}, outputs: { b: input } })).toThrow(expect.objectContaining(UNSAFE));
    }
    expect(() => region('r', { datatype: 'BYTES', shape: [1], byteLength })).toThrow(expect.objectContaining(UNSAFE));
  });

  test.each([-1, -(2 ** 63), 2 ** 53, 0.5])('an offset of %s, which wraps or is not exact', (byteOffset) => {
    const ref = { region: 'r', byteOffset, byteLength: 64 };
    const inputs = { a: { ...ref, datatype: 'UINT8', shape: [64] } } as const;
    for (const client of clients) {
      expect(() => client.infer('m', { inputs })).toThrow(expect.objectContaining(UNSAFE));
      expect(() => client.infer('m', { inputs: {}, outputs: { b: ref } })).toThrow(expect.objectContaining(UNSAFE));
    }
    expect(() => region('r', { datatype: 'UINT8', shape: [64], byteOffset })).toThrow(expect.objectContaining(UNSAFE));
  });

  test('an empty name, which means "all" or can never be named again', async () => {
    for (const regions of [system(), cuda()]) {
      await expect(regions.unregister('')).rejects.toMatchObject(UNSAFE);
      await expect(regions.status('')).rejects.toMatchObject(UNSAFE);
      await expect(regions.waitUntilReleased('')).rejects.toMatchObject(UNSAFE);
    }
    await expect(system().register({ name: '', key: '/r', byteLength: 8 })).rejects.toMatchObject(UNSAFE);
    await expect(cuda().register({ name: '', rawHandle: handle, deviceId: 0, byteLength: 8 })).rejects.toMatchObject(
      UNSAFE,
    );
    expect(() => region('', { datatype: 'FP32', shape: [1] })).toThrow(expect.objectContaining(UNSAFE));
  });

  test('what is merely left out, or of another type, is a wrong argument like others', async () => {
    const wrong = async (use: () => unknown, message: string) => {
      const error = await Promise.resolve()
        .then(use)
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(TypeError);
      expect(error).not.toHaveProperty('code');
      expect((error as Error).message).toContain(message);
    };
    const ref = { region: 'r', byteOffset: 0, byteLength: 8 };
    await wrong(() => region('r', { datatype: 'BYTES', shape: [1] }), 'byteLength but received undefined');
    await wrong(() => region('r', { datatype: 'FP32', shape: [1], byteOffset: '0' as never }), 'byteOffset');
    await wrong(() => region(undefined as never, { datatype: 'FP32', shape: [1] }), 'region but received undefined');
    for (const client of clients) {
      for (const field of ['byteOffset', 'byteLength', 'region'] as const) {
        const output = { ...ref, [field]: undefined };
        await wrong(() => client.infer('m', { inputs: {}, outputs: { b: output } }), `${field} of 'b'`);
      }
      await wrong(() => client.systemSharedMemory.register({ name: 'r', key: '/r' } as never), 'byteLength');
      await wrong(() => client.cudaSharedMemory.unregister(undefined as never), 'name but received undefined');
    }
  });

  test.each([0, 63, 65])('a handle of %i bytes', async (length) => {
    const rawHandle = new Uint8Array(length);
    await expect(cuda().register({ name: 'r', rawHandle, deviceId: 0, byteLength: 8 })).rejects.toMatchObject(UNSAFE);
  });

  test.each(['offset', 'byteOffset'])('a register with %s, and any field that it does not have', async (field) => {
    const plain = { name: 'r', key: '/r', byteLength: 8 };
    const offset = { [field]: 0 };
    await expect(system().register({ ...plain, ...offset })).rejects.toMatchObject({
      ...UNSAFE,
      message: expect.stringContaining(`register has no ${field}: a region starts at byte 0`),
    });
    const device = { name: 'r', rawHandle: handle, deviceId: 0, byteLength: 8 };
    await expect(cuda().register({ ...device, ...offset })).rejects.toMatchObject(UNSAFE);
    const extra = { ...plain, size: 8 };
    await expect(system().register(extra)).rejects.toThrow(
      "Expected only name, key, byteLength for register's field size",
    );
  });

  test.each([
    'triton_python_backend_shm_region_1',
    '/triton_python_backend_shm_region_x',
    '//triton_python_backend_shm_region_',
  ])('the Python backend’s own key %s', async (key) => {
    await expect(system().register({ name: 'r', key, byteLength: 8 })).rejects.toMatchObject(UNSAFE);
  });

  test('a key of slashes', async () => {
    await expect(system().register({ name: 'r', key: '//', byteLength: 8 })).rejects.toThrow(RangeError);
    await expect(system().register({ name: 'r', key: '', byteLength: 8 })).rejects.toThrow(TypeError);
  });

  test('a tensor in the message needs none of this', () => {
    expect(() => clients[0]?.prepare('m', { inputs: { a: tensor('FP32', [0], []) } })).not.toThrow();
  });
});
