import { readFileSync } from 'node:fs';
import { describeTier } from '@zerohop/test-support';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  BusyError,
  CudaError,
  CudaUnavailableError,
  Device,
  DisposedError,
  type Graph,
  ipcSelfTest,
  type Kernel,
  type Module,
  type PinnedMemory,
  SharedMemory,
  SharedMemoryError,
  type Stream,
} from '../../src/index.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { Hostile, objectWith, value } from '../support/hostile.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

const kernels = readFileSync(new URL('../fixtures/kernels.ptx', import.meta.url), 'utf8');
const SHM = `/zerohop-fuzz-${process.pid}`;

type Method = (...args: unknown[]) => unknown;
type Loose = Record<string, Method>;

/** Closes what a call that was fine has made. */
async function closeResult(result: unknown): Promise<void> {
  if (typeof result === 'object' && result !== null && 'close' in result) await (result.close as () => unknown)();
}

/** What an argument may be answered with. Everything else is a fault. */
function isRefusal(error: unknown): boolean {
  if (error instanceof Hostile || error instanceof DisposedError || error instanceof BusyError) return true;
  if (!(error instanceof TypeError || error instanceof RangeError)) return false;
  // A revoked proxy, a proxy of a view, a signal that is none, and a class that is called are told by the engine.
  return /^Expected .+ but received |revoked|incompatible receiver|AbortSignal|^Class constructors/.test(error.message);
}

describeTier('driver', 'hostile arguments', () => {
  let device: Device;
  let other: Device;
  let stream: Stream;
  let pinned: PinnedMemory;
  let module: Module;
  let kernel: Kernel;
  let graph: Graph;
  const good: unknown[] = [];

  beforeAll(async () => {
    device = await Device.open(0);
    other = await Device.open(1);
    stream = device.createStream();
    const memory = await device.alloc(64);
    pinned = await device.allocPinned(64);
    module = await device.loadModule(kernels);
    kernel = await module.kernel('mixed', ['u8', 'u16', 'u32', 'u64', 'f32', 'f64', 'pointer']);
    graph = await stream.capture(() => stream.fill(memory, 1));
    const closed = await device.alloc(64);
    await closed.close();
    const shared = await SharedMemory.create(`${SHM}-good`, 64);
    const events = [device.createEvent(), device.createEvent({ timing: true })];
    good.push(memory, memory.slice(8, 16), pinned, new Uint8Array(pinned.buffer, 8, 16), closed);
    good.push(
      await other.alloc(64),
      stream,
      other.createStream(),
      ...events,
      device,
      other,
      module,
      kernel,
      graph,
      shared,
    );
  });

  afterAll(async () => {
    await graph.close();
    for (const each of good) await closeResult(each);
  });

  /** Everything the surface takes, what is fine and what is not. */
  const argument = fc.oneof(
    { arbitrary: value, weight: 3 },
    { arbitrary: fc.nat(99).map((i) => ({ says: `good ${i}`, make: () => good[i % good.length] })), weight: 3 },
    objectWith([
      'uuid',
      'exportable',
      'keepAlive',
      'priority',
      'timing',
      'mode',
      'byteOffset',
      'byteLength',
      'signal',
      'timeoutMs',
    ]),
    objectWith(['rawHandle', 'byteOffset', 'allocationByteLength', 'deviceUuid']),
    objectWith(['grid', 'block', 'sharedBytes', 'cluster', 'dynamicSharedBytes', 'bytes', 'align']),
    objectWith(['dst', 'dstPitch', 'src', 'srcPitch', 'width', 'height']),
  );

  /** Calls a method with anything and looks at what comes of it. */
  async function attack(call: Method, documented: (error: CudaError) => boolean, runs = 300): Promise<void> {
    await fc.assert(
      fc.asyncProperty(fc.array(argument, { maxLength: 8 }), async (recipes) => {
        const args = recipes.map(({ make }) => make());
        let result: unknown;
        try {
          result = await call(...args);
        } catch (error) {
          if (isRefusal(error)) return;
          if (error instanceof CudaError && documented(error)) return;
          throw error;
        } finally {
          expect(device.contextLost || other.contextLost).toBe(false);
        }
        if (!good.includes(result)) await closeResult(result);
      }),
      { numRuns: runs },
    );
  }

  const never = () => false;
  const status =
    (...codes: number[]) =>
    (error: CudaError) =>
      codes.includes(error.status);
  const of = (target: unknown, name: string): Method => {
    const method = (target as Loose)[name] as Method;
    return (...args) => method.apply(target, args);
  };

  it.each<[string, () => unknown, (error: CudaError) => boolean]>([
    ['alloc', () => device, status(2)],
    // The fake driver maps host memory, of which there may be no 4 GiB.
    ['allocPinned', () => device, status(2)],
    ['registerHost', () => device, status(712)],
    // An address of nothing is found by the driver.
    ['wrap', () => device, status(1)],
    ['openIpc', () => device, status(1, 201, 400)],
    ['createStream', () => device, never],
    ['createEvent', () => device, never],
    ['loadModule', () => device, status(200, 209, 218)],
    ['canAccessPeer', () => device, never],
    ['enablePeerAccess', () => device, status(101)],
    ['copyToDevice', () => stream, never],
    ['copyToHost', () => stream, never],
    ['copy', () => stream, never],
    ['copy2d', () => stream, never],
    ['fill', () => stream, never],
    ['launch', () => stream, never],
    ['launchGraph', () => stream, never],
    ['record', () => stream, never],
    ['wait', () => stream, never],
    ['capture', () => stream, never],
    ['done', () => stream, never],
    ['query', () => stream, never],
    // Kernels that the module has not.
    ['kernel', () => module, status(500)],
  ])('%s refuses or stands', async (name, target, documented) => {
    await attack(of(target(), name), documented);
  });

  it('a launch with a real kernel refuses or stands', async () => {
    await attack((...args) => stream.launch(kernel, ...(args as [never, ...never[]])), never);
    const config = { grid: 1, block: 1 };
    // The last argument is a pointer: nothing valid but this memory may reach the kernel.
    await attack((...args) => stream.launch(kernel, config, ...(args.slice(0, 6) as never[]), good[0] as never), never);
  });

  it('slices, events and the rest refuse or stand', async () => {
    await attack(of(good[0], 'slice'), never);
    await attack(
      of(
        good.find((each) => (each as { timing?: boolean }).timing),
        'elapsedMs',
      ),
      status(400, 600),
    );
    await attack(async (...args) => {
      try {
        return await of(Device, 'open')(...args);
      } catch (error) {
        if (error instanceof CudaUnavailableError && error.reason === 'no-device') throw new Hostile('documented');
        throw error;
      }
    }, never);
    await attack((...args) => ipcSelfTest(...(args as [never])), never, 30);
  });

  it('shared memory refuses or stands', async () => {
    const shm =
      (call: Method): Method =>
      async (...args) => {
        try {
          return await call(...args);
        } catch (error) {
          if (error instanceof SharedMemoryError) throw new Hostile('documented');
          throw error;
        }
      };
    // No gigabytes are reserved for this.
    const small = (args: unknown[]) =>
      args.map((each) => (typeof each === 'number' && each > 2 ** 30 ? 2 ** 53 : each));
    for (const name of ['create', 'open', 'tryRemove', 'tryLock']) {
      await attack(
        shm((...args) => of(SharedMemory, name)(`${SHM}-bad`, ...small(args))),
        never,
      );
    }
  });

  it('a device that is not there is told', async () => {
    for (const ordinal of [99, 2 ** 31 - 1]) await expect(Device.open(ordinal)).rejects.toThrow(CudaUnavailableError);
    await expect(Device.open(2 ** 32)).rejects.toThrow('Expected integer between 0 and 2147483647 for ordinal');
  });
});
