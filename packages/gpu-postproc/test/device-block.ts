import type { Device, DeviceMemory, Stream } from '@zerohop/cuda-native';
import type { TensorBlock, TensorSpec, TypedArrays } from '@zerohop/cuda-native/tensor';

export interface DeviceBlock extends TensorBlock<'FP32'> {
  close(): Promise<void>;
}

/** An FP32 block in memory of a device, as a pool would lend it. */
export async function deviceBlock(device: Device, of: TensorSpec<'FP32'>): Promise<DeviceBlock> {
  const byteLength = of.shape.reduce((product, size) => product * size, 4);
  const memory: DeviceMemory = await device.alloc(byteLength);
  const stream: Stream = device.createStream();
  function read(dst: TypedArrays['FP32'] = new Float32Array(byteLength / 4)): Promise<TypedArrays['FP32']> {
    return stream.copyToHost(dst, memory).then(() => dst);
  }
  return {
    ...of,
    kind: 'cuda',
    device,
    byteLength,
    memory,
    stream,
    hold: (work) => {
      work.catch(() => undefined);
    },
    write: async (data, options) => {
      const on = options?.stream ?? stream;
      await on.copyToDevice(memory, data);
      await on.done();
    },
    read,
    close: async () => {
      await stream.close();
      await memory.close();
    },
  };
}
