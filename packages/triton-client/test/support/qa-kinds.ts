import { randomBytes } from 'node:crypto';
import { type Device, SharedMemory } from '@zerohop/cuda-native';
import { onTestFinished } from 'vitest';
import type { Context } from '../conformance/context.js';
import type { QaKind } from '../conformance/qa.js';

const newName = (): string => `zerohop-conformance-${randomBytes(6).toString('hex')}`;

/** System shared memory. */
export function systemKind(context: Context): QaKind {
  const regions = context.client.systemSharedMemory;
  return {
    regions,
    async allocate(byteLength) {
      const name = newName();
      const memory = await SharedMemory.create(`/${name}`, byteLength);
      onTestFinished(async () => {
        await regions.unregister(name);
        memory.close();
      });
      return {
        name,
        register: () => regions.register({ name, key: `/${name}`, byteLength }),
        write: async (values) => new Uint8Array(memory.buffer).set(new Uint8Array(values.buffer)),
        int32: async () => Array.from(new Int32Array(memory.buffer, 0, byteLength / 4)),
      };
    },
  };
}

/** Memory of a GPU, by its IPC handles. */
export function cudaKind(context: Context, device: Device): QaKind {
  const regions = context.client.cudaSharedMemory;
  return {
    regions,
    async allocate(byteLength) {
      const memory = await device.alloc(byteLength, { exportable: true });
      const stream = device.createStream();
      const name = newName();
      onTestFinished(async () => {
        await regions.unregister(name);
        await stream.close();
        await memory.close();
      });
      return {
        name,
        register: () =>
          regions.register({ name, rawHandle: memory.exportIpc().rawHandle, deviceId: device.ordinal, byteLength }),
        async write(values) {
          await stream.copyToDevice(memory, new Uint8Array(values.buffer));
        },
        async int32() {
          const bytes = new Uint8Array(byteLength);
          await stream.copyToHost(bytes, memory);
          return Array.from(new Int32Array(bytes.buffer));
        },
      };
    },
  };
}
