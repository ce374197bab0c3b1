import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Device, type IpcMemHandle, type Kernel } from '@zerohop/cuda-native';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { SharedRegion, TensorPool } from '../../src/index.js';
import { describeSharedRegions, read, write } from '../support/shared-region-suite.js';

const kernels = readFileSync(new URL('../../../cuda-native/test/fixtures/kernels.ptx', import.meta.url));
const allocator = fileURLToPath(new URL('../fixtures/device-allocator.mjs', import.meta.url));
const FLOATS = 64 * 64;
const BYTES = 4 * FLOATS;
const MIB = 1024 * 1024;
/** 1.0 as `fill_u32` takes it. */
const ONE = 0x3f800000;

describeTier('gpu', "a caller's own regions and reached system slots, on a real GPU and a real server", () => {
  let client: TritonClient;
  let device: Device;
  let fill: Kernel<readonly ['pointer', 'u32', 'u32']>;

  beforeAll(async () => {
    const { grpcUrl, metricsUrl } = sharedTriton();
    client = new TritonClient(grpcUrl, { metricsUrl });
    device = await Device.open(0);
    fill = await (await device.loadModule(kernels)).kernel('fill_u32', ['pointer', 'u32', 'u32']);
  });

  afterAll(() => client.close());

  const open = () => ({ client, model: 'identity_64', input: 'INPUT0', output: 'OUTPUT0', shape: [64, 64] });
  describeSharedRegions({ name: 'a real server', kind: 'cuda', options: { serverDeviceId: 0 }, open });
  describeSharedRegions({ name: 'page-locked, a real server', kind: 'system', options: { deviceAccess: true }, open });

  test('a kernel fills system slots, and copies take their outputs, with nothing awaited between', async () => {
    const pool = await TensorPool.open(client, {
      model: 'identity_64',
      slots: 2,
      transport: 'system',
      deviceAccess: true,
      device,
    });
    const result = await device.alloc(BYTES);
    for (let round = 0; round < 100; round += 1) {
      await pool.run(async (lease) => {
        const { deviceMemory } = lease.input('INPUT0');
        if (deviceMemory === undefined) throw new Error('Kernels do not reach it');
        lease.stream?.launch(fill, { grid: FLOATS / 256, block: 256 }, deviceMemory, ONE + round, FLOATS);
        const reply = await lease.infer();
        const output = reply.output<'FP32'>('OUTPUT0');
        const expected = new Uint32Array(FLOATS).fill(ONE + round);
        expect(new Uint32Array((await output.read()).buffer)).toEqual(expected);
        if (output.deviceMemory === undefined) throw new Error('Kernels do not reach it');
        lease.stream?.copy(result, output.deviceMemory);
        lease.stream?.fill(output.deviceMemory, 0);
        const bytes = new Uint8Array(BYTES);
        await lease.stream?.copyToHost(bytes, result);
        expect(new Uint32Array(bytes.buffer)).toEqual(expected);
        expect(await output.read()).toEqual(new Float32Array(FLOATS));
      });
    }
    await result.close();
    expect(await pool.close()).toEqual({ unproven: [] });
  });

  async function infer(region: SharedRegion): Promise<void> {
    const call = client.infer('identity_64', {
      inputs: { INPUT0: { datatype: 'FP32', shape: [64, 64], ...region.ref({ byteLength: BYTES }) } },
      outputs: { OUTPUT0: region.ref({ byteOffset: BYTES, byteLength: BYTES }) },
    });
    region.hold(call.settled);
    await call;
  }

  const pattern = (value: number) => new Uint8Array(new Float32Array(FLOATS).fill(value).buffer);

  test('a slice of our own allocation is adopted, and is ours again after the release', async () => {
    const memory = await device.alloc(8 * MIB, { exportable: true });
    const region = await SharedRegion.adopt(client, memory.slice(3 * MIB, 2 * BYTES), { serverDeviceId: 0 });
    await write(region, 0, pattern(5));
    await infer(region);
    expect(await read(region, BYTES, BYTES)).toEqual(pattern(5));
    expect(await region.release()).toEqual({ proven: true });
    await memory.close();
  });

  test("another process's slice is forwarded, and its owner sees the answer", async () => {
    const owner = fork(allocator, { serialization: 'advanced', execArgv: [] });
    onTestFinished(() => void owner.kill());
    const ask = async <T>(message: object): Promise<T> => {
      owner.send(message);
      return ((await once(owner, 'message')) as [T])[0];
    };
    const handle = await ask<IpcMemHandle>({ allocate: 8 * MIB, byteOffset: 3 * MIB, byteLength: 2 * BYTES });
    await ask({ write: pattern(7), byteOffset: 0 });
    const region = await SharedRegion.adopt(client, handle, { byteLength: 2 * BYTES, serverDeviceId: 0 });
    await infer(region);
    expect(await ask<Uint8Array>({ read: BYTES, byteOffset: BYTES })).toEqual(pattern(7));
    expect(await region.release()).toEqual({ proven: true });
  });
});
