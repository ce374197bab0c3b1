import { describeTier } from '@zerohop/test-support';
import { describe, expect, test } from 'vitest';
import type { Version } from '../../src/personality.js';
import { open, outcome, PAGE } from '../support/region-table.js';
import { ShmObject } from '../support/shm-object.js';

describeTier(
  'contract',
  'a system region',
  () => {
    describe('unregistered while in use', () => {
      async function used(version: Version) {
        const opened = open(version);
        const object = new ShmObject(PAGE, 1);
        await opened.register('a', object.key, PAGE);
        const input = opened.regions.use('a', 0n, 8n);
        const output = opened.regions.use('a', 8n, 8n);
        return { ...opened, object, input, output };
      }

      test('2.51 refuses until the last use is released', async () => {
        const { regions, register, input, output } = await used('2.51');
        const other = new ShmObject(PAGE);
        await register('b', other.key, PAGE);
        const text = "INTERNAL Cannot unregister shared memory region 'a', it is currently in use.";
        expect(await outcome(() => regions.unregisterSystem('a'))).toBe(text);
        input.release();
        input.release();
        expect(await outcome(() => regions.unregisterSystem('a'))).toBe(text);
        expect(await outcome(() => regions.unregisterSystem(''))).toBe(
          'INTERNAL Failed to unregister the following system shared memory regions: a ,',
        );
        expect(regions.systemStatus('').map(({ name }) => name)).toEqual(['a']);
        // Of the other kind, nothing is in the way.
        await regions.unregisterCuda('');
        output.release();
        regions.unregisterSystem('a');
        expect(regions.systemStatus('')).toEqual([]);
      });

      test.each(['2.53', '2.68'] as const)(
        '%s defers: listed, usable and its name blocked until then',
        async (version) => {
          const { regions, register, object, input, output } = await used(version);
          regions.unregisterSystem('a');
          regions.unregisterSystem('');
          expect(regions.systemStatus('a')).toHaveLength(1);
          expect(await outcome(() => register('a', object.key, PAGE))).toContain('already in manager');
          const later = regions.use('a', 0n, 8n);
          input.release();
          await output.write(Uint8Array.of(3));
          output.release();
          expect(regions.systemStatus('a')).toHaveLength(1);
          expect(object.bytes()[8]).toBe(3);
          later.release();
          expect(regions.systemStatus('')).toEqual([]);
          await register('a', object.key, PAGE);
          const use = regions.use('a', 0n, 8n);
          use.release();
          expect(regions.systemStatus('')).toHaveLength(1);
        },
      );

      test('2.48 does it, and dies when the answer is written', async () => {
        const { regions, object, output, crashes } = await used('2.48');
        regions.unregisterSystem('a');
        expect(regions.systemStatus('')).toEqual([]);
        await expect(async () => output.write(Uint8Array.of(1))).rejects.toThrow('SIGSEGV');
        expect(crashes).toHaveLength(1);
        expect(object.bytes()[8]).toBe(1);
      });

      test('2.48 writes into another region that was registered meanwhile and is as large', async () => {
        const { regions, register, output, crashes } = await used('2.48');
        const larger = new ShmObject(2 * PAGE);
        const victim = new ShmObject(PAGE);
        regions.unregisterSystem('a');
        await register('larger', larger.key, 2 * PAGE);
        await register('victim', victim.key, PAGE - 1);
        await output.write(Uint8Array.of(42));
        expect(victim.bytes()[8]).toBe(42);
        expect(larger.bytes()[8]).toBe(0);
        expect(crashes).toEqual([]);
        output.release();
        expect(regions.systemStatus('')).toHaveLength(2);
      });
    });
  },
  { needs: ['addon'] },
);
