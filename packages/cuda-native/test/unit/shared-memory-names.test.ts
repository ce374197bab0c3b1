/** When the name of a region appears, on systems that can name a file later and on those that can't; and whose it is. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeTier } from '@zerohop/test-support';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { SharedMemory } from '../../src/index.js';
import { type Outcome, run } from '../support/child.js';

const PAGE = 4096;
const source = fileURLToPath(new URL('../fixtures/shm-system.c', import.meta.url));
const prefix = `zerohop-test-names-${process.pid}`;
/** Systems that can't name a file later. */
const OTHERS = ['tmpfile', 'proc', 'linkat'];
let folder = '';
let counter = 0;

function key(): string {
  counter += 1;
  return `/${prefix}-${counter}`;
}

const entries = (start: string) => readdirSync('/dev/shm').filter((name) => name.startsWith(start));

/** Runs `code` on such a system; `HOLD` is a file that keeps it from reserving pages. */
function runOn(system: { REFUSE?: string; HOLD?: string }, code: string, wrapper: string[] = []): Promise<Outcome> {
  const preloaded = [process.env.LD_PRELOAD, join(folder, 'shm-system.so')].filter(Boolean).join(':');
  const common = `
    const { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } = await import('node:fs');
    const { setTimeout: pause } = await import('node:timers/promises');
    const { SharedMemory } = zerohop;
    const code = (promise) => promise.then(() => 'made', (error) => error.code);
    const reached = async () => {
      for (let i = 0; !existsSync(process.env.HOLD + '.reached'); i += 1) {
        if (i === 5000) throw new Error('never reached');
        await pause(1);
      }
    };
  `;
  return run(`${common}\n${code}`, { ...system, LD_PRELOAD: preloaded }, [], wrapper);
}

/** A file that exists until somebody lets go. */
function held(): string {
  const path = join(folder, `held-${counter}`);
  writeFileSync(path, '');
  return path;
}

function answer({ stdout, stderr }: Outcome): unknown {
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'zerohop-names-'));
  const flags = ['-std=c11', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared'];
  execFileSync(process.env.CC ?? 'gcc', [...flags, '-o', join(folder, 'shm-system.so'), source, '-ldl']);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => {
  const left = entries(prefix);
  for (const name of left) rmSync(`/dev/shm/${name}`);
  expect(left).toEqual([]);
});

describeTier('unit', 'the name of a region', tests, { needs: ['addon', 'g++'] });

function tests(): void {
  it('appears when the region has its pages', async () => {
    const name = key();
    const said = await runOn(
      { HOLD: held() },
      `const creating = SharedMemory.create('${name}', ${3 * PAGE});
       await reached();
       const before = await code(SharedMemory.open('${name}'));
       const names = readdirSync('/dev/shm').filter((each) => each.startsWith('.zerohop-' + process.pid));
       rmSync(process.env.HOLD);
       await creating;
       const after = await SharedMemory.open('${name}');
       console.log(JSON.stringify([before, names, after.byteLength, SharedMemory.tryRemove('${name}')]));`,
    );
    expect(answer(said)).toEqual(['ERR_SHM_NOT_FOUND', [], 3 * PAGE, 'locked']);
  });

  it('may be taken meanwhile, and stays what it is then', async () => {
    const name = key();
    const said = await runOn(
      { HOLD: held() },
      `const free = SharedMemory.freeBytes();
       const creating = code(SharedMemory.create('${name}', 64 << 20));
       await reached();
       writeFileSync('/dev/shm${name}', 'theirs');
       rmSync(process.env.HOLD);
       const ended = await creating;
       console.log(JSON.stringify([ended, free - SharedMemory.freeBytes() < 32 << 20]));`,
    );
    expect(answer(said)).toEqual(['ERR_SHM_EXISTS', true]);
    expect(readFileSync(`/dev/shm${name}`, 'utf8')).toBe('theirs');
    rmSync(`/dev/shm${name}`);
  });

  it('is not left behind by a kill before', async () => {
    const name = key();
    const killed = await runOn(
      { HOLD: held() },
      `SharedMemory.create('${name}', 1 << 20);
       await reached();
       process.stdout.write(String(process.pid), () => process.kill(process.pid, 'SIGKILL'));`,
    );
    expect(killed).toMatchObject({ signal: 'SIGKILL', stderr: '' });
    expect(existsSync(`/dev/shm${name}`)).toBe(false);
    expect(entries(`.zerohop-${killed.stdout}-`)).toEqual([]);
  });

  it.each(OTHERS)('is made first where %s is refused, and all else is the same', async (refused) => {
    const name = key();
    const said = await runOn(
      { REFUSE: refused },
      `const memory = await SharedMemory.create('${name}', ${2 * PAGE}, { mode: 0o640 });
       new Uint8Array(memory.buffer)[${PAGE}] = 5;
       const { mode, size, blocks } = statSync('/dev/shm${name}');
       const other = await SharedMemory.open('${name}');
       const byte = new Uint8Array(other.buffer)[${PAGE}];
       const again = await code(SharedMemory.create('${name}', 1));
       const state = SharedMemory.tryRemove('${name}');
       // Only a file that had a name when it was mapped is shown by it.
       const maps = readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((line) => line.endsWith('${name}'));
       other.close();
       memory.close();
       const gone = !existsSync('/dev/shm${name}');
       await SharedMemory.create('${name}', 0);
       await SharedMemory.create('${name}-other', ${PAGE});
       const names = readdirSync('/dev/shm').filter((each) => each.startsWith('.zerohop-' + process.pid));
       console.log(JSON.stringify([mode & 0o777, size, blocks * 512, byte, again, state, maps.length, gone, names]));`,
    );
    expect(answer(said)).toEqual([0o640, 2 * PAGE, 2 * PAGE, 5, 'ERR_SHM_EXISTS', 'locked', 2, true, []]);
  });

  it('is made beside what a process of the same pid, in another container, is making', async () => {
    const name = key();
    const said = await runOn(
      { REFUSE: 'tmpfile' },
      `const theirs = Array.from({ length: 8 }, (_, i) => '/dev/shm/.zerohop-' + process.pid + '-' + i + '.tmp');
       for (const path of theirs) writeFileSync(path, '', { flag: 'wx' });
       try {
         for (let i = 0; i < theirs.length; i += 1) (await SharedMemory.create('${name}-' + i, 1)).close();
         console.log(theirs.filter((path) => existsSync(path)).length);
       } finally {
         for (const path of theirs) rmSync(path, { force: true });
       }`,
    );
    expect(answer(said)).toBe(8);
  });

  it('stays after a kill where it is made first, for whoever removes what nobody holds', async () => {
    const name = key();
    const killed = await runOn(
      { REFUSE: 'tmpfile', HOLD: held() },
      `SharedMemory.create('${name}', 1 << 20);
       await reached();
       process.stdout.write(String(process.pid), () => process.kill(process.pid, 'SIGKILL'));`,
    );
    expect(killed).toMatchObject({ signal: 'SIGKILL', stderr: '' });
    expect(entries(`.zerohop-${killed.stdout}-`)).toEqual([]);
    expect(SharedMemory.tryRemove(name)).toBe('removed');
  });

  it.each(OTHERS)('is not left where %s is refused and the pages cannot be reserved', async (refused) => {
    const name = key();
    const said = await runOn(
      { REFUSE: refused },
      `const error = await SharedMemory.create('${name}', 1 << 24).catch((thrown) => thrown);
       console.log(JSON.stringify([error.errno, existsSync('/dev/shm${name}')]));`,
      ['sh', '-c', 'ulimit -f 64; exec "$0" "$@"'],
    );
    expect(answer(said)).toEqual(['EFBIG', false]);
  });

  it('is left alone by close when it is another file by then', async () => {
    const memory = await SharedMemory.create(key(), PAGE);
    const path = `/dev/shm${memory.key}`;
    rmSync(path);
    const second = await SharedMemory.create(memory.key, PAGE);
    memory.unlink();
    memory.close();
    expect(SharedMemory.tryRemove(second.key)).toBe('locked');
    rmSync(path);
    await run(`(await import('node:fs')).writeFileSync('${path}', 'theirs');`);
    second.close();
    expect(readFileSync(path, 'utf8')).toBe('theirs');
    rmSync(path);
  });

  it.each(['', ...OTHERS])(
    'is left alone by the exit of a process when it is another file by then (%j)',
    async (refused) => {
      const name = key();
      const said = await runOn(
        { REFUSE: refused },
        `await SharedMemory.create('${name}', ${PAGE});
       await SharedMemory.create('${name}-ours', ${PAGE});
       rmSync('/dev/shm${name}');
       writeFileSync('/dev/shm${name}', 'theirs');
       console.log(JSON.stringify(readdirSync('/dev/shm').filter((each) => each.startsWith('${name}'.slice(1)))));
       process.exit(0);`,
      );
      expect(answer(said)).toHaveLength(2);
      expect(readFileSync(`/dev/shm${name}`, 'utf8')).toBe('theirs');
      rmSync(`/dev/shm${name}`);
    },
  );

  it('is left alone by who locked the file that had it before', () => {
    const name = key();
    writeFileSync(`/dev/shm${name}`, 'left behind');
    const locked = SharedMemory.tryLock(name);
    if (typeof locked === 'string') throw new Error(locked);
    rmSync(`/dev/shm${name}`);
    writeFileSync(`/dev/shm${name}`, 'theirs');
    locked.remove();
    expect(locked.closed).toBe(true);
    expect(readFileSync(`/dev/shm${name}`, 'utf8')).toBe('theirs');
    rmSync(`/dev/shm${name}`);
  });
}
