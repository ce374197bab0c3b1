import { describeTier } from '@zerohop/test-support';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { CudaError, Device } from '../../src/index.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

function fail(call: string, status: number): void {
  process.env.ZEROHOP_FAKE_FAIL = `${call}=${status}`;
}

function recover(): void {
  process.env.ZEROHOP_FAKE_FAIL = '';
}

afterEach(recover);

describeTier('driver', 'errors of the driver', () => {
  let device: Device;

  beforeAll(async () => {
    device = await Device.open(0);
  });

  it.each([
    ['cuMemAlloc', () => device.alloc(16)],
    ['cuMemsetD8Async', () => device.alloc(16, { exportable: true })],
    ['cuStreamSynchronize', () => device.alloc(16, { exportable: true })],
    ['cuIpcGetMemHandle', () => device.alloc(16, { exportable: true })],
    ['cuMemHostAlloc', () => device.allocPinned(16)],
    ['cuCtxGetCurrent', () => device.alloc(16)],
    ['cuCtxSetCurrent', () => device.alloc(16)],
    ['cuStreamCreateWithPriority', async () => device.createStream()],
    ['cuMemGetInfo', async () => device.memoryInfo()],
    ['cuDeviceGetUuid', () => Device.open(1)],
    ['cuDevicePrimaryCtxRetain', () => Device.open(1)],
    ['cuStreamCreateWithPriority', () => Device.open(1)],
  ])('name %s, and leave nothing behind', async (call, operation) => {
    const { free } = device.memoryInfo();
    fail(call, 1);
    const error: unknown = await Promise.resolve(operation()).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    recover();
    expect(error).toBeInstanceOf(CudaError);
    expect(error).toMatchObject({ code: 'CUDA_ERROR_INVALID_VALUE', status: 1, call, sticky: false });
    expect((error as CudaError).message).toMatch(
      new RegExp(`^${call} failed: CUDA_ERROR_INVALID_VALUE \\(invalid argument\\).* on device [01]$`),
    );
    await expect.poll(() => device.memoryInfo().free).toBe(free);
  });

  it('of a close reach whoever closes, once', async () => {
    const memory = await device.alloc(16);
    fail('cuMemFree', 1);
    await expect(memory.close()).rejects.toMatchObject({ call: 'cuMemFree' });
    recover();
    await expect(memory.close()).rejects.toMatchObject({ call: 'cuMemFree' });
    expect(memory.closed).toBe(true);
  });

  it('of a background close become a warning', async () => {
    const memory = await device.alloc(16);
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    try {
      fail('cuMemFree', 1);
      memory[Symbol.dispose]();
      await expect.poll(() => emitWarning.mock.calls.length).toBe(1);
      expect(emitWarning.mock.calls[0]).toEqual([
        expect.stringContaining('cuMemFree failed'),
        { type: 'CudaWarning', code: 'CUDA_CLEANUP' },
      ]);
    } finally {
      emitWarning.mockRestore();
    }
  });

  it('of copies and waits reach the caller', async () => {
    const stream = device.createStream();
    await using memory = await device.alloc(16);
    await using pinned = await device.allocPinned(16);
    fail('cuMemcpyHtoDAsync', 1);
    expect(() => stream.copyToDevice(memory, pinned)).toThrow(CudaError);
    await expect(stream.copyToDevice(memory, new Uint8Array(16))).rejects.toMatchObject({ call: 'cuMemcpyHtoDAsync' });
    fail('cuMemcpyDtoHAsync', 1);
    await expect(stream.copyToHost(new Uint8Array(16), memory)).rejects.toMatchObject({ call: 'cuMemcpyDtoHAsync' });
    fail('cuStreamQuery', 1);
    await expect(stream.done()).rejects.toMatchObject({ call: 'cuStreamQuery' });
    recover();
    await stream.copyToDevice(memory, new Uint8Array(16).fill(4));
    await stream.close();
  });

  it('of asking whether work is over do not end it: what it uses stays until then', async () => {
    const stream = device.createStream();
    const memory = await device.alloc(16);
    const pinned = await device.allocPinned(16);
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '30000';
    stream.fill(memory, 3);
    await stream.copyToHost(pinned, memory);
    const bytes = new Uint8Array(pinned.buffer);
    fail('cuStreamQuery', 1);
    // The fake driver answers a free under queued work with a lost context.
    await memory.close();
    expect(bytes[15]).toBe(3);
    await Promise.all([pinned.close(), stream.close()]);
    recover();
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
    expect(device.contextLost).toBe(false);
  });

  it('of asking in every way leave the memory where it is', async () => {
    const stream = device.createStream();
    const memory = await device.alloc(16);
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '30000';
    stream.fill(memory, 3);
    process.env.ZEROHOP_FAKE_FAIL = 'cuStreamQuery=1,cuStreamSynchronize=1';
    await expect(memory.close()).rejects.toMatchObject({ call: 'cuStreamSynchronize' });
    recover();
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
    await stream.close();
    expect(device.contextLost).toBe(false);
  });

  it('in the middle of a copy leave no buffer to the next one that is still in use', async () => {
    const byteLength = 5 << 20;
    await using stream = device.createStream();
    await using memory = await device.alloc(byteLength);
    await stream.copyToDevice(memory, new Uint8Array(byteLength).fill(1));
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '30000';
    fail('cuEventRecord', 1);
    await expect(stream.copyToHost(new Uint8Array(byteLength), memory)).rejects.toMatchObject({
      call: 'cuEventRecord',
    });
    recover();
    // What the failed copy still writes must not get into this one.
    await stream.copyToDevice(memory, new Uint8Array(byteLength).fill(2));
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
    const bytes = new Uint8Array(byteLength);
    await stream.copyToHost(bytes, memory);
    expect(bytes.every((byte) => byte === 2)).toBe(true);
  });

  // Last: the context stays lost for the rest of the process.
  it('that lose the context say so', async () => {
    const stream = device.createStream();
    const memory = await device.alloc(16);
    process.env.ZEROHOP_FAKE_WORK_FAIL = '700';
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '20000';
    stream.fill(memory, 1);
    await expect(stream.done()).rejects.toMatchObject({ code: 'CUDA_ERROR_ILLEGAL_ADDRESS', sticky: true });
    await expect(device.alloc(16)).rejects.toThrow('The CUDA context is lost: restart the process');
    expect(device.contextLost).toBe(true);
    await expect(memory.close()).rejects.toMatchObject({ sticky: true });
    await expect(stream.close()).rejects.toMatchObject({ sticky: true });
  });
});
