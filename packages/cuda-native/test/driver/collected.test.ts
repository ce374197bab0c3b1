import { describeTier } from '@zerohop/test-support';
import { expect, it } from 'vitest';
import { runCollected } from '../support/collected.js';

let counter = 0;

function key(): string {
  counter += 1;
  return `/zerohop-test-collected-${process.pid}-${counter}`;
}

/** `makeAll(i)` makes one of everything, uses it, and keeps nothing. */
const MAKE_ALL = (name: string) => `
  const square = { dstPitch: 64, srcPitch: 64, width: 64, height: 64 };
  async function makeAll(i) {
    const memory = await device.alloc(4096);
    const exportable = await device.alloc(4096, { exportable: true });
    const pinned = await device.allocPinned(4096);
    const shared = await zerohop.SharedMemory.create('${name}-' + i, 4096);
    const registered = await device.registerHost(shared);
    const borrowed = device.wrap(memory.address, 4096, { keepAlive: memory });
    const event = device.createEvent({ timing: true });
    const module = await device.loadModule(image);
    const fill = await module.kernel('fill_u32', ['pointer', 'u32', 'u32']);
    const stream = device.createStream();
    await stream.copyToDevice(exportable, new Uint8Array(4096).fill(i));
    const graph = await stream.capture(() => {
      stream.launch(fill, { grid: 1, block: 32 }, memory, i, 32);
      stream.copyToHost(registered, borrowed);
    });
    stream.copyToDevice(memory.slice(0, 64), new Uint8Array(pinned.buffer, 0, 64));
    stream.copy2d({ dst: exportable, src: memory, ...square });
    stream.launchGraph(graph);
    stream.record(event);
    if (i % 2 === 0) await stream.done();
    return { memory, exportable, pinned, shared, registered, borrowed, event, module, stream, graph };
  }
`;

const WARNED = /\[ZEROHOP_LEAK\] ResourceWarning: (?:An?|The) (\w+)/g;

function warned(stderr: string): (string | undefined)[] {
  return Array.from(stderr.matchAll(WARNED), ([, kind]) => kind?.replace('registration', 'PinnedMemory')).sort();
}

describeTier('driver', 'what is never closed', () => {
  it('is freed when it is collected, with one warning for each kind', async () => {
    const ended = await runCollected(`
      const before = live();
      ${MAKE_ALL(key())}
      for (let i = 0; i < 20; i += 1) await makeAll(i);
      console.log(live().module);
      await collected(() => total() === 1);
      console.log(JSON.stringify(before) === JSON.stringify(live()), JSON.stringify(live()));
      const { readdirSync } = await import('node:fs');
      console.log(readdirSync('/dev/shm').filter((name) => name.includes('test-collected-${process.pid}')).length);
    `);
    expect(ended.code).toBe(0);
    const [loaded, same, names] = ended.stdout.trim().split('\n');
    expect(Number(loaded)).toBeGreaterThan(0);
    // The stream of the context itself stays.
    expect(same).toContain('true {"bytes":0,"memory":0,"ipc":0,"pinned":0,"registered":0,"stream":1,');
    expect(names).toBe('0');
    // Nothing of borrowed memory leaks.
    expect(warned(ended.stderr)).toEqual([
      'DeviceMemory',
      'Event',
      'Graph',
      'Module',
      'PinnedMemory',
      'SharedMemory',
      'Stream',
    ]);
    expect(ended.stderr).toContain('Set ZEROHOP_TRACE_LEAKS=1 to see every one and where it was made');
  });

  it('gives no warning when all is closed, in whatever order', async () => {
    const ended = await runCollected(`
      ${MAKE_ALL(key())}
      let random = 1;
      for (let i = 0; i < 20; i += 1) {
        const made = await makeAll(i);
        const all = Object.values(made);
        for (let n = all.length - 1; n > 0; n -= 1) {
          random = (random * 48271) % 2147483647;
          const other = random % (n + 1);
          [all[n], all[other]] = [all[other], all[n]];
        }
        for (const each of all) each[Symbol.dispose]();
        await Promise.all(all.map((each) => each.close()));
      }
      await collected(() => total() === 1);
      console.log(JSON.stringify(live()));
    `);
    expect(ended.stderr).toBe('');
    expect(ended.stdout).toContain('{"bytes":0,"memory":0,"ipc":0,"pinned":0,"registered":0,"stream":1,"event":0');
  });

  it('is told with the stack that made it, each one, and at exit, when that is asked for', async () => {
    const ended = await runCollected(
      `
        async function makeLeak() { await device.alloc(4096); await device.allocPinned(64); }
        function makeStream() { device.createStream(); device.createEvent(); }
        for (let i = 0; i < 3; i += 1) { await makeLeak(); makeStream(); }
        await collected(() => total() === 1);
        async function keepOpen() { return await device.loadModule(image); }
        globalThis.kept = await keepOpen();
        const closed = await device.alloc(16);
        await closed.close();
      `,
      { ZEROHOP_TRACE_LEAKS: '1' },
    );
    expect(warned(ended.stderr)).toEqual(
      ['DeviceMemory', 'Event', 'PinnedMemory', 'Stream'].flatMap((kind) => [kind, kind, kind]),
    );
    expect(ended.stderr.match(/at async makeLeak/g)).toHaveLength(6);
    expect(ended.stderr.match(/at makeStream/g)).toHaveLength(6);
    expect(ended.stderr).not.toContain('Set ZEROHOP_TRACE_LEAKS');
    const atExit = ended.stderr.slice(ended.stderr.indexOf('ZEROHOP_LEAK: '));
    expect(atExit).toMatch(
      /^ZEROHOP_LEAK: A Module on device 0 was open at exit\n(?: {4}at .*\n)*? {4}at async keepOpen/,
    );
    expect(atExit.match(/was open at exit/g)).toHaveLength(1);
  });

  it('is collected in time, because the engine knows how large it is', async () => {
    const ended = await runCollected(`
      const { PerformanceObserver, constants } = await import('node:perf_hooks');
      let major = 0;
      new PerformanceObserver((list) => {
        for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) major += 1;
      }).observe({ entryTypes: ['gc'] });
      for (let i = 0; i < 1000; i += 1) await (await device.alloc(1 << 20)).close();
      await pause(50);
      const closed = major;
      // Five times what the device has, and nobody collects.
      for (let i = 0; i < 100; i += 1) {
        await device.alloc(50 << 20);
        await pause(2);
      }
      console.log(closed < 3, major > 3);
    `);
    expect(ended.stdout.trim()).toBe('true true');
    expect(ended.code).toBe(0);
    expect(warned(ended.stderr)).toEqual(['DeviceMemory']);
  });
});

describeTier('driver', 'what something else needs', () => {
  it.each([
    [
      'a module, by its kernel',
      `const kernel = await (async () => (await device.loadModule(image)).kernel('fill_u32', ['pointer', 'u32', 'u32']))();
       return { kernel, stream: device.createStream(), memory: await device.alloc(64) };`,
      `kept.stream.launch(kept.kernel, { grid: 1, block: 16 }, kept.memory, 0x07070707, 16);`,
      'module',
    ],
    [
      'an allocation, by a slice of a slice',
      `const memory = await (async () => (await device.alloc(4096)).slice(64, 128).slice(32, 64))();
       return { memory, stream: device.createStream() };`,
      'kept.stream.fill(kept.memory, 7);',
      'memory',
    ],
    [
      'the owner of borrowed memory, by it',
      `const memory = await (async () => {
         const owner = await device.alloc(64);
         return device.wrap(owner.address, 64, { keepAlive: owner }).slice(0, 64);
       })();
       return { memory, stream: device.createStream() };`,
      'kept.stream.fill(kept.memory, 7);',
      'memory',
    ],
    [
      'shared memory, by its registration',
      `const registered = await (async () => device.registerHost(await zerohop.SharedMemory.create('KEY', 64)))();
       const memory = await device.alloc(64);
       const stream = device.createStream();
       new Uint8Array(registered.buffer).fill(7);
       return { registered, memory, stream };`,
      'kept.stream.copyToDevice(kept.memory, kept.registered);',
      'registered',
    ],
    [
      'pinned memory, by a view of its buffer',
      `const view = await (async () => new Uint8Array((await device.allocPinned(128)).buffer, 64).fill(7))();
       return { view, memory: await device.alloc(64), stream: device.createStream() };`,
      'kept.stream.copyToDevice(kept.memory, kept.view);',
      'pinned',
    ],
    [
      'memory, module and event, by a graph',
      `const memory = await device.alloc(64);
       const stream = device.createStream();
       const graph = await (async () => {
         const pinned = await device.allocPinned(64);
         new Uint8Array(pinned.buffer).fill(7);
         const between = await device.alloc(64);
         const fill = await (await device.loadModule(image)).kernel('fill_u32', ['pointer', 'u32', 'u32']);
         return stream.capture(() => {
           stream.launch(fill, { grid: 1, block: 16 }, between, 0, 16);
           stream.copyToDevice(between.slice(0, 64), pinned);
           stream.copy(memory, between);
         });
       })();
       return { graph, memory, stream };`,
      'kept.stream.launchGraph(kept.graph);',
      'module',
    ],
  ])('stays: %s', async (_, make, use, kind) => {
    const ended = await runCollected(`
      let kept = await (async () => { ${make.replace('KEY', key())} })();
      const kind = '${kind}';
      const alive = live()[kind];
      for (let i = 0; i < 20; i += 1) { gc(); await pause(5); }
      const stays = alive > 0 && live()[kind] === alive;
      ${use}
      const bytes = new Uint8Array(64);
      await kept.stream.copyToHost(bytes, kept.memory);
      console.log(stays, bytes.every((byte) => byte === 7));
      kept = undefined;
      console.log(await collected(() => total() === 1));
    `);
    expect(ended.stdout.trim()).toBe('true true\ntrue');
    expect(ended.code).toBe(0);
  });

  it('stays while work in flight uses it, though all has been dropped', async () => {
    const ended = await runCollected(`
      const pinned = await device.allocPinned(64);
      process.env.ZEROHOP_FAKE_WORK_DELAY_US = '100000';
      await (async () => {
        const stream = device.createStream();
        const from = await device.alloc(64);
        const borrowed = device.wrap(from.address, 64, { keepAlive: from });
        const module = await device.loadModule(image);
        const fill = await module.kernel('fill_u32', ['pointer', 'u32', 'u32']);
        const event = device.createEvent();
        stream.fill(borrowed, 1);
        stream.launch(fill, { grid: 1, block: 8 }, borrowed, 0x05050505, 16);
        stream.record(event);
        stream.wait(event);
        stream.copyToHost(pinned, borrowed);
      })();
      // The fake driver answers a free under queued work with a lost context.
      for (let i = 0; i < 30; i += 1) { gc(); await pause(5); }
      console.log(await collected(() => total() === 2), device.contextLost);
      const bytes = new Uint8Array(pinned.buffer);
      console.log([bytes[0], bytes[31], bytes[32], bytes[63]].join());
    `);
    expect(ended.stdout.trim()).toBe('true false\n5,5,1,1');
    expect(ended.code).toBe(0);
  });
});
