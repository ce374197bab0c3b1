import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { describeTier } from '@zerohop/test-support';
import { afterEach, expect, it } from 'vitest';
import { type AbandonedName, DisposedError, SharedMemory, SharedMemoryError } from '../../src/index.js';
import { run } from '../support/child.js';
import { move } from '../support/move.js';

const PAGE = 4096;
let counter = 0;
const open: SharedMemory[] = [];

function key(): string {
  counter += 1;
  return `/zerohop-test-${process.pid}-${counter}`;
}

function kept(memory: SharedMemory): SharedMemory {
  open.push(memory);
  return memory;
}

afterEach(() => {
  for (const memory of open.splice(0)) memory[Symbol.dispose]();
  expect(readdirSync('/dev/shm').filter((name) => name.includes(`zerohop-test-${process.pid}`))).toEqual([]);
  expect(readdirSync('/dev/shm').filter((name) => name.startsWith(`.zerohop-${process.pid}`))).toEqual([]);
});

function locked(name: string): AbandonedName {
  const found = SharedMemory.tryLock(name);
  if (typeof found === 'string') throw new Error(`${name} is ${found}`);
  return found;
}

async function failure(promise: Promise<unknown>): Promise<SharedMemoryError> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SharedMemoryError);
  return error as SharedMemoryError;
}

describeTier('unit', 'SharedMemory', tests, { needs: ['addon'] });
describeTier('unit', 'SharedMemory arguments', argumentTests, { needs: ['addon'] });

function tests(): void {
  it('makes a zeroed, private entry and maps it once', async () => {
    const memory = kept(await SharedMemory.create(key(), 3 * PAGE + 5));
    expect(memory.byteLength).toBe(3 * PAGE + 5);
    expect(memory.buffer).toBe(memory.buffer);
    expect(new Uint8Array(memory.buffer).every((byte) => byte === 0)).toBe(true);
    const stats = statSync(`/dev/shm${memory.key}`);
    expect(stats.size).toBe(3 * PAGE + 5);
    expect(stats.mode & 0o777).toBe(0o600);
    expect(stats.blocks * 512).toBeGreaterThanOrEqual(3 * PAGE + 5);
  });

  it('gives the mode that was asked for, whatever the umask', async () => {
    const before = process.umask(0o077);
    try {
      const memory = kept(await SharedMemory.create(key(), PAGE, { mode: 0o666 }));
      expect(statSync(`/dev/shm${memory.key}`).mode & 0o777).toBe(0o666);
    } finally {
      process.umask(before);
    }
  });

  it('shows its bytes to whoever opens the key, at any offset', async () => {
    const memory = kept(await SharedMemory.create(key(), 2 * PAGE));
    const bytes = new Uint8Array(memory.buffer);
    bytes[PAGE + 7] = 42;
    const all = kept(await SharedMemory.open(memory.key));
    expect(all.byteLength).toBe(2 * PAGE);
    expect(new Uint8Array(all.buffer)[PAGE + 7]).toBe(42);
    const part = kept(await SharedMemory.open(memory.key, { byteOffset: PAGE + 5, byteLength: 10 }));
    expect(part.byteLength).toBe(10);
    new Uint8Array(part.buffer)[3] = 43;
    expect(bytes[PAGE + 8]).toBe(43);
    const rest = kept(await SharedMemory.open(memory.key, { byteOffset: 1 }));
    expect(rest.byteLength).toBe(2 * PAGE - 1);
  });

  it('refuses a key that exists and leaves it alone', async () => {
    const memory = kept(await SharedMemory.create(key(), PAGE));
    const error = await failure(SharedMemory.create(memory.key, PAGE));
    expect(error.code).toBe('ERR_SHM_EXISTS');
    expect(error.errno).toBe('EEXIST');
    expect(existsSync(`/dev/shm${memory.key}`)).toBe(true);
  });

  it('refuses to open what is absent or too small', async () => {
    expect((await failure(SharedMemory.open(key()))).code).toBe('ERR_SHM_NOT_FOUND');
    const memory = kept(await SharedMemory.create(key(), PAGE));
    expect((await failure(SharedMemory.open(memory.key, { byteLength: PAGE + 1 }))).code).toBe('ERR_SHM_RANGE');
    expect((await failure(SharedMemory.open(memory.key, { byteOffset: PAGE + 1 }))).message).toContain('4096 bytes');
  });

  it('says what is needed, what is free and what to do when /dev/shm is full, and leaves nothing', async () => {
    const name = key();
    const needed = SharedMemory.freeBytes() + 2 ** 32;
    const error = await failure(SharedMemory.create(name, needed, { map: { byteLength: PAGE } }));
    expect(error.code).toBe('ERR_SHM_FULL');
    expect(error.message).toContain(`needs ${needed} bytes`);
    expect(error.message).toMatch(/\d+ are free in \/dev\/shm/);
    expect(error.message).toContain('--shm-size');
    expect(existsSync(`/dev/shm${name}`)).toBe(false);
  });

  it('counts what it reserves', async () => {
    const before = SharedMemory.freeBytes();
    kept(await SharedMemory.create(key(), 64 * 1024 * 1024));
    expect(before - SharedMemory.freeBytes()).toBeGreaterThanOrEqual(32 * 1024 * 1024);
  });

  it('makes an empty marker for 0 bytes', async () => {
    const memory = kept(await SharedMemory.create(key(), 0));
    expect(memory.byteLength).toBe(0);
    expect(memory.buffer.byteLength).toBe(0);
    expect(SharedMemory.tryRemove(memory.key)).toBe('locked');
  });

  it('is locked until it is closed, and tryRemove touches nothing that is locked', async () => {
    const memory = await SharedMemory.create(key(), PAGE);
    expect(SharedMemory.tryRemove(memory.key)).toBe('locked');
    expect(existsSync(`/dev/shm${memory.key}`)).toBe(true);
    memory.close();
    expect(SharedMemory.tryRemove(memory.key)).toBe('absent');
  });

  it('removes an entry that nobody holds', () => {
    const name = key();
    writeFileSync(`/dev/shm${name}`, 'left behind');
    expect(SharedMemory.tryRemove(name)).toBe('removed');
    expect(SharedMemory.tryRemove(name)).toBe('absent');
  });

  it('locks an entry that nobody holds, and removes it or leaves it', () => {
    const name = key();
    expect(SharedMemory.tryLock(name)).toBe('absent');
    writeFileSync(`/dev/shm${name}`, 'left behind');
    const first = locked(name);
    expect(first.key).toBe(name);
    expect(SharedMemory.tryLock(name)).toBe('locked');
    expect(SharedMemory.tryRemove(name)).toBe('locked');
    first.close();
    first.close();
    first.remove();
    expect(readFileSync(`/dev/shm${name}`, 'utf8')).toBe('left behind');
    const second = locked(name);
    second.remove();
    expect(second.closed).toBe(true);
    expect(existsSync(`/dev/shm${name}`)).toBe(false);
    // The name may be another region's by now.
    writeFileSync(`/dev/shm${name}`, 'new');
    second.remove();
    expect(SharedMemory.tryRemove(name)).toBe('removed');
  });

  it('locks nothing that its creator holds', async () => {
    const memory = kept(await SharedMemory.create(key(), PAGE));
    expect(SharedMemory.tryLock(memory.key)).toBe('locked');
  });

  it('gives up the lock, and leaves the name, when the process that took it ends', async () => {
    const name = key();
    writeFileSync(`/dev/shm${name}`, 'left behind');
    const { stdout } = await run(`console.log(typeof zerohop.SharedMemory.tryLock('${name}'));`);
    expect(stdout.trim()).toBe('object');
    expect(SharedMemory.tryRemove(name)).toBe('removed');
  });

  it('stays usable after unlink, and its key is free again', async () => {
    const memory = kept(await SharedMemory.create(key(), PAGE));
    memory.unlink();
    memory.unlink();
    new Uint8Array(memory.buffer)[0] = 1;
    const second = kept(await SharedMemory.create(memory.key, PAGE));
    memory.close();
    expect(existsSync(`/dev/shm${second.key}`)).toBe(true);
  });

  it('detaches its buffer and unmaps on close', async () => {
    const memory = await SharedMemory.create(key(), PAGE);
    const bytes = new Uint8Array(memory.buffer);
    const inode = ` ${statSync(`/dev/shm${memory.key}`).ino} `;
    const mapped = () => readFileSync('/proc/self/maps', 'utf8').includes(inode);
    expect(mapped()).toBe(true);
    memory.close();
    memory.close();
    expect(memory.closed).toBe(true);
    expect(bytes.byteLength).toBe(0);
    expect(mapped()).toBe(false);
    expect(() => memory.buffer).toThrow(DisposedError);
    expect(existsSync(`/dev/shm${memory.key}`)).toBe(false);
  });

  it('does not unmap under a buffer whose memory was moved by a transfer', async () => {
    const memory = await SharedMemory.create(key(), PAGE);
    new Uint8Array(memory.buffer)[1] = 9;
    const moved = move(memory.buffer);
    memory.close();
    expect(new Uint8Array(moved)[1]).toBe(9);
  });

  it('closes at the end of a using block', async () => {
    let name: string;
    {
      using memory = await SharedMemory.create(key(), PAGE);
      name = memory.key;
    }
    expect(existsSync(`/dev/shm${name}`)).toBe(false);
  });

  it('follows no symbolic link', async () => {
    const { symlinkSync, unlinkSync } = await import('node:fs');
    const name = key();
    symlinkSync('/etc/hostname', `/dev/shm${name}`);
    try {
      expect((await failure(SharedMemory.open(name))).errno).toBe('ELOOP');
      expect(() => SharedMemory.tryRemove(name)).toThrow(/ELOOP/);
      expect(() => SharedMemory.tryLock(name)).toThrow(/ELOOP/);
    } finally {
      unlinkSync(`/dev/shm${name}`);
    }
  });

  it('makes many regions at once', async () => {
    const made = await Promise.all(Array.from({ length: 50 }, (_, i) => SharedMemory.create(key(), PAGE + i)));
    made.forEach((memory, i) => {
      expect(memory.byteLength).toBe(PAGE + i);
      kept(memory);
    });
  });

  it('ends cleanly when the pages cannot be reserved', async () => {
    const name = key();
    // A limit on the size of files (in blocks of 512 or 1024 bytes) fails the reservation, after the name was given.
    const { stdout, stderr } = await run(
      `const error = await zerohop.SharedMemory.create('${name}', 1 << 24).catch((thrown) => thrown);
       console.log(error.code, error.errno, error.call);`,
      {},
      [],
      ['sh', '-c', 'ulimit -f 64; exec "$0" "$@"'],
    );
    expect(stderr).toBe('');
    expect(stdout.trim()).toBe('ERR_SHM_SYSTEM EFBIG posix_fallocate');
    expect(existsSync(`/dev/shm${name}`)).toBe(false);
  });

  // In a mount namespace of its own, where that is allowed: elsewhere /dev/shm can't be made small.
  const isolate = ['unshare', '--map-root-user', '--mount'];
  const isolated = spawnSync(isolate[0] ?? '', [...isolate.slice(1), 'true']).status === 0;
  it.runIf(isolated)('fills a small /dev/shm without SIGBUS', async () => {
    const { stdout, stderr } = await run(
      `const sizes = [3, 3, 3, 3].map((mib) => mib << 20);
       const made = await Promise.allSettled(sizes.map((size, i) => zerohop.SharedMemory.create('/small-' + i, size)));
       for (const { value } of made) if (value) new Uint8Array(value.buffer).fill(1);
       const { readdirSync } = await import('node:fs');
       console.log(JSON.stringify([
         made.map(({ value, reason }) => value ? 'made' : reason.code).sort(),
         readdirSync('/dev/shm').length,
         zerohop.SharedMemory.freeBytes() >> 20,
       ]));`,
      {},
      [],
      [...isolate, 'sh', '-c', 'mount -t tmpfs -o size=8m tmpfs /dev/shm; exec "$0" "$@"'],
    );
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual([['ERR_SHM_FULL', 'ERR_SHM_FULL', 'made', 'made'], 2, 2]);
  });

  it.runIf(isolated)('takes a /dev/shm without a limit as one', async () => {
    const { stdout, stderr } = await run(
      `const memory = await zerohop.SharedMemory.create('/unlimited', 1 << 20);
       console.log(memory.byteLength, zerohop.SharedMemory.freeBytes());`,
      {},
      [],
      [...isolate, 'sh', '-c', 'mount -t tmpfs -o size=0 tmpfs /dev/shm; exec "$0" "$@"'],
    );
    expect(stderr).toBe('');
    expect(stdout.trim()).toBe('1048576 Infinity');
  });
}

function argumentTests(): void {
  const any = SharedMemory as unknown as Record<'create' | 'open', (...args: unknown[]) => Promise<unknown>> & {
    tryRemove(key: unknown): string;
  };

  it.each([undefined, 1, null, {}])('refuses the key %s', async (name) => {
    await expect(any.create(name, 1)).rejects.toThrow(TypeError);
    await expect(any.open(name)).rejects.toThrow(TypeError);
    expect(() => any.tryRemove(name)).toThrow(TypeError);
  });

  it.each(['', '/', 'name', '//name', '/a/b', '/..', '/.', '/a\0b', `/${'x'.repeat(255)}`])(
    'refuses the key %j',
    async (name) => {
      await expect(any.create(name, 1)).rejects.toThrow(RangeError);
      expect(() => any.tryRemove(name)).toThrow(RangeError);
    },
  );

  it.each([-1, 1.5, Number.NaN, 2 ** 53])('refuses the size %s', async (size) => {
    await expect(any.create(key(), size)).rejects.toThrow(RangeError);
  });

  it('words errors as sharp does', async () => {
    await expect(any.create(key(), '5')).rejects.toThrow(
      'Expected integer of at least 0 for byteLength but received 5 of type string',
    );
    await expect(any.create(key(), 1, { mode: 0o1777 })).rejects.toThrow('Expected integer between 0 and 511 for mode');
    await expect(any.open('/x', { byteOffset: -1 })).rejects.toThrow(RangeError);
    await expect(any.open('/x', { byteLength: 0 })).rejects.toThrow(RangeError);
    const noOptions = 'Expected object for options but received null of type object';
    await expect(any.create(key(), 1, null)).rejects.toThrow(noOptions);
    await expect(any.open('/x', null)).rejects.toThrow(noOptions);
  });
}
