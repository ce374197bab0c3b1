import { describeTier } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { PERSONALITIES, type Version } from '../../src/personality.js';
import { LEAST_IN_PLACE } from '../../src/regions/system-memory.js';
import { numberedPages, open, outcome, PAGE, read } from '../support/region-table.js';
import { ShmObject } from '../support/shm-object.js';

const ALL: readonly Version[] = ['2.48', '2.51', '2.53', '2.68'];
const MAX = 2n ** 64n - 1n;

describeTier(
  'contract',
  'system regions',
  () => {
    test.each(ALL)('%s: texts of registering', async (version) => {
      const { register } = open(version);
      const { key } = new ShmObject(2 * PAGE);
      const failed = (rest: string) => `INVALID_ARG failed to register shared memory region 'r': ${rest}`;
      const space = 'unable to process address space';
      for (const [offset, byteSize, text] of [
        [0n, 2n * BigInt(PAGE) + 1n, failed('invalid args')],
        [BigInt(PAGE), 2n * BigInt(PAGE), failed('invalid args')],
        [1n, 10n, failed(`${space}Invalid argument`)],
        [0n, 0n, failed(`${space}Invalid argument`)],
        // The sum wraps past the check of the size.
        [BigInt(PAGE), MAX, failed(`${space}Cannot allocate memory`)],
        [2n ** 62n, 2n ** 63n + 2n ** 62n, failed(`${space}Cannot allocate memory`)],
        [2n ** 64n - BigInt(PAGE), 2n * BigInt(PAGE), failed(`${space}Value too large for defined data type`)],
      ] as const) {
        expect(await outcome(() => register('r', key, byteSize, offset)), `${offset} ${byteSize}`).toBe(text);
      }
      expect(await outcome(() => register('r', '/zerohop-no-such-key', 8))).toBe(
        "INTERNAL Unable to open shared memory region: '/zerohop-no-such-key'",
      );
      expect(await outcome(() => register('r', '/x/y', 8))).toBe(
        "INTERNAL Unable to open shared memory region: '/x/y'",
      );
      expect(await outcome(() => register('r', key, 8))).toBe('OK');
      expect(await outcome(() => register('r', key, 8))).toBe(
        "ALREADY_EXISTS shared memory region 'r' already in manager",
      );
    });

    test('keys: any number of leading slashes, and nothing after a NUL', async () => {
      const { regions, register } = open();
      const { key } = new ShmObject(PAGE, 5);
      const keys = [key.slice(1), `//${key}`, `${key}\0x`];
      for (const [index, other] of keys.entries()) await register(`r${index}`, other, PAGE);
      expect(regions.systemStatus('').map((status) => status.key)).toEqual(keys);
      expect(read(regions.use('r1', 0n, 1n).read())[0]).toBe(5);
    });

    test.each(['2.48', '2.51', '2.53'] as const)('%s: keys are not looked at', async (version) => {
      const { register } = open(version);
      for (const key of ['', '///']) {
        expect(await outcome(() => register('r', key, 8))).toBe(
          `INTERNAL Unable to open shared memory region: '${key}'`,
        );
      }
    });

    test('2.68: keys of slashes only, and those of the Python backend, are refused', async () => {
      const { register } = open('2.68');
      const refused = 'INVALID_ARG cannot register shared memory region';
      for (const key of ['', '///']) {
        expect(await outcome(() => register('r', key, 8))).toBe(`${refused} 'r' - invalid shm key '${key}'`);
      }
      const prefix = 'triton_python_backend_shm_region_';
      for (const key of [`${prefix}1`, `/${prefix}1`]) {
        expect(await outcome(() => register('r', key, 8))).toBe(
          `${refused} 'r' with key '${key}' as the key contains the reserved prefix '${prefix}'`,
        );
      }
    });

    test('the name "" is taken, listed and used, and only unregister-all removes it', async () => {
      const { regions, register } = open();
      const { key } = new ShmObject(PAGE, 4);
      await register('', key, PAGE);
      expect(await outcome(() => register('', key, PAGE))).toBe(
        "ALREADY_EXISTS shared memory region '' already in manager",
      );
      expect(regions.systemStatus('')).toEqual([{ name: '', key, offset: 0n, byteSize: BigInt(PAGE) }]);
      const use = regions.use('', 0n, 1n);
      expect(read(use.read())[0]).toBe(4);
      use.release();
      regions.unregisterSystem('');
      expect(regions.systemStatus('')).toEqual([]);
    });

    test('status: in the order of names, NOT_FOUND for an unknown one; unregistering one is OK', async () => {
      const { regions, register } = open();
      for (const name of ['b', 'é', 'a', 'B']) await register(name, new ShmObject(PAGE).key, PAGE);
      expect(regions.systemStatus('').map(({ name }) => name)).toEqual(['B', 'a', 'b', 'é']);
      expect(regions.cudaStatus('')).toEqual([]);
      expect(await outcome(() => regions.systemStatus('x'))).toBe(
        "NOT_FOUND Unable to find system shared memory region: 'x'",
      );
      expect(await outcome(() => regions.cudaStatus('x'))).toBe(
        "NOT_FOUND Unable to find cuda shared memory region: 'x'",
      );
      expect(await outcome(() => open('2.48').regions.cudaStatus('x'))).toBe(
        "NOT_FOUND Unable to find system shared memory region: 'x'",
      );
      expect(await outcome(() => regions.cudaStatus('a'))).toBe(
        "NOT_FOUND The region named 'a' is registered as system shared memory, not CUDA shared memory",
      );
      regions.unregisterSystem('x');
      await regions.unregisterCuda('a');
      expect(regions.systemStatus('')).toHaveLength(4);
      regions.unregisterSystem('a');
      expect(regions.systemStatus('')).toHaveLength(3);
    });

    test('extents of uses, as a real server checks them', async () => {
      const { regions, register } = open();
      const size = 65536n;
      await register('a', new ShmObject(Number(size)).key, size);
      const offset = "INVALID_ARG Invalid offset for shared memory region: 'a'";
      const extent = "INVALID_ARG Invalid offset + byte size for shared memory region: 'a'";
      for (const [from, length, expected] of [
        [0n, -1n, extent],
        [1n, -1n, extent],
        // From here on the sum wraps and passes.
        [2n, -1n, 'OK'],
        [5n, -3n, 'OK'],
        [1n, 0n, 'OK'],
        [0n, 0n, extent],
        [size - 1n, 0n, 'OK'],
        [size - 1n, 1n, 'OK'],
        [size, 0n, offset],
        [49152n, 16384n, 'OK'],
        [49153n, 16384n, extent],
        [-1n, 16384n, offset],
      ] as const) {
        expect(await outcome(() => regions.use('a', from, length).release()), `${from} ${length}`).toBe(expected);
      }
      expect(await outcome(() => regions.use('x', 0n, 1n))).toBe("NOT_FOUND Unable to find shared memory region: 'x'");
      const use = regions.use('a', 2n, -1n);
      expect(use.byteSize).toBe(MAX);
      await use.write(Uint8Array.of(9));
      expect(read(regions.use('a', 2n, 1n).read())[0]).toBe(9);
    });

    test('2.68: an extent that overflows has a text of its own', async () => {
      const { regions, register } = open('2.68');
      await register('a', new ShmObject(PAGE).key, PAGE);
      expect(await outcome(() => regions.use('a', 2n, -1n))).toBe(
        `INVALID_ARG Integer overflow detected: byte_size (${MAX}) + offset (2) exceeds maximum value (${MAX}) for region 'a'`,
      );
    });

    test.each(['2.48', '2.51', '2.53'] as const)(
      '%s: the offset of a registration is applied twice, and what lies outside kills the server',
      async (version) => {
        const { regions, register, crashes } = open(version);
        const object = new ShmObject(numberedPages(16 * PAGE));
        await register('a', object.key, 8 * PAGE, PAGE);
        expect(regions.systemStatus('a')).toMatchObject([{ offset: BigInt(PAGE) }]);
        expect(read(regions.use('a', 0n, 1n).read())[0]).toBe(2);
        await regions.use('a', 1n, 1n).write(Uint8Array.of(99));
        expect(object.bytes()[2 * PAGE + 1]).toBe(99);
        // Accepted up to the end of the registered part in the object, which is one page behind that of the mapping.
        const last = regions.use('a', BigInt(8 * PAGE), 1n);
        await expect(async () => last.read()).rejects.toThrow('SIGSEGV');
        await expect(async () => last.write(Uint8Array.of(1))).rejects.toThrow('SIGSEGV');
        // A process dies once.
        expect(crashes).toEqual([expect.stringContaining('SIGSEGV')]);
        expect(await outcome(() => regions.use('a', BigInt(9 * PAGE), 1n))).toContain('Invalid offset for');
      },
    );

    test('2.68: the offset of a registration is applied once', async () => {
      const { regions, register, crashes } = open('2.68');
      await register('a', new ShmObject(numberedPages(4 * PAGE)).key, PAGE, PAGE);
      expect(read(regions.use('a', 0n, 1n).read())[0]).toBe(1);
      await expect(async () => regions.use('a', BigInt(PAGE), 1n).read()).rejects.toThrow('SIGSEGV');
      expect(crashes).toHaveLength(1);
    });

    test('a second name for one key is refused, or gets the object of a registration that failed', async () => {
      const { regions, register } = open();
      const first = new ShmObject(PAGE, 1);
      const other = new ShmObject(PAGE, 2);
      await register('a', first.key, PAGE);
      expect(await outcome(() => register('b', first.key, PAGE))).toBe(
        `INTERNAL Invalid shared memory region: '${first.key}'`,
      );
      expect(await outcome(() => register('x', other.key, PAGE + 1))).toContain('invalid args');
      await register('b', first.key, PAGE);
      expect(regions.systemStatus('b')).toMatchObject([{ key: first.key }]);
      const wrong = regions.use('b', 0n, 1n);
      expect(read(wrong.read())[0]).toBe(2);
      wrong.release();
      // The leaked descriptor is closed by that, and with the first name gone all is well.
      expect(await outcome(() => register('c', first.key, PAGE))).toContain('Invalid shared memory region');
      regions.unregisterSystem('');
      await register('c', first.key, PAGE);
      expect(read(regions.use('c', 0n, 1n).read())[0]).toBe(1);
    });

    test('clear: nothing is left, reads of what was in flight throw, its writes are lost', async () => {
      const { regions, register, crashes } = open();
      const object = new ShmObject(PAGE, 1);
      await register('a', object.key, PAGE);
      await register('large', new ShmObject(LEAST_IN_PLACE).key, LEAST_IN_PLACE);
      const view = regions.use('large', 0n, BigInt(LEAST_IN_PLACE)).view();
      const use = regions.use('a', 0n, 4n);
      await regions.clear();
      expect(regions.systemStatus('')).toEqual([]);
      expect(view?.byteLength).toBe(0);
      await use.write(Uint8Array.of(9));
      expect(await outcome(() => use.read())).toContain('is gone');
      use.release();
      expect(crashes).toEqual([]);
      expect(object.bytes()[0]).toBe(1);
      await register('a', object.key, PAGE);
      expect(read(regions.use('a', 0n, 1n).read())[0]).toBe(1);
    });

    test('handed over to another process: all that is registered stays, and nothing of the requests of before', async () => {
      const { regions, register, crashes } = open('2.53');
      const object = new ShmObject(PAGE, 1);
      await register('a', object.key, PAGE);
      await register('leaving', new ShmObject(PAGE).key, PAGE);
      const [use, last] = [regions.use('a', 0n, 4n), regions.use('leaving', 0n, 4n)];
      regions.unregisterSystem('leaving');
      regions.handOver();
      expect(regions.systemStatus('').map(({ name }) => name)).toEqual(['a']);
      await use.write(Uint8Array.of(9));
      await last.write(Uint8Array.of(9));
      expect(object.bytes()[0]).toBe(1);
      expect(await outcome(() => use.read())).toContain('is gone');
      const next = regions.use('a', 0n, 4n);
      use.release();
      regions.unregisterSystem('a');
      expect(regions.systemStatus('')).toHaveLength(1);
      expect(read(next.read())[0]).toBe(1);
      next.release();
      expect(regions.systemStatus('')).toEqual([]);
      expect(crashes).toEqual([]);
    });

    test('registrations at the same moment come one after the other', async () => {
      const { regions, register } = open();
      const { key } = new ShmObject(PAGE);
      const both = await Promise.all([
        outcome(() => register('a', key, PAGE)),
        outcome(() => register('a', key, PAGE)),
      ]);
      expect(both).toEqual(['OK', "ALREADY_EXISTS shared memory region 'a' already in manager"]);
      expect(regions.systemStatus('')).toHaveLength(1);
    });

    test('2.68: off unless allowed; status works', async () => {
      const { regions, register } = open('2.68', { clientSharedMemory: PERSONALITIES['2.68'].clientSharedMemory });
      const text =
        "UNSUPPORTED Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.";
      expect(await outcome(() => register('a', new ShmObject(PAGE).key, PAGE))).toBe(text);
      expect(await outcome(() => regions.unregisterSystem('a'))).toBe(text);
      expect(await outcome(() => regions.unregisterCuda(''))).toBe(text);
      const cuda = { name: 'c', rawHandle: new Uint8Array(64), deviceId: 0n, byteSize: 8n };
      expect(await outcome(() => regions.registerCuda(cuda))).toBe(text);
      expect(regions.systemStatus('')).toEqual([]);
      expect(await outcome(() => regions.use('a', 0n, 1n))).toContain('Unable to find shared memory region');
    });
  },
  { needs: ['addon'] },
);
