import { expect, it } from 'vitest';
import { CudaError, Device } from '../../src/index.js';
import { loose, MIB, onDevice } from './on-device.js';

export function deviceSuite(): void {
  const on = onDevice();

  it('describes itself', () => {
    expect(on.device.ordinal).toBe(0);
    expect(on.device.uuid).toMatch(/^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(on.device.name).not.toBe('');
    expect(on.device.computeCapability.major).toBeGreaterThanOrEqual(5);
    expect(on.device.pciBusId).toMatch(/^[0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]$/i);
    expect(on.device.integrated).toBe(false);
    expect(on.device.supportsIpc).toBe(true);
    const { free, total } = on.device.memoryInfo();
    expect(total).toBeGreaterThan(0);
    expect(total).toBeLessThanOrEqual(on.device.totalMemory);
    expect(free).toBeGreaterThan(0);
    expect(free).toBeLessThanOrEqual(total);
  });

  it('is one object, by ordinal and by UUID', async () => {
    expect(await Device.open(0)).toBe(on.device);
    expect(await Device.open({ uuid: on.device.uuid })).toBe(on.device);
    expect(Device.count()).toBeGreaterThanOrEqual(1);
  });

  it('names what there is when there is no such device', async () => {
    const absent = Device.open({ uuid: 'GPU-00000000-0000-0000-0000-000000000000' });
    await expect(absent).rejects.toMatchObject({ code: 'ERR_CUDA_UNAVAILABLE', reason: 'no-device' });
    await expect(absent).rejects.toThrow(on.device.uuid);
    await expect(Device.open(99)).rejects.toThrow('there is no device 99');
  });

  it('says what was requested when memory runs out', async () => {
    const error: unknown = await on.device.alloc(2 ** 50).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CudaError);
    expect(error).toMatchObject({
      code: 'CUDA_ERROR_OUT_OF_MEMORY',
      status: 2,
      call: 'cuMemAlloc',
      device: 0,
      sticky: false,
    });
    expect((error as CudaError).message).toContain('requested 1125899906842624 bytes');
    await using memory = await on.device.alloc(MIB);
    expect(memory.closed).toBe(false);
  });

  it('has streams of different priorities', async () => {
    const { least, greatest } = on.device.streamPriorities;
    expect(least).toBe(0);
    expect(greatest).toBeLessThanOrEqual(0);
    await using memory = await on.device.alloc(MIB);
    for (const priority of [least, greatest]) {
      await using stream = on.device.createStream({ priority });
      stream.fill(memory, 1);
      await stream.done();
    }
    for (const priority of [least + 1, greatest - 1, -0.5, Number.NaN]) {
      expect(() => on.device.createStream({ priority })).toThrow(RangeError);
    }
    expect(() => loose(on.device).createStream({ priority: '0' })).toThrow(TypeError);
    expect(() => loose(on.device).createStream(null)).toThrow('Expected object for options');
  });

  it('has not lost its context', () => {
    expect(on.device.contextLost).toBe(false);
  });
}
