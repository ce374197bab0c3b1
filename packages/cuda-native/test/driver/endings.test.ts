import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeTier } from '@zerohop/test-support';
import { expect, it, onTestFinished } from 'vitest';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { dist, run } from '../support/child.js';

const ZEROHOP_LIBCUDA = buildFakeLibcuda();
const kernels = fileURLToPath(new URL('../fixtures/kernels.fatbin', import.meta.url));
const key = `/zerohop-test-endings-${process.pid}`;

/** What the operations use; what they make late is still to come when the next line is reached. */
const SETUP = `
  const { readFileSync } = await import('node:fs');
  const image = readFileSync(${JSON.stringify(kernels)});
  const device = await zerohop.Device.open(0);
  const other = await zerohop.Device.open(1);
  const stream = device.createStream();
  const memory = await device.alloc(6 << 20);
  const theirs = await other.alloc(6 << 20);
  const pinned = await device.allocPinned(4096);
  const shared = await zerohop.SharedMemory.create(KEY, 4096);
  const registered = await device.registerHost(shared);
  const event = device.createEvent({ timing: true });
  const module = await device.loadModule(image);
  const fill = await module.kernel('fill_u32', ['pointer', 'u32', 'u32']);
  const graph = await stream.capture(() => stream.fill(memory, 1));
  const ignore = (promise) => void promise.catch(() => {});
  process.env.ZEROHOP_FAKE_WORK_DELAY_US = '40000';
  process.env.ZEROHOP_FAKE_CALL_DELAY_US =
    ['cuMemAlloc', 'cuMemFree', 'cuMemHostAlloc', 'cuMemFreeHost', 'cuMemHostRegister', 'cuMemHostUnregister',
     'cuModuleLoadDataEx', 'cuModuleUnload', 'cuModuleGetFunction', 'cuFuncLoad', 'cuGraphInstantiateWithFlags',
     'cuGraphUpload', 'cuGraphExecDestroy', 'cuCtxEnablePeerAccess', 'cuEventDestroy', 'cuStreamDestroy',
     'cuIpcOpenMemHandle', 'cuIpcGetMemHandle'].map((call) => call + '=40000').join();
`;

const OPERATIONS: Record<string, string> = {
  'opening a device': `ignore(zerohop.Device.open(1));`,
  'an allocation': `ignore(device.alloc(64));`,
  'an exportable allocation': `ignore(device.alloc(64, { exportable: true }));`,
  'a pinned allocation': `ignore(device.allocPinned(64));`,
  'making shared memory': `ignore(zerohop.SharedMemory.create(KEY + '-more', 1 << 22));`,
  'opening a forged handle': `ignore(device.openIpc({ rawHandle: new Uint8Array(64), byteOffset: 0,
    allocationByteLength: 64, deviceUuid: device.uuid }));`,
  'a registration': `ignore(zerohop.SharedMemory.open(shared.key).then((opened) => device.registerHost(opened)));`,
  'the end of a registration': `ignore(registered.close());`,
  'loading a module': `ignore(device.loadModule(image));`,
  'looking up a kernel': `ignore(module.kernel('spin', ['u64']));`,
  'unloading a module': `stream.launch(fill, { grid: 1, block: 8 }, memory, 1, 8); ignore(module.close());`,
  launches: `for (let i = 0; i < 50; i += 1) stream.launch(fill, { grid: 1, block: 8 }, memory, 1, 8);`,
  'making a graph': `ignore(stream.capture(() => stream.launch(fill, { grid: 1, block: 8 }, memory, 1, 8)));`,
  'launches of a graph': `for (let i = 0; i < 20; i += 1) stream.launchGraph(graph); ignore(graph.close());`,
  'a capture': `ignore(stream.capture(() => { stream.fill(memory, 1); END }));`,
  'a wait for an event': `stream.fill(memory, 1); stream.record(event); ignore(event.done());`,
  'closing an event': `stream.fill(memory, 1); stream.record(event); ignore(event.done()); ignore(event.close());`,
  'a wait for a stream': `stream.fill(memory, 1); ignore(stream.done());`,
  'closing a stream': `stream.fill(memory, 1); ignore(stream.close());`,
  'a copy to the device': `ignore(stream.copyToDevice(memory, new Uint8Array(6 << 20)));`,
  'a copy to the host': `ignore(stream.copyToHost(new Uint8Array(6 << 20), memory));`,
  'copies of shared memory': `for (let i = 0; i < 9; i += 1) stream.copyToHost(registered, memory.slice(0, 4096));`,
  'a 2D copy': `stream.copy2d({ dst: pinned, src: memory, dstPitch: 64, srcPitch: 64, width: 64, height: 64 });`,
  'copies between devices': `for (let i = 0; i < 9; i += 1) stream.copy(theirs, memory);`,
  'enabling peer access': `ignore(device.enablePeerAccess(other));`,
  'closing all at once': `stream.fill(memory, 1);
    for (const each of [memory, pinned, registered, event, module, graph, stream]) ignore(each.close());`,
};

const ENDINGS: readonly (readonly [string, number])[] = [
  ['', 0],
  ['process.exit(7);', 7],
  ['throw new Error("expected");', 1],
];

function operation(name: string, ending: string, region: string): string {
  const code = (SETUP + OPERATIONS[name]).replaceAll('KEY', JSON.stringify(region));
  return code.includes('END') ? code.replace('END', ending) : code + ending;
}

describeTier('driver', 'the end in the middle of', () => {
  it.each(Object.keys(OPERATIONS))('%s neither crashes nor hangs', async (name) => {
    await Promise.all(
      ENDINGS.map(async ([ending, code], i) => {
        const ended = await run(operation(name, ending, `${key}-${name.replaceAll(' ', '-')}-${i}`), {
          ZEROHOP_LIBCUDA,
        });
        expect(ended.signal, ending).toBeNull();
        // What a capture's work throws rejects a promise, which is ignored here.
        expect(ended.code, `${ending} ${ended.stderr}`).toBe(name === 'a capture' && code === 1 ? 0 : code);
      }),
    );
  });

  it('each of them, of a worker thread, leaves nothing behind', async () => {
    const report = join(tmpdir(), `zerohop-endings-${process.pid}`);
    onTestFinished(() => rmSync(report, { force: true }));
    const workers = Object.keys(OPERATIONS).map((name, i) => {
      const code = `(async () => {
        const zerohop = await import(${JSON.stringify(dist)});
        const { parentPort } = await import('node:worker_threads');
        ${operation(name, 'parentPort.postMessage("busy"); for (;;);', `${key}-${i}`)}
      })();`;
      return [name, code];
    });
    const ended = await run(
      `
        import { SHARE_ENV, Worker } from 'node:worker_threads';
        import { once } from 'node:events';
        import { readdirSync, readFileSync } from 'node:fs';
        import { setTimeout as pause } from 'node:timers/promises';
        const live = () => JSON.parse(readFileSync(process.env.ZEROHOP_FAKE_REPORT, 'utf8'));
        const total = () => Object.values({ ...live(), bytes: 0 }).reduce((sum, count) => sum + count, 0);
        for (const [name, code] of ${JSON.stringify(workers)}) {
          const each = new Worker(code, { eval: true, env: SHARE_ENV });
          await once(each, 'message');
          await each.terminate();
          process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
          process.env.ZEROHOP_FAKE_CALL_DELAY_US = '';
          // The streams of the two contexts themselves stay.
          for (let i = 0; i < 500 && total() > 2; i += 1) await pause(10);
          if (total() !== 2) console.log(name, JSON.stringify(live()));
          const left = readdirSync('/dev/shm').filter((entry) => entry.includes('${key.slice(1)}'));
          if (left.length > 0) console.log(name, left.join());
        }
        const device = await zerohop.Device.open(0);
        console.log(device.contextLost);
        await (await device.alloc(16)).close();
        console.log('fine');
      `,
      { ZEROHOP_LIBCUDA, ZEROHOP_FAKE_REPORT: report },
    );
    expect(ended.stderr).toBe('');
    expect(ended.stdout.trim().split('\n')).toEqual(['false', 'fine']);
    expect(ended.code).toBe(0);
  });
});
