import { Device, type Stream } from '@zerohop/cuda-native';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ImageKernels, type Orienter } from '../../src/gpu.js';
import { orient } from '../../src/reference.js';
import { orientCases } from '../orient-cases.js';

const CANARY = 0xc3;
const GUARD = 256;

/** The orienting kernel on device 0, against the definition. */
export function orientSuite(): void {
  let device: Device;
  let kernels: ImageKernels;
  let orienter: Orienter;
  let stream: Stream;
  beforeAll(async () => {
    device = await Device.open(0);
    kernels = await ImageKernels.open(device);
    orienter = await kernels.orienter();
    stream = device.createStream();
  });
  afterAll(async () => {
    await stream?.close();
    await kernels?.close();
  });

  test('turns pictures of every orientation upright, byte for byte, and nothing behind is touched', async () => {
    for (const { data, byteOffset, orientation, ...shape } of orientCases()) {
      const expected = orient({ ...shape, data: data.subarray(byteOffset) }, orientation);
      const { byteLength } = expected.data;
      await using source = await device.alloc(data.byteLength);
      await using upright = await device.alloc(byteLength + GUARD);
      await stream.copyToDevice(source, data);
      stream.fill(upright, CANARY);
      const size = orienter.enqueue(stream, { ...shape, byteOffset, memory: source }, orientation, upright);
      expect(size).toEqual({ width: expected.width, height: expected.height });
      const bytes = new Uint8Array(upright.byteLength);
      await stream.copyToHost(bytes, upright);
      const rest = bytes.subarray(byteLength);
      expect({
        orientation,
        ...shape,
        equal: Buffer.compare(bytes.subarray(0, byteLength), expected.data),
        intact: rest.every((byte) => byte === CANARY),
      }).toEqual({ orientation, ...shape, equal: 0, intact: true });
    }
  });

  test('an orienter refuses a destination that is too small, and one in the picture', async () => {
    await using memory = await device.alloc(3 * 64 * 64);
    await using small = await device.alloc(3 * 64 * 64 - 1);
    const image = { memory: memory.slice(0, 3 * 32 * 64), width: 32, height: 64 };
    expect(() => orienter.enqueue(stream, { memory, width: 64, height: 64 }, 6, small)).toThrow(/at least 12288 bytes/);
    expect(() => orienter.enqueue(stream, image, 6, memory.slice(3 * 16 * 64, 3 * 32 * 64))).toThrow(/apart/);
  });
}
