// Counts the turns of the event loop during operations on a driver and a nvJPEG whose calls are late.
//   node --expose-gc late-child.mjs '{"rounds": ["cuMemAlloc", …], "peer": …}'    each of these alone
//   node --expose-gc late-child.mjs '{"rounds": [["cuInit", …]], "peer": …}'      these together
// The first round opens the devices. A line of JSON for each operation that took as long as a late call.
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Device, SharedMemory } from '../../dist/index.js';
import { JpegDecoder, JpegEncoder } from '../../dist/nvjpeg.js';
import { SIDE, sound } from './grey-jpeg.mjs';

const LATE_MS = 200;
const kernels = readFileSync(new URL('../fixtures/kernels.ptx', import.meta.url), 'utf8');
const { rounds, peer } = JSON.parse(process.argv[2] ?? '{}');
peer.handle.rawHandle = Uint8Array.from(peer.handle.rawHandle);
let turns = 0;
const turning = setInterval(() => {
  turns += 1;
}, 1);
let late = '';

async function watch(operation, work) {
  const before = turns;
  const began = performance.now();
  const value = await work();
  if (performance.now() - began >= LATE_MS) console.log(JSON.stringify({ late, operation, turns: turns - before }));
  return value;
}

async function closeAll(...owned) {
  for (const each of owned) await watch(`close ${each.constructor.name}`, () => each.close());
}

async function useMemory(device) {
  const memory = await watch('allocate', () => Promise.all(Array.from({ length: 8 }, () => device.alloc(100_000_000))));
  const pinned = await watch('allocate pinned memory', () => device.allocPinned(4096));
  await closeAll(pinned, ...memory);
}

async function useStreams(device) {
  const exported = await watch('export', async () => {
    const made = await device.alloc(2 << 20, { exportable: true });
    made.exportIpc();
    return made;
  });
  const module = await watch('load a module', () => device.loadModule(kernels));
  const kernel = await watch('find a kernel', () => module.kernel('fill_u32', ['pointer', 'u32', 'u32']));
  await watch('find a kernel with more shared memory', () =>
    module.kernel('dynamic_shared', ['pointer', 'u32'], { dynamicSharedBytes: 65536 }),
  );
  const stream = await watch('make a stream', async () => device.createStream());
  await watch('launch', async () => {
    stream.launch(kernel, { grid: 1, block: 4 }, exported, 1, 4);
    await stream.done();
  });
  await watch('copy', () => stream.copyToHost(new Uint8Array(exported.byteLength), exported));
  const graph = await watch('capture', () => stream.capture(() => stream.fill(exported, 1)));
  await closeAll(graph, stream, module, exported);
}

async function useOthers(device, other) {
  await watch('enable peer access', () => device.enablePeerAccess(other));
  const opened = await watch("open another process's memory", () => device.openIpc(peer.handle));
  const shared = await SharedMemory.create(`/zerohop-late-${process.pid}`, 4096);
  const registered = await watch('register shared memory', () => device.registerHost(shared));
  await closeAll(registered, opened);
  shared.close();
}

async function useNvjpeg(device) {
  const memory = await watch('allocate for pictures', () => device.alloc(SIDE * SIDE * 3));
  const decoder = await watch('make a decoder', () => JpegDecoder.create(device));
  await watch('decode', () => decoder.decode(sound, memory));
  const encoder = await watch('make an encoder', () => JpegEncoder.create(device));
  await watch('encode', () => encoder.encode(memory, { width: SIDE, height: SIDE }));
  await closeAll(encoder, decoder, memory);
}

/** What is alive in the fake driver. */
const live = () => JSON.parse(readFileSync(process.env.ZEROHOP_FAKE_REPORT, 'utf8'));

/** What nobody closed goes when it is collected. */
async function drop(device) {
  const before = live().memory;
  await watch('allocate to drop', async () => void (await device.alloc(4096)));
  await watch('drop', async () => {
    while (live().memory > before) {
      globalThis.gc();
      await pause(2);
    }
  });
}

for (const names of rounds) {
  late = [names].flat().join();
  process.env.ZEROHOP_FAKE_CALL_DELAY_US = [names]
    .flat()
    .map((name) => `${name}=${LATE_MS * 1000}`)
    .join();
  // Where the engines' calls are late, the decoder uses them.
  process.env.ZEROHOP_FAKE_JPEG_ENGINES = late.includes('Batched') ? '1' : '';
  const device = await watch('open', () => Device.open(0));
  const other = await watch('open the second', () => Device.open(1));
  await Promise.all([useMemory(device), useStreams(device), useOthers(device, other), useNvjpeg(device)]);
  await drop(device);
}
clearInterval(turning);
