import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeTier, emulatedNode } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dist, outcome } from '../support/child.js';

/** Runs `code`, an ES module which finds the package as `zerohop`, on a Node for arm64; gives what it prints. */
async function emulated(code: string, env: Record<string, string> = {}): Promise<string> {
  const [program, ...args] = emulatedNode();
  const module = `const zerohop = await import(${JSON.stringify(dist)});\n${code}`;
  const child = spawn(program, [...args, '--input-type=module', '-e', module], {
    // An emulated process can start no program of its own machine.
    env: { ...process.env, NODE_ARM64: JSON.stringify([program, ...args]), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = await outcome(child);
  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  return ended.stdout.trim();
}

const key = (name: string): string => `/zerohop-test-arm64-${process.pid}-${name}`;

describeTier('arm64', 'a Node for arm64', () => {
  let folder: string;
  let ZEROHOP_LIBCUDA: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'zerohop-arm64-'));
    const sources = fileURLToPath(new URL('../fake-libcuda', import.meta.url));
    cpSync(sources, folder, { recursive: true, filter: (path) => path !== join(sources, 'build') });
    ZEROHOP_LIBCUDA = execFileSync(process.execPath, [join(folder, 'build.mjs')], {
      encoding: 'utf8',
      env: { ...process.env, CC: 'aarch64-linux-gnu-gcc' },
    }).trim();
  });

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
    expect(readdirSync('/dev/shm').filter((name) => name.startsWith(key('').slice(1)))).toEqual([]);
  });

  it('loads the addon, and says that there is no driver', async () => {
    const seen = await emulated(
      'const { reason, tried } = zerohop.availability(); console.log(JSON.stringify([process.arch, reason, tried]));',
    );
    const [arch, reason, tried] = JSON.parse(seen) as [string, string, string[]];
    expect([arch, reason]).toEqual(['arm64', 'no-driver']);
    expect(tried.join('\n')).toContain('aarch64-linux-gnu/libcuda.so.1');
  });

  it('shares memory with a child process, which finds it locked', async () => {
    const name = key('shared');
    const child = `
      const zerohop = await import(${JSON.stringify(dist)});
      const memory = await zerohop.SharedMemory.open('${name}');
      const bytes = new Uint8Array(memory.buffer);
      bytes[1] = bytes[0] + 1;
      console.log(zerohop.SharedMemory.tryRemove('${name}'));
      memory.close();`;
    const seen = await emulated(`
      import { execFileSync } from 'node:child_process';
      import { existsSync } from 'node:fs';
      const memory = await zerohop.SharedMemory.create('${name}', 8192);
      const bytes = new Uint8Array(memory.buffer);
      bytes[0] = 41;
      const [program, ...args] = JSON.parse(process.env.NODE_ARM64);
      const said = execFileSync(program, [...args, '--input-type=module', '-e', ${JSON.stringify(child)}]);
      memory.unlink();
      console.log(said.toString().trim(), bytes[1], existsSync('/dev/shm${name}'));
      memory.close();
    `);
    expect(seen).toBe('locked 42 false');
  });

  it('removes the names of a process that exits', async () => {
    const name = key('left');
    await emulated(`await zerohop.SharedMemory.create('${name}', 4096); process.exit(0);`);
    expect(existsSync(`/dev/shm${name}`)).toBe(false);
  });

  it('copies and waits on the fake driver, in a worker thread too', async () => {
    const work = `
      const device = await zerohop.Device.open(1);
      const stream = device.createStream();
      const memory = await device.alloc(1 << 16);
      stream.fill(memory, 5);
      const bytes = new Uint8Array(1 << 16);
      await stream.copyToHost(bytes, memory);
      await stream.done();
      await stream.close();
      await memory.close();`;
    const worker = `(async () => {
      const zerohop = await import(${JSON.stringify(dist)});
      ${work}
      (await import('node:worker_threads')).parentPort.postMessage(bytes.every((byte) => byte === 5));
    })();`;
    const seen = await emulated(
      `
        import { once } from 'node:events';
        import { Worker } from 'node:worker_threads';
        const workers = [1, 2].map(() => new Worker(${JSON.stringify(worker)}, { eval: true }));
        const messages = Promise.all(workers.map((each) => once(each, 'message')));
        ${work}
        console.log(bytes.every((byte) => byte === 5), ...(await messages).flat());
        await Promise.all(workers.map((each) => each.terminate()));
      `,
      { ZEROHOP_LIBCUDA },
    );
    expect(seen).toBe('true true true');
  });
});
