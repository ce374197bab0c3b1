/** What lifetimes promise at the edges: buffers that go, captures that close, regions that are closed, opens that fail. */
import { readFileSync } from 'node:fs';
import { describeTier, withSmallSharedMemory } from '@zerohop/test-support';
import { beforeAll, expect, it } from 'vitest';
import { Device, DisposedError, type Stream } from '../../src/index.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../fake-libnvjpeg/build.mjs';
import { run } from '../support/child.js';
import { copyPackage } from '../support/package-copy.js';

const ZEROHOP_LIBCUDA = buildFakeLibcuda();
process.env.ZEROHOP_LIBCUDA = ZEROHOP_LIBCUDA;
const fill = readFileSync(new URL('../fixtures/kernels.ptx', import.meta.url));

describeTier('driver', 'copies of a buffer that has gone', () => {
  it.each(['copyToDevice', 'copyToHost'] as const)('are refused, not taken for done: %s', async (direction) => {
    const device = await Device.open(0);
    await using stream = device.createStream();
    await using memory = await device.alloc(4096);
    const bytes = new Uint8Array(4096);
    const copy = direction === 'copyToDevice' ? stream.copyToDevice(memory, bytes) : stream.copyToHost(bytes, memory);
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    await expect(copy).rejects.toThrow(TypeError);
    await stream.copyToDevice(memory, new Uint8Array(4096));
  });
});

describeTier('driver', 'closing during a capture', () => {
  let device: Device;
  let stream: Stream;

  beforeAll(async () => {
    device = await Device.open(0);
    stream = device.createStream();
  });

  it('of what the work uses makes no graph, and the stream can be used again', async () => {
    const module = await device.loadModule(fill);
    const kernel = await module.kernel('fill_u32', ['pointer', 'u32', 'u32']);
    await using memory = await device.alloc(64);
    let closing: Promise<void> | undefined;
    const capture = stream.capture(() => {
      stream.launch(kernel, { grid: 1, block: 16 }, memory, 1, 16);
      closing = module.close();
    });
    await expect(capture).rejects.toThrow(DisposedError);
    await closing;
    stream.fill(memory, 1);
    await stream.done();
  });

  it('of a stream closes it afterwards', async () => {
    await using memory = await device.alloc(64);
    let inner: Stream | undefined;
    const graph = await stream.capture(() => {
      inner = device.createStream();
      stream.fill(memory, 1);
      inner[Symbol.dispose]();
    });
    await expect.poll(() => inner?.closed).toBe(true);
    await graph.close();
  });
});

describeTier('driver', 'what waits for ever', () => {
  it('holds up nobody else: collected memory behind work that does not end', async () => {
    const { stdout, stderr, code } = await run(
      `
        const device = await zerohop.Device.open(0);
        const stream = device.createStream();
        const memory = await device.alloc(64);
        process.env.ZEROHOP_FAKE_WORK_DELAY_US = '20000000';
        stream.fill(memory, 1);
        for (let i = 0; i < 20; i += 1) await device.alloc(64);
        const { setTimeout: sleep } = await import('node:timers/promises');
        for (let i = 0; i < 5; i += 1) { gc(); await sleep(20); }
        await device.alloc(64);
        await zerohop.SharedMemory.create('/zerohop-test-kept-' + process.pid, 16);
        console.log('fine');
        process.exit(0);
      `,
      { ZEROHOP_LIBCUDA },
      ['--expose-gc', '--no-warnings'],
    );
    expect(stderr).toBe('');
    expect([stdout.trim(), code]).toEqual(['fine', 0]);
  });
});

describeTier('driver', 'an open that fails', () => {
  it('retains the context once, however often it is tried', async () => {
    const { stdout, stderr } = await run(
      `
        const { readFileSync, rmSync } = await import('node:fs');
        const log = '/tmp/zerohop-retain-' + process.pid;
        process.env.ZEROHOP_FAKE_LOG = log;
        process.env.ZEROHOP_FAKE_FAIL = 'cuStreamCreateWithPriority=1';
        for (let i = 0; i < 3; i += 1) await zerohop.Device.open(0).catch(() => {});
        process.env.ZEROHOP_FAKE_FAIL = '';
        await zerohop.Device.open(0);
        console.log(readFileSync(log, 'utf8').match(/cuDevicePrimaryCtxRetain/g).length);
        rmSync(log);
      `,
      { ZEROHOP_LIBCUDA },
    );
    expect(stderr).toBe('');
    expect(stdout.trim()).toBe('1');
  });
});

describeTier('driver', 'a JPEG decoder for a device of another copy of the package', () => {
  it('is made by a copy that has opened nothing itself', async () => {
    const nvjpeg = copyPackage().entry.replace(/index\.js$/, 'nvjpeg.js');
    const { stdout, stderr, code } = await run(
      `
        const { JpegDecoder, JpegEncoder } = await import(${JSON.stringify(nvjpeg)});
        const device = await zerohop.Device.open(1);
        const coders = [await JpegDecoder.create(device), await JpegEncoder.create(device)];
        await Promise.all(coders.map((coder) => coder.close()));
        console.log('fine');
      `,
      { ZEROHOP_LIBCUDA, ZEROHOP_LIBNVJPEG: buildFakeLibnvjpeg() },
    );
    expect(stderr).toBe('');
    expect([stdout.trim(), code]).toEqual(['fine', 0]);
  });
});

describeTier(
  'driver',
  'a large region that is closed',
  () => {
    it('makes room for the next one at once', async () => {
      const { stdout, stderr } = await run(
        `
          for (let i = 0; i < 50; i += 1) {
            const shared = await zerohop.SharedMemory.create('/zerohop-test-room-' + i, 6 << 20);
            new Uint8Array(shared.buffer).fill(1);
            shared.close();
          }
          console.log('fine');
        `,
        {},
        [],
        withSmallSharedMemory(10),
      );
      expect(stderr).toBe('');
      expect(stdout.trim()).toBe('fine');
    });
  },
  { needs: ['mount'] },
);
