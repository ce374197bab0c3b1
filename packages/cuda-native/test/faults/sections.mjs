// The whole public surface of the package, in sections that do not depend on each other. Each uses two fake devices.
import { readFileSync } from 'node:fs';
import { dropped } from './dropped.mjs';
import { jpegSections } from './jpeg-sections.mjs';

/** @typedef {import('./tour.mjs').Tour} Tour */

const MIB = 1 << 20;
const kernels = readFileSync(new URL('../fixtures/kernels.ptx', import.meta.url), 'utf8');
const fatbin = readFileSync(new URL('../fixtures/kernels.fatbin', import.meta.url));
const cluster = readFileSync(new URL('../fixtures/cluster.ptx', import.meta.url), 'utf8');

/** Bytes with a step that is not a power of two, so that swapped chunks do not look right. */
function pattern(byteLength) {
  const bytes = new Uint8Array(byteLength);
  for (let i = 0; i < byteLength; i += 1) bytes[i] = (i * 7 + (i >> 8)) & 255;
  return bytes;
}

function same(actual, expected, what) {
  if (Buffer.compare(new Uint8Array(actual.buffer, actual.byteOffset, actual.byteLength), expected) !== 0) {
    throw new Error(`${what}: other bytes than expected`);
  }
}

function equal(actual, expected, what) {
  if (actual !== expected) throw new Error(`${what}: ${actual} instead of ${expected}`);
}

/** @type {Record<string, (tour: Tour) => Promise<void>>} */
export const sections = {
  async driver(tour) {
    const { availability, Device } = tour.zerohop;
    await tour.step('availability()', () => {
      const found = availability();
      // It never throws; what it says is judged as if it did.
      if (!found.available) throw Object.assign(new Error(found.message), found);
      equal(found.devices.length, 2, 'devices');
    });
    await tour.step('Device.count()', () => equal(Device.count(), 2, 'devices'));
  },

  async device(tour) {
    const { Device } = tour.zerohop;
    const [a, b] = await tour.devices();
    await tour.step('Device.open({ uuid })', async () => equal(await Device.open({ uuid: a.uuid }), a, 'device'));
    await tour.step('memoryInfo()', () => a.memoryInfo());
    await tour.step('memoryInfo() of the second', () => b.memoryInfo());
    await tour.step('canAccessPeer()', () => equal(a.canAccessPeer(b), true, 'access'));
    await tour.step('canAccessPeer() of the second', () => equal(b.canAccessPeer(a), true, 'access'));
    await tour.step('enablePeerAccess()', () => a.enablePeerAccess(b));
    await tour.step('enablePeerAccess() of the second', () => b.enablePeerAccess(a));
  },

  async memory(tour) {
    const [device] = await tour.devices();
    const memory = await tour.make('alloc', () => device.alloc(4096));
    const other = await tour.make('alloc', () => device.alloc(MIB));
    const wrapped = await tour.make('wrap', () => device.wrap(memory.address + 16n, 64, { keepAlive: memory }));
    await tour.make('wrap', () => device.wrap(other.address, MIB, { keepAlive: other }));
    await tour.refuse('alloc of too much', { call: 'cuMemAlloc', status: 2 }, () => device.alloc(2 ** 50));
    await tour.refuse('wrap of a foreign address', { call: 'cuPointerGetAttribute', status: 1 }, () =>
      device.wrap(4096n, 16, { keepAlive: undefined }),
    );
    await tour.close(wrapped);
    const before = tour.live();
    await tour.step('dispose DeviceMemory', async () => {
      memory[Symbol.dispose]();
      await tour.until(before, 'memory', -1);
    });
  },

  async exportable(tour) {
    const [device] = await tour.devices();
    for (let i = 0; i < 2; i += 1) {
      const memory = await tour.make('alloc exportable', () => device.alloc(MIB, { exportable: true }));
      await tour.step('exportIpc', () => equal(memory.exportIpc().rawHandle.byteLength, 64, 'bytes of a handle'));
    }
  },

  async ipc(tour) {
    const [device] = await tour.devices();
    const { peer } = tour.options;
    const stream = await tour.make('createStream', () => device.createStream());
    for (let i = 0; i < 2; i += 1) {
      const memory = await tour.make('openIpc', () => device.openIpc(peer.handle));
      const bytes = new Uint8Array(memory.byteLength);
      await tour.step('copyToHost', () => stream.copyToHost(bytes, memory));
      await tour.step('compare', () => equal(bytes[bytes.length - 1], peer.byte, 'byte of the peer'));
    }
    await tour.refuse('openIpc of less', { call: 'cuIpcOpenMemHandle', status: 1 }, () =>
      device.openIpc({ ...peer.handle, allocationByteLength: 2 ** 40 }),
    );
    await tour.refuse('openIpc of a forged handle', { call: 'cuIpcOpenMemHandle', status: 1 }, () =>
      device.openIpc({ ...peer.handle, rawHandle: new Uint8Array(64).fill(0x5a) }),
    );
  },

  async pinned(tour) {
    const { SharedMemory } = tour.zerohop;
    const [device] = await tour.devices();
    const memory = await tour.make('alloc', () => device.alloc(4096));
    const stream = await tour.make('createStream', () => device.createStream());
    const sources = [await tour.make('allocPinned', () => device.allocPinned(4096))];
    await tour.make('allocPinned', () => device.allocPinned(64));
    for (let i = 0; i < 2; i += 1) {
      const shared = await tour.make('SharedMemory.create', () =>
        SharedMemory.create(`/zerohop-tour-${process.pid}-${i}`, 4096),
      );
      sources.push(await tour.make('registerHost', () => device.registerHost(shared)));
    }
    for (const [i, source] of sources.entries()) {
      new Uint8Array(source.buffer).set(pattern(4096).fill(i, 0, 8));
      await tour.step('copyToDevice from pinned memory', () => stream.copyToDevice(memory, source));
      const back = await tour.make('allocPinned', () => device.allocPinned(4096));
      await tour.step('copyToHost into pinned memory', () => stream.copyToHost(back, memory));
      await tour.step('done', () => stream.done());
      await tour.step('compare', () => same(new Uint8Array(back.buffer), pattern(4096).fill(i, 0, 8), 'pinned memory'));
    }
  },

  async copies(tour) {
    const [a, b] = await tour.devices();
    const stream = await tour.make('createStream', () => a.createStream());
    // Three staging chunks, and one.
    for (const byteLength of [8 * MIB + 5, 1000]) {
      const bytes = pattern(byteLength);
      const memory = await tour.make('alloc', () => a.alloc(byteLength));
      await tour.step('copyToDevice', () => stream.copyToDevice(memory, bytes));
      const back = new Uint8Array(byteLength);
      await tour.step('copyToHost', () => stream.copyToHost(back, memory));
      await tour.step('compare', () => same(back, bytes, 'staged'));
    }
    const here = await tour.make('alloc', () => a.alloc(4096));
    const there = await tour.make('alloc on the second', () => b.alloc(4096));
    for (const byte of [3, 4]) {
      await tour.step('fill', () => stream.fill(here.slice(0, 2048), byte));
      await tour.step('copy', () => stream.copy(here.slice(2048, 2048), here.slice(0, 2048)));
      await tour.step('copy to the second', () => stream.copy(there, here));
      await tour.step('fill', () => stream.fill(here, 0));
      await tour.step('copy from the second', () => stream.copy(here, there));
      const rows = { dst: here, dstPitch: 64, src: there, srcPitch: 100, width: 10, height: 3 };
      await tour.refuse('copy2d from the second', { name: 'RangeError' }, () => stream.copy2d(rows));
      const pinned = await tour.make('allocPinned', () => a.allocPinned(300));
      const fromHere = { ...rows, src: here.slice(2048, 2048), dst: pinned, dstPitch: 10 };
      await tour.step('copy2d', () => stream.copy2d(fromHere));
      await tour.step('done', () => stream.done());
      await tour.step('compare', () =>
        same(new Uint8Array(pinned.buffer, 0, 30), new Uint8Array(30).fill(byte), 'rows'),
      );
    }
    const before = tour.live();
    const disposed = await tour.make('createStream', () => a.createStream());
    await tour.step('fill', () => disposed.fill(here, 1));
    await tour.step('dispose Stream', async () => {
      disposed[Symbol.dispose]();
      await tour.until(before, 'stream', 0);
    });
  },

  async events(tour) {
    const [a, b] = await tour.devices();
    const first = await tour.make('createStream', () => a.createStream());
    const second = await tour.make('createStream', () => b.createStream({ priority: -1 }));
    const memory = await tour.make('alloc', () => a.alloc(4096));
    const other = await tour.make('alloc', () => b.alloc(4096));
    const start = await tour.make('createEvent', () => a.createEvent({ timing: true }));
    const end = await tour.make('createEvent', () => a.createEvent({ timing: true }));
    for (let i = 0; i < 2; i += 1) {
      process.env.ZEROHOP_FAKE_WORK_DELAY_US = '2000';
      await tour.step('record', () => first.record(start));
      await tour.step('fill', () => first.fill(memory, 1));
      await tour.step('record', () => first.record(end));
      await tour.step('wait', () => second.wait(end));
      await tour.step('fill', () => second.fill(other, 1));
      await tour.step('query Event', () => end.query());
      // Both are still to come: the waiter asks for them.
      await tour.step('done of Event', () => end.done());
      await tour.step('query Stream', () => second.query());
      await tour.step('done of Stream', () => second.done());
      await tour.step('elapsedMs', () => {
        if (!(end.elapsedMs(start) > 0)) throw new Error('no time passed');
      });
      process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
    }
  },

  // What is closed while its work is still to come must not go before it.
  async late(tour) {
    const [device] = await tour.devices();
    for (let i = 0; i < 2; i += 1) {
      const stream = await tour.make('createStream', () => device.createStream());
      const memory = await tour.make('alloc', () => device.alloc(4096));
      const pinned = await tour.make('allocPinned', () => device.allocPinned(4096));
      process.env.ZEROHOP_FAKE_WORK_DELAY_US = '3000';
      await tour.step('fill', () => stream.fill(memory, 1));
      await tour.step('copyToHost into pinned memory', () => stream.copyToHost(pinned, memory));
      if (i === 0) await tour.close(stream);
      await tour.close(memory);
      await tour.close(pinned);
      process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
    }
  },

  // Streams are idle where ordinary memory is copied: with work in front a copy may first ask for its end, or not.
  async modules(tour) {
    const [device] = await tour.devices();
    const stream = await tour.make('createStream', () => device.createStream());
    const memory = await tour.make('alloc', () => device.alloc(64));
    for (const image of [kernels, fatbin]) {
      const module = await tour.make('loadModule', () => device.loadModule(image));
      const fill = await tour.step('kernel', () => module.kernel('fill_u32', ['pointer', 'u32', 'u32']));
      await tour.step('launch', () => stream.launch(fill, { grid: 1, block: 16 }, memory, 0x01020304, 16));
      const shared = await tour.step('kernel with more shared memory', () =>
        module.kernel('dynamic_shared', ['pointer', 'u32'], { dynamicSharedBytes: 65536 }),
      );
      await tour.step('launch with more shared memory', () =>
        stream.launch(shared, { grid: 1, block: 1, sharedBytes: 65536 }, memory, 100),
      );
      await tour.step('done', () => stream.done());
      const bytes = new Uint32Array(16);
      await tour.step('copyToHost', () => stream.copyToHost(bytes, memory));
      await tour.step('compare', () => {
        equal(bytes[0], 65536, 'shared memory');
        equal(bytes[15], 0x01020304, 'word');
      });
      await tour.refuse('kernel of another name', { call: 'cuModuleGetFunction', status: 500 }, () =>
        module.kernel('absent', []),
      );
      if (tour.options.old) continue;
      const clusters = await tour.make('loadModule', () => device.loadModule(cluster));
      const rank = await tour.step('kernel', () => clusters.kernel('cluster_rank', ['pointer']));
      await tour.step('launch in clusters', () =>
        stream.launch(rank, { grid: 4, block: 1, cluster: 2 }, memory.slice(0, 16)),
      );
    }
    await tour.refuse('loadModule of damaged PTX', { call: 'cuModuleLoadDataEx', status: 218 }, () =>
      device.loadModule(kernels.replaceAll('mov.u32', 'damaged')),
    );
    await tour.step('done', () => stream.done());
  },

  async graphs(tour) {
    const [device] = await tour.devices();
    const stream = await tour.make('createStream', () => device.createStream());
    const memory = await tour.make('alloc', () => device.alloc(64));
    for (const byte of [5, 6]) {
      const graph = await tour.make('capture', () => stream.capture(() => stream.fill(memory, byte)));
      await tour.step('launchGraph', () => stream.launchGraph(graph));
      await tour.step('done', () => stream.done());
      const bytes = new Uint8Array(64);
      await tour.step('copyToHost', () => stream.copyToHost(bytes, memory));
      await tour.step('compare', () => equal(bytes[63], byte, 'byte'));
    }
    const before = tour.live();
    await tour.refuse('capture of work that throws', { message: 'no work' }, async () => {
      const capture = stream.capture(() => {
        stream.fill(memory, 7);
        throw new Error('no work');
      });
      // What was captured goes in the background.
      await capture.finally(() => tour.until(before, 'graph', 0));
    });
    await tour.step('fill', () => stream.fill(memory, 7));
    await tour.step('done', () => stream.done());
  },

  ...jpegSections,
  dropped,

  async second(tour) {
    const device = await tour.device(1);
    const memory = await tour.make('alloc', () => device.alloc(4096));
    const stream = await tour.make('createStream', () => device.createStream());
    await tour.step('fill', () => stream.fill(memory, 9));
    await tour.step('done', () => stream.done());
    const bytes = new Uint8Array(4096);
    await tour.step('copyToHost', () => stream.copyToHost(bytes, memory));
    await tour.step('compare', () => equal(bytes[4095], 9, 'byte'));
  },
};
