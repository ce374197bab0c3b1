import { type Device, type DeviceMemory, SharedMemory, type Stream } from '@zerohop/cuda-native';
import type { Datatype, TensorBlock, TensorSpec, TypedArrays } from '@zerohop/cuda-native/tensor';

export interface ClosableBlock extends TensorBlock {
  close(): Promise<void>;
}

const ELEMENTS = { FP32: Float32Array, FP16: Uint16Array, UINT8: Uint8Array, INT8: Int8Array } as const;

const elementsOf = (datatype: Datatype) => ELEMENTS[datatype as keyof typeof ELEMENTS];

const bytesIn = ({ shape, datatype }: TensorSpec): number =>
  shape.reduce((product, size) => product * size, elementsOf(datatype).BYTES_PER_ELEMENT);

function lent(of: TensorSpec, device: Device, stream: Stream, memory: DeviceMemory) {
  const read = async () => {
    const bytes = new Uint8Array(memory.byteLength);
    await stream.copyToHost(bytes, memory);
    return new (elementsOf(of.datatype))(bytes.buffer) as TypedArrays[Datatype];
  };
  return {
    ...of,
    device,
    stream,
    byteLength: memory.byteLength,
    deviceMemory: memory,
    hold: (work: Promise<unknown>) => {
      work.catch(() => undefined);
    },
    write: async (data: ArrayBufferView, options?: { stream?: Stream }) => {
      const on = options?.stream ?? stream;
      await on.copyToDevice(memory, data);
      await on.done();
    },
    read,
  };
}

/** A block in memory of a device, as a pool would lend it. */
export async function deviceBlock(device: Device, of: TensorSpec): Promise<ClosableBlock> {
  const memory = await device.alloc(bytesIn(of));
  const stream = device.createStream();
  return {
    ...lent(of, device, stream, memory),
    kind: 'cuda',
    memory,
    close: async () => {
      await stream.close();
      await memory.close();
    },
  };
}

let made = 0;

/** A block in POSIX shared memory that is registered with a device, as a pool with `deviceAccess` would lend it. */
export async function mappedBlock(device: Device, of: TensorSpec): Promise<ClosableBlock> {
  const key = `/zerohop-test-mapped-${process.pid}-${made++}`;
  const shared = await SharedMemory.create(key, bytesIn(of));
  const pinned = await device.registerHost(shared);
  const stream = device.createStream();
  return {
    ...lent(of, device, stream, device.wrap(pinned)),
    kind: 'host',
    memory: new Uint8Array(shared.buffer),
    close: async () => {
      await stream.close();
      await pinned.close();
      shared.unlink();
      shared.close();
    },
  };
}
