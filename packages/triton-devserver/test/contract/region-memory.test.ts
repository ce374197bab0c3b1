import { readFileSync } from 'node:fs';
import { describeTier } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { openObject } from '../../src/regions/descriptors.js';
import { LEAST_IN_PLACE, SystemMemory } from '../../src/regions/system-memory.js';
import { MIB, numberedPages, open, PAGE, read } from '../support/region-table.js';
import { ShmObject } from '../support/shm-object.js';

describeTier(
  'contract',
  'the memory of system regions',
  () => {
    test('are read and written, also after the key is gone', async () => {
      const { regions, register } = open();
      const object = new ShmObject(2 * PAGE, 1);
      await register('a', object.key, 2 * PAGE);
      const input = regions.use('a', 0n, 8n);
      const bytes = read(input.read());
      expect([...bytes]).toEqual(Array(8).fill(1));
      object.fill(7);
      // A copy: only what is large is shown in place.
      expect([...bytes]).toEqual(Array(8).fill(1));
      expect(input.view()).toBeUndefined();
      const output = regions.use('a', BigInt(PAGE), 8n);
      await output.write(Uint8Array.of(1, 2, 3));
      expect([...object.bytes().subarray(PAGE - 1, PAGE + 4)]).toEqual([7, 1, 2, 3, 7]);
      object.unlink();
      expect([...read(output.read())]).toEqual([1, 2, 3, 7, 7, 7, 7, 7]);
      input.release();
      output.release();
      regions.unregisterSystem('a');
      await expect(register('b', object.key, 8)).rejects.toThrow(
        `Unable to open shared memory region: '${object.key}'`,
      );
    });

    test('from a mebibyte on a part is shown in place, unless its object lacks pages', async () => {
      const { regions, register } = open();
      const object = new ShmObject(LEAST_IN_PLACE + PAGE, 1);
      await register('a', object.key, LEAST_IN_PLACE + PAGE);
      const use = regions.use('a', 8n, BigInt(LEAST_IN_PLACE));
      const view = use.view();
      expect(view?.byteLength).toBe(LEAST_IN_PLACE);
      object.fill(7);
      expect(view?.every((byte) => byte === 7)).toBe(true);
      expect(use.copyOf(new Uint8Array(8))).toBeUndefined();
      const copy = use.copyOf(view?.subarray(5, 9) ?? new Uint8Array(0));
      object.fill(8);
      expect([copy, view?.[5]]).toEqual([Uint8Array.of(7, 7, 7, 7), 8]);
      expect(regions.use('a', 8n, BigInt(LEAST_IN_PLACE - 1)).view()).toBeUndefined();
      const sparse = new ShmObject(0);
      sparse.shrink(LEAST_IN_PLACE);
      await register('sparse', sparse.key, LEAST_IN_PLACE);
      expect(regions.use('sparse', 0n, BigInt(LEAST_IN_PLACE)).view()).toBeUndefined();
    });

    test('a view that lost its memory is an error where it is written or copied, not the end of this process', async () => {
      const { regions, register, crashes } = open();
      const source = new ShmObject(2 * LEAST_IN_PLACE, 1);
      await register('a', source.key, 2 * LEAST_IN_PLACE);
      await register('b', new ShmObject(2 * LEAST_IN_PLACE).key, 2 * LEAST_IN_PLACE);
      const input = regions.use('a', 0n, BigInt(2 * LEAST_IN_PLACE));
      const view = input.view() ?? new Uint8Array(0);
      source.shrink(LEAST_IN_PLACE);
      const output = regions.use('b', 0n, BigInt(2 * LEAST_IN_PLACE));
      await expect(async () => output.write(view)).rejects.toThrow('SIGBUS');
      await expect(async () => input.copyOf(view)).rejects.toThrow('SIGBUS');
      await expect(async () => input.view()).rejects.toThrow('SIGBUS');
      expect(crashes).toEqual([expect.stringContaining('SIGBUS')]);
    });

    test('a part is written over itself, moved to either side', async () => {
      const { regions, register } = open();
      const length = LEAST_IN_PLACE + 10;
      for (const [from, to] of [
        [PAGE + 5, 3],
        [3, PAGE + 5],
        [3, 3],
        [0, length],
      ] as const) {
        const object = new ShmObject(numberedPages(3 * LEAST_IN_PLACE));
        const name = `${from} ${to}`;
        await register(name, object.key, 3 * LEAST_IN_PLACE);
        const before = object.bytes().subarray(from, from + length);
        const view = regions.use(name, BigInt(from), BigInt(length)).view() ?? new Uint8Array(0);
        await regions.use(name, BigInt(to), BigInt(length)).write(view);
        expect(
          object
            .bytes()
            .subarray(to, to + length)
            .equals(before),
          name,
        ).toBe(true);
      }
    });

    test('a page that /dev/shm has no room for kills the server, not this process', async () => {
      const object = openObject(new ShmObject(PAGE).key);
      if (object === undefined) throw new Error('Not opened');
      const full = () => {
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      };
      const memory = await SystemMemory.open({ ...object, write: full }, 0n, BigInt(PAGE));
      onTestFinished(() => memory?.close());
      expect(() => memory?.write(0n, Uint8Array.of(1))).toThrow('SIGBUS');
    });

    test('a 99.5 MB one costs no memory of its own', async () => {
      const byteLength = 99_532_800;
      const object = new ShmObject(byteLength, 3);
      const copy = Buffer.alloc(8);
      const { regions, register } = open();
      const anonymous = () => Number(/RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
      await register('small', new ShmObject(PAGE).key, PAGE);
      const before = anonymous();
      await register('big', object.key, byteLength);
      const use = regions.use('big', 0n, BigInt(byteLength));
      const bytes = use.view() ?? new Uint8Array(0);
      await use.write(bytes);
      copy.set(bytes.subarray(-8));
      expect([...copy]).toEqual(Array(8).fill(3));
      expect(anonymous() - before).toBeLessThan(5_000_000);
      use.release();
    });

    test('an object that its owner shrinks kills the server, not this process', async () => {
      const { regions, register, crashes } = open();
      const object = new ShmObject(4 * PAGE, 1);
      await register('a', object.key, 4 * PAGE);
      const use = regions.use('a', 0n, BigInt(4 * PAGE));
      object.shrink(10);
      await expect(async () => use.read()).rejects.toThrow('SIGBUS');
      await expect(async () => use.write(new Uint8Array(PAGE + 1))).rejects.toThrow('SIGBUS');
      expect(crashes).toEqual([expect.stringContaining('SIGBUS')]);
      // The page that still holds its end works.
      expect([...read(regions.use('a', 8n, 4n).read())]).toEqual([1, 1, 0, 0]);
      object.shrink(0);
      await expect(async () => regions.use('a', 0n, 1n).read()).rejects.toThrow('SIGBUS');
    });

    test('the rest of the last page reads as zeros and keeps nothing', async () => {
      const { regions, register, crashes } = open();
      const object = new ShmObject(2 * PAGE + 10, 1);
      await register('a', object.key, PAGE + 10, PAGE);
      // The offset twice: from byte 2 * PAGE + 8 of an object that ends two bytes later.
      const use = regions.use('a', 8n, 4n);
      expect([...read(use.read())]).toEqual([1, 1, 0, 0]);
      await use.write(Uint8Array.of(5, 6, 7, 8));
      expect([...object.bytes().subarray(-3)]).toEqual([1, 5, 6]);
      expect(crashes).toEqual([]);
    });

    test('an object larger than one mapping can show is mapped in parts', async () => {
      const object = new ShmObject(numberedPages(9 * MIB + 10));
      const opened = openObject(object.key);
      if (opened === undefined) throw new Error('Not opened');
      const memory = await SystemMemory.open(opened, BigInt(MIB), BigInt(8 * MIB + 10), 4 * MIB);
      if (memory === undefined) throw new Error('Not mapped');
      onTestFinished(() => memory.close());
      const whole = object.bytes().subarray(MIB);
      for (const [start, end] of [
        [0, 1],
        [MIB, 3 * MIB],
        [8 * MIB, 8 * MIB + 10],
        [0, 4 * MIB],
        [1, 8 * MIB + 10],
      ] as const) {
        expect(Buffer.compare(memory.read(BigInt(start), BigInt(end - start)), whole.subarray(start, end))).toBe(0);
      }
      // Up to half of a part, it is in place.
      const view = memory.view(BigInt(3 * MIB + 1), BigInt(2 * MIB));
      expect(view?.buffer.byteLength).toBe(4 * MIB);
      expect(view && Buffer.compare(view, whole.subarray(3 * MIB + 1, 5 * MIB + 1))).toBe(0);
      expect(memory.view(1n, BigInt(4 * MIB))).toBeUndefined();
      memory.write(5n, Buffer.alloc(8 * MIB, 200));
      expect(
        object
          .bytes()
          .subarray(MIB + 5, -5)
          .every((byte) => byte === 200),
      ).toBe(true);
      expect([...object.bytes().subarray(-6)]).toEqual([200, 0, 0, 0, 0, 0]);
    });
  },
  { needs: ['addon'] },
);
