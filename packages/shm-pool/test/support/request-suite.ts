/** Requests with shapes and outputs of their own, on every kind of memory, against a devserver in another process. */

import { readdirSync } from 'node:fs';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type InferOptions, type Lease, type PoolOptions, TensorPool, type Transport } from '../../src/index.js';
import { ours } from './names.js';
import { code } from './pool-suite.js';
import { expectSame } from './same.js';
import { startTensorServer, type TensorServer } from './tensor-server.js';

export interface RequestSuiteOptions {
  readonly transport: Transport;
  readonly options?: Partial<PoolOptions>;
  /** Options of the devserver. */
  readonly server?: object;
}

/** An opened pool is closed, and has left nothing, at the end of the test. */
export function usePools({ transport, options: always = {}, server: serverOptions = {} }: RequestSuiteOptions) {
  let server: TensorServer;
  let client: TritonClient;
  let pools: TensorPool[] = [];

  beforeAll(async () => {
    server = await startTensorServer(serverOptions);
  });

  afterAll(() => server.end());

  beforeEach(() => {
    client = new TritonClient(server.grpcUrl);
    pools = [];
  });

  afterEach(async () => {
    for (const pool of pools) expect(await pool.close()).toEqual({ unproven: [] });
    expect(await client.systemSharedMemory.status()).toEqual([]);
    expect(await client.cudaSharedMemory.status()).toEqual([]);
    await client.close();
    expect(readdirSync('/dev/shm').filter(ours)).toEqual([]);
  });

  return {
    open: async (model: string, options: Partial<PoolOptions> = {}) => {
      const pool = await TensorPool.open(client, { model, slots: 1, transport, ...always, ...options });
      pools.push(pool);
      return pool;
    },
    client: () => client,
  };
}

/** Numbers that no other shape or seed gives. */
const values = (count: number, seed: number) => Float32Array.from({ length: count }, (_, index) => seed + index / 1024);

/** Writes a picture of that shape, and expects its copy back. */
async function copies(lease: Lease, shape: readonly number[], seed: number): Promise<void> {
  const count = shape.reduce((product, dimension) => product * dimension, 1);
  const block = lease.input('IN', { shape });
  expect(block).toMatchObject({ shape, byteLength: count * 4 });
  await block.write(values(count, seed));
  const reply = await lease.infer({ shapes: { IN: shape } });
  const output = reply.output<'FP32'>('OUT');
  expect(output).toMatchObject({ shape, byteLength: count * 4 });
  expectSame(await output.read(), values(count, seed));
  expect(reply.output('SUM').shape).toEqual([shape[0], 1]);
  expect(reply.runs).toBe(1);
}

export function describeRequests(suite: RequestSuiteOptions): void {
  const { transport } = suite;

  describe(`requests of their own shape on '${transport}'`, () => {
    const { open, client } = usePools(suite);
    const MAXIMUM = [4, 3, 8, 16];
    const pictures = (options: Partial<PoolOptions> = {}) =>
      open('pictures', { shapes: { IN: MAXIMUM, OUT: MAXIMUM }, ...options });

    test('any shape that fits the model and the slot, one after the other, and the maximum again', async () => {
      const pool = await pictures();
      const registered = pool.stats.registerCalls;
      await pool.run(async (lease) => {
        const shapes = [
          [1, 3, 2, 2],
          [4, 3, 8, 16],
          [2, 3, 16, 16],
          [3, 3, 1, 1],
          [1, 3, 64, 8],
        ];
        for (const [index, shape] of [...shapes, ...shapes].entries()) await copies(lease, shape, index);
        await lease.input('IN').write(values(4 * 3 * 8 * 16, 100));
        const whole = await lease.infer();
        expect(await whole.output<'FP32'>('OUT').read()).toEqual(values(4 * 3 * 8 * 16, 100));
      });
      expect(pool.stats.registerCalls).toBe(registered);
    });

    test('more shapes than a slot keeps encoded', async () => {
      const pool = await pictures();
      await pool.run(async (lease) => {
        for (let round = 0; round < 3; round += 1) {
          for (let width = 1; width <= 16; width += 1) await copies(lease, [2, 3, 4, width], round * 16 + width);
        }
      });
    });

    test('a request is encoded once for each set of shapes, and in the message anew each time', async () => {
      let prepared = 0;
      const { prepare } = client();
      client().prepare = function counted(this: TritonClient, ...request) {
        prepared += 1;
        return prepare.apply(this, request);
      };
      const pool = await pictures();
      await pool.run(async (lease) => {
        for (let round = 0; round < 3; round += 1) {
          await copies(lease, [1, 3, 4, 4], round);
          await copies(lease, [2, 3, 4, 4], round);
        }
        await lease.infer({ shapes: { IN: [2, 3, 4, 4] }, outputs: ['SUM'] });
        await lease.infer();
      });
      // The whole, two shapes, and one of them with fewer outputs.
      expect(prepared).toBe(transport === 'bytes' ? 0 : 4);
    });

    test('shapes that do not fit are refused in words, before anything is sent, and the lease lives', async () => {
      const pool = await pictures();
      const lease = await pool.acquire();
      const ran = client().stats.requests;
      const refusals: readonly [unknown, string | RegExp][] = [
        [[1, 3, 8], 'Expected a shape that fits [-1, 3, -1, -1]'],
        [[1, 4, 8, 8], 'Expected a shape that fits [-1, 3, -1, -1]'],
        [[5, 3, 2, 2], "Expected at most the model's max_batch_size 4"],
        [[4, 3, 8, 17], 'Expected a shape of at most 6144 bytes, those of [4, 3, 8, 16],'],
        [[1, 3, 2 ** 30, 2 ** 30], 'Expected a shape of at most 6144 bytes'],
        [[1, 3, 0, 4], 'Expected array of positive integers'],
        [[1, 3, 1.5, 4], 'Expected array of positive integers'],
        [Object.assign([1, 3, 8], { length: 4 }), 'Expected array of positive integers'],
        ['1,3,4,4', 'Expected array of positive integers'],
      ];
      for (const [shape, message] of refusals) {
        const refused = lease.infer({ shapes: { IN: shape as number[] } });
        await expect(refused).rejects.toThrow(message);
        await expect(refused).rejects.toThrow('shapes.IN');
        expect(() => lease.input('IN', { shape: shape as number[] })).toThrow(message);
      }
      await expect(lease.infer({ shapes: { OUT: [1, 3, 2, 2] } })).rejects.toThrow(code('ERR_UNKNOWN_TENSOR'));
      await expect(lease.infer({ shapes: 5 as never })).rejects.toThrow('Expected object for shapes');
      expect(client().stats.requests).toEqual(ran);
      await copies(lease, [1, 3, 2, 2], 1);
      lease.release();
    });

    test('a block of a shape takes exactly its bytes', async () => {
      const pool = await pictures();
      const lease = await pool.acquire();
      const block = lease.input<'FP32'>('IN', { shape: [1, 3, 2, 2] });
      await expect(block.write(new Float32Array(13))).rejects.toThrow(RangeError);
      await expect(block.read(new Float32Array(11))).rejects.toThrow(RangeError);
      await block.write(values(12, 5));
      expect(await block.read()).toEqual(values(12, 5));
      // The first bytes of the whole.
      expect((await lease.input<'FP32'>('IN').read()).subarray(0, 12)).toEqual(values(12, 5));
      expect(block.memory.byteLength).toBe(48);
      lease.release();
    });

    test('all inputs have one batch, at the opening and in a request; an optional input of BYTES is left out', async () => {
      await expect(open('pairs', { shapes: { X: [2, 2], Y: [3, 1] } })).rejects.toThrow(
        "Expected the batch of input 'X', 2, for shapes.Y[0] but received 3",
      );
      const pool = await open('pairs', { shapes: { X: [8, 2] } });
      expect(pool.input('Y').shape).toEqual([8, 1]);
      expect(() => pool.input('NOTE')).toThrow(code('ERR_UNKNOWN_TENSOR'));
      await pool.run(async (lease) => {
        await expect(lease.infer({ shapes: { X: [3, 2] } })).rejects.toThrow(
          "Expected the batch of input 'X', 3, for shapes.Y[0] but received 8",
        );
        for (let batch = 1; batch <= 8; batch += 1) {
          const shapes = { X: [batch, 2], Y: [batch, 1] };
          await lease.input('X', { shape: shapes.X }).write(values(2 * batch, batch));
          await lease
            .input('Y', { shape: shapes.Y })
            .write(Int32Array.from({ length: batch }, (_, row) => 10 * batch + row));
          const reply = await lease.infer({ shapes });
          expectSame(await reply.output<'FP32'>('X2').read(), values(2 * batch, batch));
          expect([...(await reply.output<'INT32'>('Y2').read())]).toEqual(
            Array.from({ length: batch }, (_, row) => 10 * batch + row),
          );
        }
      });
    });
  });

  describe(`requests for some outputs on '${transport}'`, () => {
    const { open } = usePools(suite);

    test('only these are asked for and answered; another says that it was not asked for', async () => {
      const pool = await open('sizes');
      await pool.run(async (lease) => {
        await lease.input('IN').write(new Float32Array(4).fill(3));
        const reply = await lease.infer({ outputs: ['RUN', 'B'] });
        expectSame(await reply.output<'FP32'>('B').read(), Float32Array.of(3.5));
        expect(() => reply.output('A')).toThrow(code('ERR_UNKNOWN_TENSOR'));
        expect(() => reply.output('A')).toThrow("Output 'A' was not asked for: the request was for 'B', 'RUN'");
        expect(() => reply.output('C')).toThrow("Model 'sizes' has no output 'C'; it has 'A', 'B', 'TEXT', 'RUN'");
        const whole = await lease.infer();
        expect(await whole.output<'FP32'>('A').read()).toEqual(Float32Array.of(3));
      });
    });

    const inBlocks = transport === 'bytes' ? [] : [transport];
    test.for(inBlocks)('an output that was not asked for is not written (%s)', async () => {
      const pool = await open('sizes', { outputs: { A: { byteLength: 64 } } });
      await pool.run(async (lease) => {
        await lease.output('A').write(new Uint8Array(64).fill(7));
        await lease.input('IN').write(new Float32Array(4).fill(3));
        await lease.infer({ outputs: ['B'], parameters: { a: 16 } });
        const left = await lease.output('A').read();
        expect(new Uint8Array(left.buffer)).toEqual(new Uint8Array(64).fill(7));
      });
    });

    test.for<[string, unknown, string]>([
      ['none', [], 'Expected at least one output name for outputs'],
      ['twice the same', ['A', 'A'], 'Expected each output name once for outputs'],
      ['a name alone', 'A', 'Expected array of output names for outputs'],
      ['a name that is none', ['A', 'C'], "Model 'sizes' has no output 'C'"],
    ])('%s: refused before anything is sent, and the lease lives', async ([, outputs, message]) => {
      const pool = await open('sizes');
      await pool.run(async (lease) => {
        const before = await runOf(lease);
        await expect(lease.infer({ outputs: outputs as string[] })).rejects.toThrow(message);
        expect(await runOf(lease)).toBe(before + 1);
      });
    });
  });

  describe(`requests of sequences on '${transport}'`, () => {
    const { open } = usePools(suite);

    test('begin, go on and end by their id, side by side', async () => {
      const pool = await open('counts', { slots: 2 });
      const step = (sequence: InferOptions['sequence']) =>
        pool.run(async (lease) => {
          const reply = await lease.infer(sequence === undefined ? {} : { sequence });
          return (await reply.output<'INT32'>('STEP').read())[0];
        });
      expect(await step({ id: 7, start: true })).toBe(1);
      expect(await step({ id: 'other', start: true })).toBe(1);
      expect(await step({ id: 7n })).toBe(2);
      expect(await step({ id: 7, end: true })).toBe(3);
      expect(await step({ id: 'other', start: false, end: true })).toBe(2);
    });

    test.for<[unknown, string]>([
      [7, 'Expected object for sequence'],
      [{}, 'Expected integer or string for sequence.id'],
      [{ id: 0 }, 'Expected positive integer for sequence.id'],
      [{ id: 1.5 }, 'Expected positive integer for sequence.id'],
      [{ id: '' }, 'for sequence.id'],
      [{ id: 0n }, 'for sequence.id'],
      [{ id: 2n ** 63n }, 'for sequence.id'],
      [{ id: 1, start: 1 }, 'Expected boolean for sequence.start'],
      [{ id: 1, end: 'yes' }, 'Expected boolean for sequence.end'],
    ])('%o is refused, and the lease lives', async ([sequence, message]) => {
      const pool = await open('counts');
      await pool.run(async (lease) => {
        await expect(lease.infer({ sequence: sequence as never })).rejects.toThrow(message);
        const reply = await lease.infer({ sequence: { id: 1, start: true, end: true } });
        expect((await reply.output<'INT32'>('STEP').read())[0]).toBe(1);
      });
    });
  });
}

/** The number of the model's run that answers this request. */
export async function runOf(lease: Lease, options: InferOptions = {}): Promise<number> {
  const reply = await lease.infer({ ...options, outputs: ['RUN'] });
  return (await reply.output<'INT32'>('RUN').read())[0] ?? 0;
}
