/** Slots by handle: what worker threads do with the blocks of leases. For the kinds of memory that threads can share. */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type BlockHandle, openBlock, type PoolOptions, TensorPool } from '../../src/index.js';
import type { FakeTriton } from './fake-triton.js';
import { ours } from './names.js';
import { code, pattern, roundTrip, type SuiteOptions } from './pool-suite.js';

const fixture = fileURLToPath(new URL('../fixtures/block-worker.mjs', import.meta.url));

/** A worker thread on the built package: threads can't load TypeScript. */
export class BlockWorker {
  readonly thread = new Worker(fixture, { execArgv: [], stderr: true });
  /** Resolves when the thread has ended, however it ends. */
  readonly ended: Promise<void>;

  constructor() {
    this.thread.on('error', () => undefined);
    // Not events.once, which is over with the error, before the thread is.
    this.ended = new Promise((resolve) => void this.thread.once('exit', () => resolve()));
    onTestFinished(async () => void (await this.thread.terminate()));
  }

  /** Resolves with the answer; rejects when the thread says so, or ends before. */
  async do(handle: BlockHandle | undefined, work: string, value?: number): Promise<unknown> {
    const answered = once(this.thread, 'message');
    answered.catch(() => undefined);
    this.thread.postMessage({ handle, work, value });
    const gone = this.ended.then(() => {
      throw new Error('the worker has ended');
    });
    const [answer] = (await Promise.race([answered, gone])) as [{ value?: unknown; error?: string; code?: string }];
    if (answer.error !== undefined) throw Object.assign(new Error(answer.error), { code: answer.code });
    return answer.value;
  }
}

export function describeWorkers({ transport, makeServer, options = {} }: SuiteOptions): void {
  describe(`worker threads on blocks of '${transport}'`, () => {
    let server: FakeTriton;
    let pool: TensorPool;
    let entries: number;

    beforeEach(() => {
      server = makeServer();
      entries = readdirSync('/dev/shm').filter(ours).length;
    });

    afterEach(async () => {
      expect(await pool.close()).toEqual({ unproven: [] });
      expect(readdirSync('/dev/shm').filter(ours)).toHaveLength(entries);
    });

    const open = async (slots: number, more: Partial<PoolOptions> = {}) => {
      pool = await TensorPool.open(server, { model: 'identity', slots, transport, ...options, ...more });
      return pool;
    };

    test('write the input and read the output where they lie', async () => {
      await open(1);
      const worker = new BlockWorker();
      for (const value of [1, 2, 3]) {
        await pool.run(async (lease) => {
          await worker.do(lease.input('IN').handle, 'fill', value);
          const reply = await lease.infer();
          expect(await worker.do(reply.output('OUT').handle, 'read')).toEqual(pattern(value));
        });
      }
    });

    test('several at once, each on the lease that it was given', async () => {
      await open(3);
      const workers = [new BlockWorker(), new BlockWorker(), new BlockWorker()];
      await Promise.all(
        workers.map(async (worker, index) => {
          for (let round = 0; round < 20; round += 1) {
            await pool.run(async (lease) => {
              const block = lease.input('IN');
              // Not awaited: the request waits for it.
              block.hold(worker.do(block.handle, 'fill', index * 100 + round));
              const reply = await lease.infer();
              expect(await reply.output<'FP32'>('OUT').read()).toEqual(pattern(index * 100 + round));
            });
          }
        }),
      );
    });

    test('the slot waits for a worker that holds its block: the next lease never sees its late write', async () => {
      await open(1);
      const worker = new BlockWorker();
      for (let round = 0; round < 5; round += 1) {
        const lease = await pool.acquire();
        const block = lease.input('IN');
        block.hold(worker.do(block.handle, 'fillLate', -1));
        lease.release();
        expect(pool.stats).toMatchObject({ idle: 0, leased: 1 });
        await pool.run((next) => roundTrip(next, round));
      }
    });

    test.for(['exit', 'throw', 'forEver'])(
      'a worker that dies with a block open (%s): the slot goes on',
      async (end) => {
        await open(2);
        for (let round = 0; round < 3; round += 1) {
          const worker = new BlockWorker();
          const lease = await pool.acquire();
          const block = lease.input('IN');
          block.hold(worker.ended);
          const work = worker.do(block.handle, end, -1);
          if (end === 'forEver') {
            expect(await work).toBe('begun');
            lease.release();
            await worker.thread.terminate();
          } else {
            await expect(work).rejects.toThrow(/^the worker (has ended|failed)$/);
            lease.release();
          }
          await Promise.all([1, 2, 3].map((value) => pool.run((next) => roundTrip(next, value))));
        }
        await expect.poll(() => pool.stats).toMatchObject({ size: 2, idle: 2, retired: 0 });
      },
    );

    test('a handle is only had from a lease that lasts, and says where the bytes are', async () => {
      await open(1);
      const lease = await pool.acquire();
      const block = lease.input('IN');
      const { handle } = block;
      expect(structuredClone(handle)).toEqual(handle);
      expect(handle).toMatchObject({ name: 'IN', datatype: 'FP32', shape: [4, 64], byteLength: 1024 });
      // In this thread too: the bytes are the same.
      const opened = await openBlock(handle as BlockHandle<'FP32'>);
      await block.write(pattern(5));
      expect(await opened.read()).toEqual(pattern(5));
      await opened.write(pattern(6));
      expect(await block.read()).toEqual(pattern(6));
      expect(opened.handle).toEqual(handle);
      const { memory } = opened;
      await opened.close();
      await opened.close();
      expect(opened.closed).toBe(true);
      expect(() => opened.memory).toThrow(code('ERR_DISPOSED'));
      expect(() => opened.hold(Promise.resolve())).toThrow(code('ERR_DISPOSED'));
      expect(memory instanceof Uint8Array ? memory.byteLength === 0 : memory.closed).toBe(true);
      lease.release();
      expect(() => block.handle).toThrow(code('ERR_LEASE_RELEASED'));
    });

    test.for<[string, (handle: BlockHandle) => unknown, string]>([
      ['no object', () => 5, 'Expected handle of a block for handle but received 5'],
      ['a name', (handle) => ({ ...handle, name: 1 }), 'for handle.name'],
      ['a datatype', (handle) => ({ ...handle, datatype: 'FP8' }), 'for handle.datatype'],
      ['a shape', (handle) => ({ ...handle, shape: '4' }), 'for handle.shape'],
      ['a dimension', (handle) => ({ ...handle, shape: [1.5] }), 'for handle.shape'],
      ['a length', (handle) => ({ ...handle, byteLength: 0 }), 'for handle.byteLength'],
      ['a kind', (handle) => ({ ...handle, kind: 'disk' }), 'for handle.kind'],
      ['a key', (handle) => ({ ...handle, kind: 'host', key: 1 }), 'for handle.key'],
      ['an offset', (handle) => ({ ...handle, kind: 'host', key: '/a', byteOffset: -1 }), 'for handle.byteOffset'],
      ['a device', (handle) => ({ ...handle, kind: 'cuda', deviceUuid: 1 }), 'for handle.deviceUuid'],
      ['an address', (handle) => ({ ...handle, kind: 'cuda', deviceUuid: '', address: 1 }), 'for handle.address'],
    ])('%s that is none is refused in words', async ([, spoil, message]) => {
      await open(1);
      await pool.run(async (lease) => {
        const { handle } = lease.input('IN');
        await expect(openBlock(spoil(handle as BlockHandle) as never)).rejects.toThrow(message);
      });
    });

    if (transport === 'system') {
      test('a slot that is gone can not be opened', async () => {
        await open(1);
        const handle = await pool.run((lease) => lease.input('IN').handle);
        await pool.close();
        const worker = new BlockWorker();
        await expect(worker.do(handle, 'read')).rejects.toThrow(code('ERR_SHM_NOT_FOUND'));
      });
    } else {
      test('closing waits for what is enqueued on the stream of the block', async () => {
        await open(1);
        process.env.ZEROHOP_FAKE_WORK_DELAY_US = '20000';
        try {
          const worker = new BlockWorker();
          await pool.run(async (lease) => {
            const block = lease.input('IN');
            await worker.do(block.handle, 'fillOnStream', 0);
            expect(await block.read()).toEqual(pattern(0));
          });
        } finally {
          process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
        }
      });

      test('an address of another process is refused', async () => {
        await open(1);
        const { handle } = (await pool.acquire()).input('IN');
        const foreign = { ...handle, processId: process.pid + 1 } as BlockHandle;
        await expect(openBlock(foreign)).rejects.toThrow(code('ERR_BLOCK_LOCAL'));
        await pool.destroy();
      });
    }
  });
}
