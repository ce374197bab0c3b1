/** Copies of ordinary memory, through the staging buffers, behind work that takes its time. */
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier } from '@zerohop/test-support';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { Device } from '../../src/index.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { fixture } from '../suites/on-device.js';
import { resetFake } from '../support/fake-driver.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

afterEach(resetFake);

describeTier('driver', 'copies of ordinary memory behind other work', () => {
  it('leave everybody else the threads, however many they are', async () => {
    const held = join(tmpdir(), `zerohop-spin-held-${process.pid}`);
    writeFileSync(held, '');
    onTestFinished(() => rmSync(held, { force: true }));
    process.env.ZEROHOP_FAKE_SPIN_HELD = held;
    const [device, other] = await Promise.all([Device.open(0), Device.open(1)]);
    await using module = await device.loadModule(fixture('kernels.ptx'));
    const spin = await module.kernel('spin', ['u64']);
    await using memory = await device.alloc(16);
    const streams = Array.from({ length: 16 }, () => device.createStream());
    const seen = streams.map(() => new Uint8Array(1));
    let over = 0;
    const copies = streams.map(async (stream, i) => {
      stream.launch(spin, { grid: 1, block: 1 }, 0n);
      const up = stream.copyToDevice(memory.slice(i, 1), new Uint8Array([i + 1]));
      const down = stream.copyToHost(seen[i] ?? new Uint8Array(1), memory.slice(i, 1));
      await Promise.all([up, down]);
      over += 1;
    });
    // What needs a thread, or the waiter, of the same device and of another one.
    for (const each of [device, other]) {
      await using mine = await each.alloc(4096, { exportable: true });
      await using stream = each.createStream();
      await using event = each.createEvent();
      stream.fill(mine, 3);
      stream.record(event);
      await event.done();
      const bytes = new Uint8Array(4096);
      await stream.copyToHost(bytes, mine);
      expect(bytes[4095]).toBe(3);
    }
    expect(over).toBe(0);
    expect(streams.some((stream) => stream.query())).toBe(false);
    rmSync(held);
    await Promise.all(copies);
    expect(seen.map(([byte]) => byte)).toEqual(streams.map((_, i) => i + 1));
    await Promise.all(streams.map((stream) => stream.close()));
  });

  it.each(['cuStreamQuery', 'cuEventCreate'])('are made also when %s fails, by which they would wait', async (call) => {
    const device = await Device.open(0);
    await using module = await device.loadModule(fixture('kernels.ptx'));
    const spin = await module.kernel('spin', ['u64']);
    await using memory = await device.alloc(64);
    await using stream = device.createStream();
    // What the copies themselves need is made by the first.
    await stream.copyToDevice(memory, new Uint8Array(64).fill(1));
    stream.launch(spin, { grid: 1, block: 1 }, 20_000_000n);
    process.env.ZEROHOP_FAKE_FAIL = `${call}=1`;
    await stream.copyToDevice(memory, new Uint8Array(64).fill(2));
    const bytes = new Uint8Array(64);
    await stream.copyToHost(bytes, memory);
    process.env.ZEROHOP_FAKE_FAIL = '';
    expect(bytes[63]).toBe(2);
  });

  // Last: the context stays lost for the rest of the process.
  it('tell that the work before them lost the context', async () => {
    const device = await Device.open(0);
    const memory = await device.alloc(16);
    const stream = device.createStream();
    process.env.ZEROHOP_FAKE_WORK_FAIL = '700';
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = '20000';
    stream.fill(memory, 1);
    await expect(stream.copyToDevice(memory, new Uint8Array(16))).rejects.toMatchObject({
      code: 'CUDA_ERROR_ILLEGAL_ADDRESS',
      sticky: true,
    });
    await expect(memory.close()).rejects.toMatchObject({ sticky: true });
    await expect(stream.close()).rejects.toMatchObject({ sticky: true });
  });
});
