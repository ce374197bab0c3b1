import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier } from '@zerohop/test-support';
import { expect, it, onTestFinished } from 'vitest';
import { SharedMemory } from '../../src/index.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { dist, outcome, run, start } from '../support/child.js';

const ZEROHOP_LIBCUDA = buildFakeLibcuda();
let counter = 0;

function key(): string {
  counter += 1;
  return `/zerohop-test-process-${process.pid}-${counter}`;
}

/** Work of every kind, still running when the next line is reached. */
const BUSY = `
  const device = await zerohop.Device.open(0);
  const stream = device.createStream();
  const memory = await device.alloc(8 << 20);
  process.env.ZEROHOP_FAKE_WORK_DELAY_US = '300000';
  process.env.ZEROHOP_FAKE_CALL_DELAY_US = '1000';
  stream.fill(memory, 1);
  stream.copyToHost(new Uint8Array(8 << 20), memory).catch(() => {});
  stream.done().catch(() => {});
  device.alloc(1 << 20, { exportable: true }).catch(() => {});
  device.allocPinned(1 << 20).catch(() => {});
`;

describeTier('driver', 'the end of a process', () => {
  it.each([
    ['natural', '', 0],
    ['process.exit', 'process.exit(7);', 7],
    [
      'an uncaught exception',
      'setTimeout(() => { throw new Error("expected"); }, 0); await new Promise(() => setInterval(() => {}, 1000));',
      1,
    ],
  ])('removes the names: %s', async (_, ending, code) => {
    const name = key();
    const ended = await run(`await zerohop.SharedMemory.create('${name}', 4096); ${ending}`);
    expect(ended.code).toBe(code);
    expect(existsSync(`/dev/shm${name}`)).toBe(false);
  });

  it('removes names that are still being made, and the files that would have got them', async () => {
    const name = key();
    const ended = await run(`
      console.log(process.pid);
      for (let i = 0; i < 64; i += 1) zerohop.SharedMemory.create('${name}-' + i, 1 << 22);
      setTimeout(() => process.exit(3), 2);
    `);
    expect(ended.code).toBe(3);
    const ours = [`${name.slice(1)}-`, `.zerohop-${ended.stdout.trim()}-`];
    expect(readdirSync('/dev/shm').filter((entry) => ours.some((start) => entry.startsWith(start)))).toEqual([]);
  });

  it('by kill -9 leaves a name that is not locked', async () => {
    const name = key();
    const child = start(`
      const memory = await zerohop.SharedMemory.create('${name}', 4096);
      console.log('ready');
      setInterval(() => {}, 1000);
    `);
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    expect(SharedMemory.tryRemove(name)).toBe('locked');
    const ended = outcome(child);
    child.kill('SIGKILL');
    expect((await ended).signal).toBe('SIGKILL');
    expect(SharedMemory.tryRemove(name)).toBe('removed');
  });

  it.each([
    ['natural', '', 0],
    ['process.exit', 'process.exit(7);', 7],
    ['an uncaught exception', 'throw new Error("expected");', 1],
  ])('in the middle of work neither crashes nor hangs: %s', async (_, ending, code) => {
    const ended = await run(`${BUSY} ${ending}`, { ZEROHOP_LIBCUDA });
    expect(ended.signal).toBeNull();
    expect(ended.code).toBe(code);
  });
});

describeTier('driver', 'worker threads', () => {
  /** Runs `code` in a worker; it finds the package as `zerohop`. */
  const worker = (code: string) =>
    `new Worker(${JSON.stringify(`(async () => { const zerohop = await import(${JSON.stringify(dist)}); ${code} })();`)}, { eval: true, env: SHARE_ENV })`;

  it('each have their own, also at the same time', async () => {
    const ended = await run(
      `
        import { SHARE_ENV, Worker } from 'node:worker_threads';
        import { once } from 'node:events';
        const workers = Array.from({ length: 4 }, () => ${worker(`
          const { parentPort } = await import('node:worker_threads');
          const device = await zerohop.Device.open(1);
          const stream = device.createStream();
          const memory = await device.alloc(4096);
          stream.fill(memory, 5);
          const bytes = new Uint8Array(4096);
          await stream.copyToHost(bytes, memory);
          await stream.close();
          await memory.close();
          const shared = await zerohop.SharedMemory.create('${key()}-' + Math.random(), 16);
          parentPort.postMessage(bytes[4095]);
        `)});
        const seen = await Promise.all(workers.map((each) => once(each, 'message')));
        await Promise.all(workers.map((each) => each.terminate()));
        console.log(seen.flat().join());
      `,
      { ZEROHOP_LIBCUDA },
    );
    expect(ended.stderr).toBe('');
    expect(ended.stdout.trim()).toBe('5,5,5,5');
  });

  it('that call process.exit leave the names and the driver to the others', async () => {
    const ended = await run(
      `
        import { existsSync } from 'node:fs';
        import { SHARE_ENV, Worker } from 'node:worker_threads';
        import { once } from 'node:events';
        const mine = await zerohop.SharedMemory.create('${key()}', 16);
        const each = ${worker(`
          const shared = await zerohop.SharedMemory.create('${key()}', 16);
          await zerohop.Device.open(0);
          process.exit(3);
        `)};
        const [code] = await once(each, 'exit');
        const device = await zerohop.Device.open(0);
        const memory = await device.alloc(4096);
        await memory.close();
        console.log(code, existsSync('/dev/shm' + mine.key));
      `,
      { ZEROHOP_LIBCUDA },
    );
    expect(ended.stderr).toBe('');
    expect(ended.stdout.trim()).toBe('3 true');
  });

  it('that alone use the driver do not keep it busy while the process exits', async () => {
    const log = join(tmpdir(), `zerohop-exit-calls-${process.pid}`);
    onTestFinished(() => rmSync(log, { force: true }));
    const ended = await run(
      `
        import { SHARE_ENV, Worker } from 'node:worker_threads';
        import { once } from 'node:events';
        const each = ${worker(`
          const device = await zerohop.Device.open(0);
          globalThis.kept = await Promise.all(Array.from({ length: 200 }, () => device.alloc(16)));
          process.env.ZEROHOP_FAKE_CALL_DELAY_US = '2000';
          (await import('node:worker_threads')).parentPort.postMessage('ready');
          setInterval(() => {}, 1000);
        `)};
        await once(each, 'message');
        process.env.ZEROHOP_FAKE_CALL_DELAY_US = '2000';
        process.exit(7);
      `,
      { ZEROHOP_LIBCUDA, ZEROHOP_FAKE_LOG: log, ZEROHOP_FAKE_EXIT_DELAY_US: '300000' },
    );
    expect(ended.code).toBe(7);
    const calls = readFileSync(log, 'utf8').split('\n');
    expect(calls.filter((call) => call.startsWith('cuMemAlloc '))).toHaveLength(200);
    // What had begun may end: one free on each of eight threads.
    expect(calls.filter((call) => call.startsWith('gone cuMemFree ')).length).toBeLessThanOrEqual(8);
  });

  it('that are ended before their promises settle leave nothing mapped', async () => {
    const name = key();
    const ended = await run(
      `
        import { once } from 'node:events';
        import { readFileSync } from 'node:fs';
        import { SHARE_ENV, Worker } from 'node:worker_threads';
        // Loads the addon here too, so that it is not unloaded with the worker.
        await (await zerohop.SharedMemory.create('${name}-main', 16)).close();
        for (let round = 0; round < 3; round += 1) {
          const each = ${worker(`
            for (let i = 0; i < 50; i += 1) zerohop.SharedMemory.create('${name}-' + i, 4096).catch(() => undefined);
            (await import('node:worker_threads')).parentPort.postMessage('busy');
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
            setInterval(() => {}, 1000);
          `)};
          await once(each, 'message');
          await each.terminate();
        }
        const mapped = () => readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((line) => line.includes('/dev/shm/'));
        for (let i = 0; i < 200 && mapped().length > 0; i += 1) await new Promise((resolve) => setTimeout(resolve, 10));
        console.log(mapped().length);
      `,
    );
    expect(ended.stderr).toBe('');
    expect(ended.stdout.trim()).toBe('0');
  });

  it('may be ended in the middle of work', async () => {
    const name = key();
    const ended = await run(
      `
        import { SHARE_ENV, Worker } from 'node:worker_threads';
        import { once } from 'node:events';
        import { existsSync } from 'node:fs';
        for (let round = 0; round < 5; round += 1) {
          const each = ${worker(`
            await zerohop.SharedMemory.create('${name}', 4096);
            ${BUSY}
            (await import('node:worker_threads')).parentPort.postMessage('busy');
            setInterval(() => {}, 1000);
          `)};
          await once(each, 'message');
          await each.terminate();
          if (existsSync('/dev/shm${name}')) throw new Error('the name is still there');
        }
        process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
        const device = await zerohop.Device.open(0);
        await (await device.alloc(16)).close();
        console.log('fine');
      `,
      { ZEROHOP_LIBCUDA },
    );
    expect(ended.stderr).toBe('');
    expect(ended.stdout.trim()).toBe('fine');
    expect(ended.code).toBe(0);
  });
});
