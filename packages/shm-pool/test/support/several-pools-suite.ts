/** Several pools on one client, on every kind of memory, against a devserver in another process. */

import { describe, expect, test } from 'vitest';
import type { TensorPool } from '../../src/index.js';
import { code } from './pool-suite.js';
import { type RequestSuiteOptions, usePools } from './request-suite.js';
import { expectSame } from './same.js';

export function describeSeveralPools(suite: RequestSuiteOptions): void {
  const { transport } = suite;

  describe(`several pools on '${transport}'`, () => {
    const { open, client } = usePools(suite);

    const picture = (pool: TensorPool, seed: number) =>
      pool.run(async (lease) => {
        const block = lease.input<'FP32'>('IN');
        const values = new Float32Array(block.byteLength / 4).fill(seed);
        await block.write(values);
        expectSame(await (await lease.infer()).output<'FP32'>('OUT').read(), values);
      });

    const sized = (pool: TensorPool, seed: number) =>
      pool.run(async (lease) => {
        await lease.input('IN').write(new Float32Array(4).fill(seed));
        const reply = await lease.infer({ parameters: { a: 1 + 1009 * (seed % 20) } });
        expectSame(await reply.output<'FP32'>('A').read(), new Float32Array(1 + 1009 * (seed % 20)).fill(seed));
      });

    test('of two models, and two of one model, at once: each request has its own answer', async () => {
      const shapes = (...shape: number[]) => ({ shapes: { IN: shape, OUT: shape } });
      const small = await open('pictures', { slots: 2, name: 'small', ...shapes(1, 3, 4, 4) });
      const large = await open('pictures', { slots: 3, name: 'large', ...shapes(4, 3, 16, 16) });
      const sizes = await open('sizes', { slots: 2 });
      const rounds = Array.from({ length: 40 }, (_, seed) => [
        picture(small, seed),
        picture(large, -seed),
        sized(sizes, seed),
      ]);
      await Promise.all(rounds.flat());

      const listed = async () => {
        const { systemSharedMemory, cudaSharedMemory } = client();
        return (await systemSharedMemory.status()).length + (await cudaSharedMemory.status()).length;
      };
      const factor = transport === 'bytes' ? 0 : 1;
      expect(await listed()).toBe(7 * factor);
      expect(small.stats).toMatchObject({ size: 2, idle: 2, registerCalls: 2 * factor });
      expect(large.stats).toMatchObject({ size: 3, idle: 3, registerCalls: 3 * factor });

      // The end of one is nothing to the others.
      expect(await small.close()).toEqual({ unproven: [] });
      await expect(picture(small, 1)).rejects.toThrow(code('ERR_DISPOSED'));
      await Promise.all([picture(large, 5), sized(sizes, 6)]);
      expect(await listed()).toBe(5 * factor);
    });
  });
}
