import { readFileSync, statSync } from 'node:fs';
import { describeTier } from '@zerohop/test-support';
import { afterEach, expect, it } from 'vitest';
import { DisposedError, SharedMemory } from '../../src/index.js';
import { run } from '../support/child.js';
import { move } from '../support/move.js';

const PAGE = 4096;
let counter = 0;
const open: SharedMemory[] = [];

async function make(byteLength: number): Promise<SharedMemory> {
  counter += 1;
  const memory = await SharedMemory.create(`/zerohop-test-renew-${process.pid}-${counter}`, byteLength);
  open.push(memory);
  return memory;
}

afterEach(() => {
  for (const memory of open.splice(0)) memory[Symbol.dispose]();
});

/** How often this process maps the region's file. */
function mappings(memory: SharedMemory): number {
  const inode = ` ${statSync(`/dev/shm${memory.key}`).ino} `;
  return readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => line.includes(inode)).length;
}

describeTier('unit', 'SharedMemory.renew', tests, { needs: ['addon'] });

function tests(): void {
  it('ends every view that was given out, and leaves bytes, key and mapping', async () => {
    const memory = await make(2 * PAGE);
    const before = memory.buffer;
    const bytes = new Uint8Array(before);
    const part = bytes.subarray(PAGE);
    bytes[PAGE + 1] = 7;
    const fresh = memory.renew();
    expect([before.byteLength, bytes.byteLength, part.byteLength]).toEqual([0, 0, 0]);
    expect(memory.buffer).toBe(fresh);
    expect(new Uint8Array(fresh)[PAGE + 1]).toBe(7);
    expect(memory.byteLength).toBe(2 * PAGE);
    const elsewhere = await SharedMemory.open(memory.key);
    open.push(elsewhere);
    new Uint8Array(elsewhere.buffer)[0] = 8;
    expect(new Uint8Array(fresh)[0]).toBe(8);
    elsewhere.close();
    expect(mappings(memory)).toBe(1);
  });

  it('works for a part of a region and for an empty marker', async () => {
    const memory = await make(3 * PAGE);
    const part = await SharedMemory.open(memory.key, { byteOffset: PAGE + 5, byteLength: 10 });
    open.push(part);
    new Uint8Array(memory.buffer)[PAGE + 6] = 3;
    expect(new Uint8Array(part.renew())[1]).toBe(3);
    const marker = await make(0);
    expect(marker.renew().byteLength).toBe(0);
  });

  it('is refused after the end', async () => {
    const memory = await make(PAGE);
    memory.close();
    expect(() => memory.renew()).toThrow(DisposedError);
  });

  it('closes what is there now, and unmaps', async () => {
    const memory = await make(PAGE);
    const name = statSync(`/dev/shm${memory.key}`).ino;
    const fresh = memory.renew();
    memory.close();
    expect(fresh.byteLength).toBe(0);
    expect(readFileSync('/proc/self/maps', 'utf8')).not.toContain(` ${name} `);
  });

  it('does not reach a buffer whose memory was moved by a transfer, and never unmaps under it', async () => {
    const memory = await make(PAGE);
    new Uint8Array(memory.buffer)[1] = 9;
    const moved = move(memory.buffer);
    const fresh = memory.renew();
    expect(new Uint8Array(fresh)[1]).toBe(9);
    memory.close();
    expect(new Uint8Array(moved)[1]).toBe(9);
  });

  it('can be repeated for ever: nothing is unmapped twice, nothing grows', async () => {
    const { code, signal, stdout, stderr } = await run(
      `
      import { readFileSync, statSync } from 'node:fs';
      import { setImmediate as turn } from 'node:timers/promises';
      const memory = await zerohop.SharedMemory.create('/zerohop-test-renew-child-' + process.pid, 4 * 4096);
      const kept = [];
      const renew = async (count) => {
        for (let index = 0; index < count; index += 1) {
          const bytes = new Uint8Array(memory.buffer);
          bytes[index % bytes.length] = index;
          memory.renew();
          if (bytes.length !== 0) throw new Error('a view is left');
          // Some are collected long after the memory has moved on.
          if (index % 100 === 0) kept[index % 10_000] = bytes;
          if (index % 1000 === 0) await turn();
        }
        for (let round = 0; round < 5; round += 1) {
          gc();
          await turn();
        }
        const { rss, external, heapUsed } = process.memoryUsage();
        return { rss, held: external + heapUsed };
      };
      await renew(20_000);
      const before = await renew(20_000);
      const after = await renew(100_000);
      const maps = readFileSync('/proc/self/maps', 'utf8').split(' ' + statSync('/dev/shm' + memory.key).ino + ' ').length - 1;
      const last = new Uint8Array(memory.buffer);
      memory.close();
      gc();
      await turn();
      console.log(JSON.stringify({ maps, last: last.length, rss: after.rss - before.rss, held: after.held - before.held }));
      `,
      {},
      ['--expose-gc'],
    );
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
    const { maps, last, rss, held } = JSON.parse(stdout) as Record<string, number>;
    expect({ maps, last }).toEqual({ maps: 1, last: 0 });
    // 100 bytes kept for each renewal would be 10 MB.
    expect(held).toBeLessThan(2 ** 20);
    // AddressSanitizer keeps what was freed.
    if (process.env.ASAN_OPTIONS === undefined) expect(rss).toBeLessThan(8 * 2 ** 20);
  });

  it('is safe in a worker thread that ends at any point', async () => {
    const { code, signal, stderr } = await run(`
      import { Worker } from 'node:worker_threads';
      import { once } from 'node:events';
      const memory = await zerohop.SharedMemory.create('/zerohop-test-renew-worker-' + process.pid, 4096);
      const body = \`
        import { workerData, parentPort } from 'node:worker_threads';
        const zerohop = await import(workerData.url);
        const memory = await zerohop.SharedMemory.open(workerData.key);
        parentPort.postMessage('ready');
        for (;;) {
          for (let index = 0; index < 100; index += 1) new Uint8Array(memory.renew())[0] += 1;
          await new Promise(setImmediate);
        }
      \`;
      for (let round = 0; round < 5; round += 1) {
        const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(body)), {
          workerData: { url: ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}, key: memory.key },
        });
        await once(worker, 'message');
        await worker.terminate();
        memory.renew();
      }
      memory.close();
    `);
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  });
}
