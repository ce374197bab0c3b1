import { randomBytes } from 'node:crypto';
import { Device, SharedMemory } from '@zerohop/cuda-native';
import type { TritonClient } from '@zerohop/triton-client';

/** Registered memory that holds a request's input, with room for its output behind it. */
export interface BenchRegion {
  readonly name: string;
  /** The output's first four bytes; undefined on a GPU, where looking at them would be a copy of its own. */
  readonly firstBytes: Uint8Array | undefined;
  /** Registers it with a server that is new behind the client's address. */
  register(): Promise<void>;
  /** Unregisters and frees; the client is the caller's to close. */
  close(): Promise<void>;
}

export interface RegionPlan {
  /** `bench-PURPOSE-…` is the region's name. */
  readonly purpose: string;
  readonly transport: 'system' | 'cuda';
  readonly input: Float32Array<ArrayBuffer>;
  readonly outputByteLength: number;
}

const OUTPUT_ALIGNMENT = 256;

/** Where the output lies, in bytes. */
export const outputOffset = (inputByteLength: number): number =>
  Math.ceil(inputByteLength / OUTPUT_ALIGNMENT) * OUTPUT_ALIGNMENT;

/** On a GPU, the server's first one. */
export async function openRegion(client: TritonClient, plan: RegionPlan): Promise<BenchRegion> {
  const { purpose, transport, input, outputByteLength } = plan;
  const name = `bench-${purpose}-${randomBytes(8).toString('hex')}`;
  const offset = outputOffset(input.byteLength);
  const byteLength = offset + outputByteLength;
  if (transport === 'cuda') {
    const device = await Device.open(0);
    const memory = await device.alloc(byteLength, { exportable: true });
    const stream = device.createStream();
    await stream.copyToDevice(memory.slice(0, input.byteLength), input);
    await stream.close();
    const { rawHandle } = memory.exportIpc();
    const register = () => client.cudaSharedMemory.register({ name, rawHandle, deviceId: 0, byteLength });
    await register();
    return {
      name,
      firstBytes: undefined,
      register,
      async close() {
        await client.cudaSharedMemory.unregister(name);
        await memory.close();
      },
    };
  }
  const memory = await SharedMemory.create(`/${name}`, byteLength);
  new Float32Array(memory.buffer, 0, input.length).set(input);
  const register = () => client.systemSharedMemory.register({ name, key: memory.key, byteLength });
  await register();
  return {
    name,
    register,
    firstBytes: new Uint8Array(memory.buffer, offset, 4),
    async close() {
      // The name goes even where the server has.
      memory.unlink();
      await client.systemSharedMemory.unregister(name).finally(() => memory.close());
    },
  };
}
