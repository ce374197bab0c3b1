import { expect, it } from 'vitest';
import { Device } from '../../src/index.js';
import { loose, onDevice } from './on-device.js';

export function argumentSuite(): void {
  const on = onDevice();

  it.each([0, -1, 1.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY])('refuses the size %s', async (size) => {
    await expect(on.device.alloc(size)).rejects.toThrow(RangeError);
    await expect(on.device.allocPinned(size)).rejects.toThrow(RangeError);
  });

  it('words errors as sharp does', async () => {
    const device = loose(on.device);
    await expect(device.alloc(-1)).rejects.toThrow(
      'Expected positive integer for byteLength but received -1 of type number',
    );
    await expect(device.alloc('1')).rejects.toThrow(TypeError);
    await expect(device.alloc(1n)).rejects.toThrow(TypeError);
    await expect(device.alloc(1, { exportable: 1 })).rejects.toThrow('Expected boolean for exportable');
    await expect(device.alloc(1, null)).rejects.toThrow('Expected object for options but received null of type object');
    await expect(device.openIpc(null)).rejects.toThrow(TypeError);
    const handle = {
      rawHandle: new Uint8Array(64),
      byteOffset: 0,
      allocationByteLength: 1,
      deviceUuid: on.device.uuid,
    };
    await expect(device.openIpc({ ...handle, rawHandle: new Uint8Array(63) })).rejects.toThrow('received 63 bytes');
    await expect(device.openIpc({ ...handle, rawHandle: 'x' })).rejects.toThrow(TypeError);
    await expect(device.openIpc({ ...handle, byteOffset: 1 })).rejects.toThrow(RangeError);
    await expect(device.openIpc({ ...handle, byteOffset: 2 })).rejects.toThrow(RangeError);
    await expect(device.openIpc({ ...handle, deviceUuid: 'GPU-x' })).rejects.toThrow(on.device.uuid);
    const { open } = loose(Device);
    await expect(open(-1)).rejects.toThrow(RangeError);
    await expect(open('0')).rejects.toThrow(TypeError);
    await expect(open({ uuid: 1 })).rejects.toThrow('Expected non-empty string for uuid');
    await expect(open(null)).rejects.toThrow(TypeError);
  });

  it('refuses slices that do not lie inside', async () => {
    await using memory = await on.device.alloc(100);
    for (const [offset, length] of [
      [0, 101],
      [100, 1],
      [-1, 1],
      [0, 0],
      [1.5, 1],
      [101, 1],
    ] as const) {
      expect(() => memory.slice(offset, length)).toThrow(RangeError);
    }
    expect(memory.slice(99, 1).byteLength).toBe(1);
  });
}
