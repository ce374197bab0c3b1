import { describeTier } from '@zerohop/test-support';
import { describe, expect, it } from 'vitest';
import { Device } from '../../src/index.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { eventSuite } from '../suites/event-suite.js';
import { graphSuite } from '../suites/graph-suite.js';
import { fixture } from '../suites/on-device.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda({ old: true });

describeTier('driver', 'on a driver of CUDA 11.4', () => {
  describe('Event', eventSuite);
  describe('Graph', graphSuite);

  it('takes a signature as it is, which the driver can’t tell', async () => {
    const device = await Device.open(0);
    await using stream = device.createStream();
    await using module = await device.loadModule(fixture('kernels.ptx'));
    await using memory = await device.alloc(64);
    const fill = await module.kernel('fill_u32', ['pointer', 'u64']);
    // Value 3, count 16, in one number.
    stream.launch(fill, { grid: 1, block: 16 }, memory, 3n | (16n << 32n));
    const bytes = new Uint8Array(64);
    await stream.copyToHost(bytes, memory);
    expect(Array.from(new Uint32Array(bytes.buffer))).toEqual(new Array<number>(16).fill(3));
  });

  it('has no clusters on its device, and says so before the driver sees them', async () => {
    const device = await Device.open(0);
    await using stream = device.createStream();
    await using module = await device.loadModule(fixture('kernels.ptx'));
    const spin = await module.kernel('spin', ['u64']);
    expect(() => stream.launch(spin, { grid: 4, block: 1, cluster: 2 }, 1)).toThrow(
      'Expected a device of compute capability 9.0 or newer for cluster but received device 0 of 8.0',
    );
    await expect(device.loadModule(fixture('cluster.ptx'))).rejects.toMatchObject({ sticky: false });
  });
});
