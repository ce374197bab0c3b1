/**
 * How late the event loop is while the driver is at work, as one process: `node --expose-gc loop-delay.js IMAGE
 * [HANDLE]` opens a device, makes 8 allocations of 100 MB at once, exports, loads a module, launches; then everything else that may wait
 * (pinned and registered memory, another process's memory when HANDLE is its IPC handle as JSON, a graph, peers), and
 * closes it all. Prints a LoopDelay as JSON.
 */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Device, type IpcMemHandle, SharedMemory } from '@zerohop/cuda-native';

export interface PhaseDelay {
  readonly phase: string;
  readonly tookMs: number;
  /** How much later than a millisecond after the one before a tick came, at worst. */
  readonly worstTickMs: number;
  /** The same less what the JS thread waited for a core meanwhile: what this process did itself. */
  readonly worstOwnMs: number;
  /** The greatest of `monitorEventLoopDelay({ resolution: 1 })`, less its millisecond. */
  readonly histogramMs: number;
}

export interface LoopDelay {
  readonly phases: readonly PhaseDelay[];
  /** The worst `worstOwnMs` but of `idle`, which waits as long as the others took and shows what the machine does. */
  readonly worstMs: number;
}

const ALLOCATIONS = 8;
const BYTES = 100_000_000;

const phases: PhaseDelay[] = [];

/** How long the JS thread has been ready to run without a core; 0 where the kernel does not count it. */
function waitedForCoreMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

async function phase(name: string, work: () => Promise<void>): Promise<void> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  let worst = 0;
  let worstOwn = 0;
  let waited = waitedForCoreMs();
  let last = performance.now();
  const tick = () => {
    const late = performance.now() - last - 1;
    const waitedNow = waitedForCoreMs();
    worst = Math.max(worst, late);
    worstOwn = Math.max(worstOwn, late - (waitedNow - waited));
    waited = waitedNow;
    last = performance.now();
  };
  const timer = setInterval(tick, 1);
  // A tick before, so that the histogram has begun, and one after, so that the end of the work is seen.
  await new Promise((resolve) => setTimeout(resolve, 5));
  const began = performance.now();
  await work();
  const tookMs = performance.now() - began;
  await new Promise((resolve) => setTimeout(resolve, 5));
  clearInterval(timer);
  histogram.disable();
  const histogramMs = Math.max(0, histogram.max / 1e6 - 1);
  phases.push({ phase: name, tookMs, worstTickMs: worst, worstOwnMs: worstOwn, histogramMs });
}

const [image = '', handle] = process.argv.slice(2);
const bytes = readFileSync(image);

await phase('load the addon', async () => {
  (await SharedMemory.create(`/zerohop-loop-delay-${process.pid}`, 4096)).close();
});
let device!: Device;
await phase('open', async () => {
  device = await Device.open(0);
});
const stack = new (class {
  readonly #closers: (() => Promise<void> | void)[] = [];
  add<T extends { close(): Promise<void> | void }>(owned: T): T {
    this.#closers.unshift(() => owned.close());
    return owned;
  }
  async close(): Promise<void> {
    for (const close of this.#closers) await close();
  }
})();

await phase(`allocate ${ALLOCATIONS} x 100 MB`, async () => {
  await Promise.all(Array.from({ length: ALLOCATIONS }, async () => stack.add(await device.alloc(BYTES))));
});
await phase('allocate and export', async () => {
  stack.add(await device.alloc(BYTES, { exportable: true })).exportIpc();
});
let module!: Awaited<ReturnType<Device['loadModule']>>;
let kernel!: Awaited<ReturnType<typeof module.kernel<readonly ['pointer', 'u32', 'u32']>>>;
await phase('load a module', async () => {
  module = stack.add(await device.loadModule(bytes));
  kernel = await module.kernel('fill_u32', ['pointer', 'u32', 'u32']);
});
const stream = stack.add(device.createStream());
const memory = stack.add(await device.alloc(4096));
await phase('first launch', async () => {
  stream.launch(kernel, { grid: 1, block: 32 }, memory, 7, 32);
  await stream.done();
});
await phase('pinned and registered memory', async () => {
  stack.add(await device.allocPinned(BYTES));
  const shared = await SharedMemory.create(`/zerohop-loop-delay-${process.pid}`, 1 << 20);
  const registered = await device.registerHost(shared);
  await registered.close();
  shared.close();
});
await phase('copies of ordinary memory', async () => {
  await stream.copyToDevice(memory, new Uint8Array(4096));
  await stream.copyToHost(new Uint8Array(4096), memory);
});
await phase('kernel with dynamic shared memory', async () => {
  const bigger = await module.kernel('dynamic_shared', ['pointer', 'u32'], { dynamicSharedBytes: 64 << 10 });
  stream.launch(bigger, { grid: 1, block: 32, sharedBytes: 64 << 10 }, memory, 1024);
  await stream.done();
});
await phase('graph', async () => {
  const graph = stack.add(await stream.capture(() => stream.fill(memory, 1)));
  stream.launchGraph(graph);
  await stream.done();
});
await phase('event', async () => {
  const event = stack.add(device.createEvent());
  stream.record(event);
  await event.done();
});
if (handle !== undefined) {
  await phase('open memory of another process', async () => {
    const exported = JSON.parse(handle) as Omit<IpcMemHandle, 'rawHandle'> & { readonly rawHandle: string };
    stack.add(await device.openIpc({ ...exported, rawHandle: Buffer.from(exported.rawHandle, 'hex') }));
  });
}
if (Device.count() > 1) {
  await phase('second device, peer access', async () => {
    const other = await Device.open(1);
    if (device.canAccessPeer(other)) await device.enablePeerAccess(other);
  });
}
const abandon = async () => {
  await device.alloc(BYTES);
};
await abandon();
globalThis.gc?.();
// Its finalizer runs after this turn, and frees it.
await phase('memory that was collected', () => new Promise((resolve) => setTimeout(resolve, 20)));
await phase('close all', () => stack.close());

const worstMs = Math.max(...phases.map(({ worstOwnMs }) => worstOwnMs));
const took = phases.reduce((total, { tookMs }) => total + tookMs, 0);
await phase('idle', () => new Promise((resolve) => setTimeout(resolve, Math.min(took, 2000))));
process.stdout.write(`${JSON.stringify({ phases, worstMs } satisfies LoopDelay)}\n`);
