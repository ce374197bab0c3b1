import { readFileSync } from 'node:fs';
import { Device, type DeviceMemory, type Kernel, type PinnedMemory } from '@zerohop/cuda-native';
import { describeTier } from '@zerohop/test-support';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';
import { type PoolOptions, TensorPool } from '../../src/index.js';
import { FakeError, FakeTriton } from '../support/fake-triton.js';
import { removeOurEntries } from '../support/names.js';
import { code, describePool, gate, pattern, roundTrip } from '../support/pool-suite.js';
import { describeRegions } from '../support/region-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

const kernels = readFileSync(new URL('../../../cuda-native/test/fixtures/kernels.ptx', import.meta.url));
const FLOATS = 256;
/** 1.0 as `fill_u32` takes it. */
const ONE = 0x3f800000;

describeTier('driver', 'system slots that kernels reach, on the fake driver', () => {
  let device: Device;
  let fill: Kernel<readonly ['pointer', 'u32', 'u32']>;
  let server: FakeTriton;
  let pool: TensorPool | undefined;

  beforeAll(async () => {
    device = await Device.open(0);
    fill = await (await device.loadModule(kernels)).kernel('fill_u32', ['pointer', 'u32', 'u32']);
  });

  afterEach(async () => {
    delay(0);
    vi.restoreAllMocks();
    await pool?.destroy();
    pool = undefined;
  });

  afterAll(removeOurEntries);

  describePool({
    transport: 'system',
    makeServer: (models) => new FakeTriton(models),
    options: { deviceAccess: true },
  });
  describeRegions({ transport: 'system', makeServer: () => new FakeTriton(), options: { deviceAccess: true } });

  const open = async (more: Partial<PoolOptions> = {}) => {
    server = new FakeTriton();
    pool = await TensorPool.open(server, {
      model: 'identity',
      slots: 1,
      transport: 'system',
      deviceAccess: true,
      ...more,
    });
    return pool;
  };

  /** Everything that a stream does takes this long. */
  const delay = (us: number) => {
    process.env.ZEROHOP_FAKE_WORK_DELAY_US = us === 0 ? '' : String(us);
  };

  const reached = (memory: DeviceMemory | undefined): DeviceMemory => {
    if (memory === undefined) throw new Error('Kernels do not reach it');
    return memory;
  };

  /** What is registered with the driver from here on. */
  function watchRegistrations(): PinnedMemory[] {
    const registered: PinnedMemory[] = [];
    const registerHost = Device.prototype.registerHost;
    vi.spyOn(Device.prototype, 'registerHost').mockImplementation(async function (this: Device, memory) {
      const made = await registerHost.call(this, memory);
      registered.push(made);
      return made;
    });
    return registered;
  }

  test('a kernel fills the input and a copy takes the output, with nothing awaited between', async () => {
    const opened = await open();
    expect(opened.reason).toContain(`kernels of ${device.name} reach it`);
    expect(opened.input('IN')).toMatchObject({ kind: 'host', device });
    const result = await device.alloc(4 * FLOATS);
    delay(5000);
    for (let round = 0; round < 3; round += 1) {
      await opened.run(async (lease) => {
        const block = lease.input('IN');
        expect(block).toMatchObject({ kind: 'host', device, stream: lease.stream });
        lease.stream?.launch(fill, { grid: 1, block: 256 }, reached(block.deviceMemory), ONE + round, FLOATS);
        expect(lease.stream?.query()).toBe(false);
        const reply = await lease.infer();
        const output = reply.output<'FP32'>('OUT');
        expect(output.memory).toBeInstanceOf(Uint8Array);
        expect(new Uint32Array((await output.read()).buffer)).toEqual(new Uint32Array(FLOATS).fill(ONE + round));
        lease.stream?.copy(result, reached(output.deviceMemory));
        const bytes = new Uint8Array(4 * FLOATS);
        await lease.stream?.copyToHost(bytes, result);
        expect(new Uint32Array(bytes.buffer)).toEqual(new Uint32Array(FLOATS).fill(ONE + round));
      });
    }
    await result.close();
  });

  test('a slot released with work on its stream waits for it', async () => {
    const opened = await open();
    delay(50_000);
    const lease = await opened.acquire();
    lease.stream?.fill(reached(lease.input('IN').deviceMemory), 1);
    lease.release();
    expect(opened.stats).toMatchObject({ idle: 0, leased: 1 });
    const next = await opened.acquire();
    expect((next.input('IN').memory as Uint8Array)[0]).toBe(1);
    next.release();
  });

  test("write and read come after what the slot's stream has still to do", async () => {
    const opened = await open();
    await opened.run(async (lease) => {
      const block = lease.input<'FP32'>('IN');
      delay(20_000);
      lease.stream?.fill(reached(block.deviceMemory), 1);
      const reading = block.read();
      expect(new Uint8Array((await reading).buffer)).toEqual(new Uint8Array(4 * FLOATS).fill(1));
      lease.stream?.fill(reached(block.deviceMemory), 2);
      // Not awaited: the request waits for it.
      void block.write(pattern(3));
      const reply = await lease.infer();
      expect(await reply.output<'FP32'>('OUT').read()).toEqual(pattern(3));
    });
  });

  test('a write that is not awaited, and the lease disposed of: the slot comes back when it is done', async () => {
    const opened = await open();
    delay(5000);
    for (let value = 1; value <= 20; value += 1) {
      const lease = await opened.acquire();
      const block = lease.input('IN');
      lease.stream?.fill(reached(block.deviceMemory), 0);
      void block.write(pattern(value));
      lease[Symbol.dispose]();
      const next = await opened.acquire();
      expect(new Float32Array((next.input('IN').memory as Uint8Array).slice().buffer)).toEqual(pattern(value));
      next.release();
    }
  });

  test("close ends the registration, then unmaps; an access after the lease's end is refused", async () => {
    const registered = watchRegistrations();
    const opened = await open({ slots: 2 });
    expect(registered.map(({ closed }) => closed)).toEqual([false, false]);
    const lease = await opened.acquire();
    const block = lease.input('IN');
    const { deviceMemory } = block;
    const { memory } = block;
    delay(30_000);
    lease.stream?.fill(reached(deviceMemory), 1);
    lease.release();
    expect(() => block.deviceMemory).toThrow(code('ERR_LEASE_RELEASED'));
    expect(await opened.close()).toEqual({ unproven: [] });
    expect(registered.map(({ closed }) => closed)).toEqual([true, true]);
    expect(deviceMemory?.closed).toBe(true);
    expect(memory.byteLength).toBe(0);
  });

  test('memory that moves is registered anew, and the old registration ends', async () => {
    const registered = watchRegistrations();
    const opened = await open();
    const [name = ''] = server.regionNames;
    await opened.run(async (lease) => {
      const block = lease.input('IN');
      const before = reached(block.deviceMemory);
      lease.stream?.launch(fill, { grid: 1, block: 256 }, before, ONE, FLOATS);
      server.nextAnswer = new FakeError('TRITON_NOT_FOUND', `Unable to find shared memory region: '${name}'`);
      const reply = await lease.infer();
      expect(await reply.output<'FP32'>('OUT').read()).toEqual(pattern(1));
      expect(registered.map(({ closed }) => closed)).toEqual([true, false]);
      expect(before.closed).toBe(true);
      lease.stream?.launch(fill, { grid: 1, block: 256 }, reached(block.deviceMemory), 0, FLOATS);
      expect(await (await lease.infer()).output<'FP32'>('OUT').read()).toEqual(pattern(0));
    });
  });

  test('retired memory stays registered: the server may still write into it', async () => {
    const registered = watchRegistrations();
    const opened = await open();
    server.version = '2.48.0';
    const answer = gate();
    server.gate = answer.opened;
    const lease = await opened.acquire();
    const reply = lease.infer();
    server.loseConnection();
    await expect(reply).rejects.toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    server.gate = Promise.resolve();
    await opened.run((each) => roundTrip(each, 2));
    expect(opened.stats.retired).toBe(1);
    answer.open();
    await opened.close();
    expect(registered.map(({ closed }) => closed)).toEqual([false, true]);
  });

  test("wrong options are refused; 'auto' takes device memory where it can", async () => {
    await expect(open({ deviceAccess: 1 as never })).rejects.toThrow(TypeError);
    await expect(open({ transport: 'bytes' })).rejects.toThrow(RangeError);
    // The server's GPU is not settled, so that 'auto' goes on to system slots, reached by ours.
    const opened = await open({ transport: 'auto', device });
    expect(opened.transport).toBe('system');
    await opened.run((lease) => {
      expect(reached(lease.input('IN').deviceMemory).device).toBe(device);
    });
  });
});
