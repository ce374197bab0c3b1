import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Device, type DeviceMemory, type IpcMemHandle } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { DevServer } from '@zerohop/triton-devserver';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { SharedRegion, type TensorClient } from '../../src/index.js';
import { echoModel } from '../support/dev-server.js';
import { type DevicePeer, startDevicePeer } from '../support/device-peer.js';
import { FakeTriton } from '../support/fake-triton.js';
import { code } from '../support/pool-suite.js';
import { describeRegionFaults } from '../support/region-faults-suite.js';
import { describeSharedRegions, read, write } from '../support/shared-region-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

const MIB = 1024 * 1024;
const TENSOR = 1024;
const tensors = { model: 'identity', input: 'IN', output: 'OUT', shape: [4, 64] };
const allocator = fileURLToPath(new URL('../fixtures/device-allocator.mjs', import.meta.url));

const pattern = (value: number) => new Uint8Array(new Float32Array(TENSOR / 4).fill(value).buffer);

describeTier('driver', 'regions of CUDA memory on the fake driver', () => {
  let peer: DevicePeer;
  let device: Device;

  beforeAll(async () => {
    peer = startDevicePeer();
    device = await Device.open(0);
  });

  afterAll(() => peer.end());

  const makeServer = () => new FakeTriton(undefined, peer.openHandle);

  describeSharedRegions({
    name: 'a server in this process',
    kind: 'cuda',
    options: { serverDeviceId: 0 },
    open: () => ({ client: makeServer(), ...tensors }),
  });

  describeRegionFaults({ kind: 'cuda', makeServer, options: { serverDeviceId: 0 } });

  describeSharedRegions({
    name: 'a server in this process, memory page-locked',
    kind: 'system',
    options: { deviceAccess: true },
    open: () => ({ client: makeServer(), ...tensors }),
  });

  test('a page-locked region is the same bytes for kernels and for the host', async () => {
    await using region = await SharedRegion.allocate(makeServer(), {
      kind: 'system',
      byteLength: 4096,
      deviceAccess: true,
      device,
    });
    const { memory, deviceMemory } = region;
    if (deviceMemory === undefined || !(memory instanceof Uint8Array)) throw new Error('Not page-locked');
    await using stream = device.createStream();
    stream.fill(deviceMemory.slice(16, 16), 9);
    await stream.done();
    expect(memory.subarray(0, 48)).toEqual(new Uint8Array(48).fill(9, 16, 32));
  });

  /** Sends one tensor of a region through the model into another. */
  async function infer(client: TensorClient, region: SharedRegion, from: number, to: number): Promise<void> {
    const call = client.infer('identity', {
      inputs: {
        IN: { datatype: 'FP32', shape: [4, 64], ...region.ref({ byteOffset: from, byteLength: TENSOR }) },
      },
      outputs: { OUT: region.ref({ byteOffset: to, byteLength: TENSOR }) },
    });
    region.hold(call.settled);
    await call;
  }

  async function exportable(byteLength: number): Promise<DeviceMemory> {
    const memory = await device.alloc(byteLength, { exportable: true });
    onTestFinished(() => memory.close());
    return memory;
  }

  test('memory of our own is adopted: used in place, left as it is, and freed by whom it belongs to', async () => {
    const server = makeServer();
    const memory = await exportable(2 * TENSOR);
    const region = await SharedRegion.adopt(server, memory, { serverDeviceId: 0 });
    await write(region, 0, pattern(5));
    await infer(server, region, 0, TENSOR);
    expect(await read(region, TENSOR, TENSOR)).toEqual(pattern(5));
    expect(region.deviceMemory?.address).toBe(memory.address);
    expect(await region.release()).toEqual({ proven: true });
    expect(server.regionNames).toEqual([]);
    expect(memory.closed).toBe(false);
    const stream = device.createStream();
    const bytes = new Uint8Array(TENSOR);
    await stream.copyToHost(bytes, memory.slice(TENSOR, TENSOR));
    await stream.close();
    expect(bytes).toEqual(pattern(5));
  });

  test('a slice: registered up to its end and no further, and told of when its allocation holds more', async () => {
    const server = makeServer();
    const register = vi.spyOn(server.cudaSharedMemory, 'register');
    const warning = once(process, 'warning');
    const memory = await exportable(4 * MIB);
    const slice = memory.slice(MIB, 2 * TENSOR);
    await using region = await SharedRegion.adopt(server, slice, { serverDeviceId: 0 });
    expect(register).toHaveBeenCalledWith(expect.objectContaining({ byteLength: MIB + 2 * TENSOR, deviceId: 0 }));
    expect(await warning).toMatchObject([
      { code: 'ZEROHOP_WHOLE_ALLOCATION', message: expect.stringContaining(`${4 * MIB} bytes`) as string },
    ]);
    expect(region.byteLength).toBe(2 * TENSOR);
    expect(region.ref()).toEqual({ region: region.name, byteOffset: MIB, byteLength: 2 * TENSOR });
    await write(region, 0, pattern(6));
    await infer(server, region, 0, TENSOR);
    expect(await read(region, TENSOR, TENSOR)).toEqual(pattern(6));
  });

  test('memory allocated to be shared by itself is shared without a warning', async () => {
    const warnings: unknown[] = [];
    const onWarning = (warning: Error & { code?: string }) => warnings.push(warning.code);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const memory = await exportable(2 * TENSOR);
    await using region = await SharedRegion.adopt(makeServer(), memory, { serverDeviceId: 0 });
    expect(region.closed).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).not.toContain('ZEROHOP_WHOLE_ALLOCATION');
  });

  test("what can't be adopted is refused before anything is sent", async () => {
    const server = makeServer();
    const memory = await exportable(MIB);
    const plain = await device.alloc(16);
    onTestFinished(() => plain.close());
    const handle = memory.exportIpc();
    const adopt = (what: unknown, options?: object) =>
      SharedRegion.adopt(server, what as DeviceMemory, { serverDeviceId: 0, ...options });
    for (const wrong of [
      undefined,
      null,
      7,
      {},
      plain,
      { ...handle, rawHandle: 'x' },
      { ...handle, deviceUuid: 1 },
      { ...handle, byteOffset: undefined },
      { ...handle, allocationByteLength: undefined },
    ]) {
      await expect(adopt(wrong)).rejects.toThrow(TypeError);
    }
    for (const wrong of [
      { ...handle, rawHandle: new Uint8Array(63) },
      { ...handle, byteOffset: handle.allocationByteLength },
      { ...handle, byteOffset: -1 },
      { ...handle, allocationByteLength: 0 },
    ]) {
      await expect(adopt(wrong)).rejects.toThrow(RangeError);
    }
    await expect(adopt(memory, { byteLength: MIB + 1 })).rejects.toThrow(RangeError);
    await expect(adopt(memory, { byteLength: 0 })).rejects.toThrow(RangeError);
    await expect(adopt(memory, { serverDeviceId: -1 })).rejects.toThrow(RangeError);
    // Two GPUs here, and nothing says which of them the server means by 0.
    await expect(SharedRegion.adopt(server, memory)).rejects.toThrow(code('ERR_GPU_MISMATCH'));
    server.uuids = [device.uuid];
    await expect(adopt(memory, { serverDeviceId: 1 })).rejects.toThrow(code('ERR_GPU_MISMATCH'));
    await expect(adopt({ ...handle, deviceUuid: 'GPU-other' }, { serverDeviceId: undefined })).rejects.toThrow(
      code('ERR_GPU_MISMATCH'),
    );
    expect(server.calls.register).toBe(0);
    await using region = await SharedRegion.adopt(server, memory);
    expect(server.regionNames).toEqual([region.name]);
  });

  test("another process's memory: forwarded with its offset, never opened here, and its owner sees the answer", async () => {
    await using server = await DevServer.start({ models: { identity: echoModel } });
    await using client = new TritonClient(server.grpcUrl);
    const owner = fork(allocator, { serialization: 'advanced', execArgv: [] });
    onTestFinished(() => void owner.kill());
    const ask = async <T>(message: object): Promise<T> => {
      owner.send(message);
      return ((await once(owner, 'message')) as [T])[0];
    };
    const handle = await ask<IpcMemHandle>({ allocate: 4 * MIB, byteOffset: MIB, byteLength: 2 * TENSOR });
    expect(handle.byteOffset).toBe(MIB);
    await ask({ write: pattern(7), byteOffset: 0 });
    const open = vi.spyOn(Device.prototype, 'openIpc');
    const region = await SharedRegion.adopt(client, handle, { byteLength: 2 * TENSOR, serverDeviceId: 0 });
    expect(region.memory).toBeUndefined();
    expect(region.byteLength).toBe(2 * TENSOR);
    await infer(client, region, 0, TENSOR);
    expect(await ask<Uint8Array>({ read: TENSOR, byteOffset: TENSOR })).toEqual(pattern(7));
    expect(await region.release()).toEqual({ proven: true });
    expect(await client.cudaSharedMemory.status()).toEqual([]);
    // Once: by the server, which is in this process as well.
    expect(open).toHaveBeenCalledOnce();
    // The owner's memory is as it was.
    expect(await ask<Uint8Array>({ read: TENSOR, byteOffset: 0 })).toEqual(pattern(7));
  });
});
