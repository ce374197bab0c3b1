import { join } from 'node:path';
import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { type ModelStatistics, TritonClient } from '@zerohop/triton-client';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type InferOptions, type Lease, type PoolOptions, TensorPool, type Transport } from '../../src/index.js';
import { expectSame } from '../support/same.js';

const FIRST = 64 * 1024;
/** Elements of FP32 in twice what an output of unknown size gets at first. */
const TWICE = FIRST / 2;
const WIDTH = 64;

/** Each request's own: no other seed gives a number of it. */
const pattern = (count: number, seed: number) =>
  Float32Array.from({ length: count }, (_, index) => seed + index / 2048);

/** `ofSeveral`: executions with more rows than one of the requests here has, which is at most four. */
const statisticsOf = ([model]: readonly ModelStatistics[]) => ({
  inferences: model?.inferenceCount ?? 0,
  executions: model?.executionCount ?? 0,
  ofSeveral: (model?.batches ?? [])
    .filter(({ batchSize }) => batchSize > 4)
    .reduce((sum, { computeInfer }) => sum + computeInfer.count, 0),
});

describeTier('triton', 'requests of their own shapes and sizes', () => {
  describe.for(['2.51', '2.48'] as const)('server %s', (version) => {
    let triton: LocalTriton;
    let client: TritonClient;

    beforeAll(async () => {
      triton = await privateTriton({ version, modelRepository: join(import.meta.dirname, 'models') });
      client = new TritonClient(triton.grpcUrl);
    });

    afterAll(async () => {
      await client.close();
      await triton.stop();
    });

    async function open(model: string, options: Partial<PoolOptions> = {}): Promise<TensorPool> {
      const pool = await TensorPool.open(client, { model, slots: 1, transport: 'system', ...options });
      onTestFinished(async () => {
        expect(await pool.close()).toEqual({ unproven: [] });
      });
      return pool;
    }

    async function sized(lease: Lease, value: number, sizes: Record<string, number>, options: InferOptions = {}) {
      await lease.input('IN').write(new Float32Array(4).fill(value));
      const reply = await lease.infer({ ...options, parameters: sizes });
      expectSame(await reply.output<'FP32'>('A').read(), new Float32Array(sizes.a ?? 1).fill(value));
      expectSame(await reply.output<'FP32'>('B').read(), new Float32Array(sizes.b ?? 1).fill(value + 0.5));
      const text = await reply.output<'BYTES'>('TEXT').read();
      expect(new DataView(text.buffer, text.byteOffset).getUint32(0, true)).toBe(sizes.letters ?? 1);
      return { runs: reply.runs, run: (await reply.output<'INT32'>('RUN').read())[0] ?? 0 };
    }

    test('outputs of unknown size grow, one after the other; the model ran as often as the reply says', async () => {
      const pool = await open('sizes');
      await pool.run(async (lease) => {
        const { run: before } = await sized(lease, 1, { a: 5 });
        expect(await sized(lease, 2, { a: TWICE, b: TWICE + 1, letters: FIRST })).toEqual({ runs: 4, run: before + 4 });
        expect(await sized(lease, 3, { a: TWICE, b: TWICE + 1, letters: FIRST })).toEqual({ runs: 1, run: before + 5 });
      });
      const listed = (await client.systemSharedMemory.status()).map(({ name }) => name);
      expect(listed).toHaveLength(1);
      expect(pool.stats).toMatchObject({ registerCalls: 4, reregistrations: 0, retired: 0, idle: 1 });
    });

    test('one slot pays for all: the others have as much room before their next request', async () => {
      const pool = await open('sizes', { slots: 4 });
      await pool.run((lease) => sized(lease, 1, { a: TWICE }));
      const answers = await Promise.all(
        [1, 2, 3, 4].map((value) => pool.run((lease) => sized(lease, value, { a: TWICE }))),
      );
      expect(answers.map(({ runs }) => runs)).toEqual([1, 1, 1, 1]);
      expect(pool.stats).toMatchObject({ registerCalls: 8, retired: 0 });
    });

    test('beyond maxOutputBytes the request fails with what it needs, and the lease lives', async () => {
      const pool = await open('sizes', { maxOutputBytes: FIRST });
      await pool.run(async (lease) => {
        await expect(lease.infer({ parameters: { a: TWICE } })).rejects.toMatchObject({
          code: 'ERR_OUTPUT_TOO_LARGE',
          message: expect.stringContaining(`byteLength: ${TWICE * 4}`),
        });
        expect((await sized(lease, 4, { a: FIRST / 4 })).runs).toBe(1);
      });
    });

    test('only the outputs that are asked for are made', async () => {
      const pool = await open('sizes');
      await pool.run(async (lease) => {
        await lease.input('IN').write(new Float32Array(4).fill(3));
        const reply = await lease.infer({ outputs: ['B'], parameters: { a: TWICE } });
        expect(reply.runs).toBe(1);
        expectSame(await reply.output<'FP32'>('B').read(), Float32Array.of(3.5));
        expect(() => reply.output('A')).toThrow('was not asked for');
      });
    });

    test.for<Transport>(['system', 'bytes'])('batches of any size up to the maximum on %s', async (transport) => {
      const pool = await open('batches', { transport, shapes: { IN: [16, WIDTH] } });
      const { registerCalls } = pool.stats;
      await pool.run(async (lease) => {
        for (const batch of [1, 16, 7, 2, 16, 1, 3, 4, 5, 6, 8, 9, 10, 7]) {
          const shape = [batch, WIDTH];
          await lease.input('IN', { shape }).write(pattern(batch * WIDTH, batch));
          const output = (await lease.infer({ shapes: { IN: shape } })).output<'FP32'>('OUT');
          expect(output.shape).toEqual(shape);
          expectSame(await output.read(), pattern(batch * WIDTH, batch));
        }
        await expect(lease.infer({ shapes: { IN: [17, WIDTH] } })).rejects.toThrow("the model's max_batch_size 16");
      });
      expect(pool.stats.registerCalls).toBe(registerCalls);
    });

    test('thirty-two leases in flight: the server batches them, and each has its own answer', async () => {
      const pool = await open('batches', { slots: 32, shapes: { IN: [4, WIDTH] } });
      const before = await client.modelStatistics('batches');
      let inFlight = 0;
      let most = 0;
      const together = await Promise.all(
        Array.from({ length: 640 }, (_, seed) =>
          pool.run(async (lease) => {
            const rows = 1 + (seed % 4);
            const shape = [rows, WIDTH];
            const values = pattern(rows * WIDTH, seed + 1);
            await lease.input('IN', { shape }).write(values);
            inFlight += 1;
            most = Math.max(most, inFlight);
            const reply = await lease.infer({ shapes: { IN: shape } });
            inFlight -= 1;
            expectSame(await reply.output<'FP32'>('OUT').read(), values);
            return (await reply.output<'INT32'>('TOGETHER').read())[0] ?? 0;
          }),
        ),
      );
      expect(most).toBe(32);
      expect(Math.max(...together)).toBeGreaterThan(1);
      // The server counts a moment after it has answered.
      const since = statisticsOf(before);
      const counted = async () => {
        const now = statisticsOf(await client.modelStatistics('batches'));
        return {
          inferences: now.inferences - since.inferences,
          executions: now.executions - since.executions,
          ofSeveral: now.ofSeveral - since.ofSeveral,
        };
      };
      await expect.poll(async () => (await counted()).inferences).toBe(640 * 2.5);
      const { executions, ofSeveral } = await counted();
      expect(executions).toBeLessThan(640);
      expect(ofSeveral).toBeGreaterThan(0);
      expect(pool.stats).toMatchObject({ idle: 32, registerCalls: 32, retired: 0 });
    });

    test('several pools on one client: two models, and two pools of one model', async () => {
      const [sizes, small, large] = await Promise.all([
        open('sizes', { slots: 2 }),
        open('batches', { slots: 3, name: 'small' }),
        open('batches', { slots: 2, name: 'large', shapes: { IN: [16, WIDTH] }, transport: 'system' }),
      ]);
      const batch = (pool: TensorPool, seed: number) =>
        pool.run(async (lease) => {
          const { shape } = lease.input('IN');
          const values = pattern((shape[0] ?? 0) * WIDTH, seed);
          await lease.input('IN').write(values);
          expectSame(await (await lease.infer()).output<'FP32'>('OUT').read(), values);
        });
      await Promise.all(
        Array.from({ length: 60 }, (_, seed) =>
          Promise.all([
            sizes.run((lease) => sized(lease, seed, { a: 1 + 997 * seed })),
            batch(small, seed),
            batch(large, seed),
          ]),
        ),
      );
      expect(await client.systemSharedMemory.status()).toHaveLength(7);
      expect(await small.close()).toEqual({ unproven: [] });
      await batch(large, 1);
      await sizes.run((lease) => sized(lease, 2, {}));
      expect(await client.systemSharedMemory.status()).toHaveLength(4);
    });
  });
});
