/** What a pool promises on every kind of memory: one suite, run for each. */
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TensorBlock } from '@zerohop/cuda-native/tensor';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { installShutdown, type Lease, type PoolOptions, TensorPool, type Transport } from '../../src/index.js';
import { FakeError, type FakeModel, FakeTriton, identity } from './fake-triton.js';
import { ours } from './names.js';

const ELEMENTS = 4 * 64;

export interface SuiteOptions {
  readonly transport: Transport;
  readonly makeServer: (models?: Readonly<Record<string, FakeModel>>) => FakeTriton;
  readonly options?: Partial<PoolOptions>;
}

/** A promise and what resolves it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

export const pattern = (value: number) => new Float32Array(ELEMENTS).fill(value);

export async function roundTrip(lease: Lease, value: number): Promise<void> {
  await lease.input('IN').write(pattern(value));
  const reply = await lease.infer();
  expect(await reply.output<'FP32'>('OUT').read()).toEqual(pattern(value));
}

/** A server forgets the regions of a pool, which is closed when `asked` is: what is asked about its idle slot. */
export async function closeDuringRepair(server: FakeTriton, pool: TensorPool, asked: Promise<void>) {
  const lease = await pool.acquire();
  server.forgetRegions();
  await roundTrip(lease, 1);
  lease.release();
  await asked;
  const { unproven } = await pool.close({ timeoutMs: 0 });
  return unproven;
}

export const code = (value: string) => expect.objectContaining({ code: value });

export function describePool({ transport, makeServer, options: always = {} }: SuiteOptions): void {
  describe(`a pool on '${transport}'`, () => {
    let server: FakeTriton;
    let pools: TensorPool[];

    beforeEach(() => {
      server = makeServer();
      pools = [];
    });

    afterEach(async () => {
      server.down = undefined;
      for (const pool of pools) await pool.destroy();
      expect(readdirSync('/dev/shm').filter(ours)).toHaveLength(
        pools.reduce((sum, pool) => sum + pool.stats.retired, 0),
      );
    });

    const open = async (options: Partial<PoolOptions> = {}) => {
      const pool = await TensorPool.open(server, { model: 'identity', slots: 2, transport, ...always, ...options });
      pools.push(pool);
      return pool;
    };

    test('says what it uses and what the tensors are', async () => {
      const pool = await open();
      expect(pool.transport).toBe(transport);
      expect(pool.reason.startsWith(`${transport}: `)).toBe(true);
      const kind = transport === 'cuda' ? 'cuda' : 'host';
      expect(pool.input('IN')).toMatchObject({ name: 'IN', datatype: 'FP32', shape: [4, 64], kind });
      expect(() => pool.output('nope')).toThrow(/has no output 'nope'; it has 'OUT'/);
      const lease = await pool.acquire();
      expect(lease.input('IN')).toMatchObject({ kind, byteLength: ELEMENTS * 4, shape: [4, 64] });
      expect(() => lease.input('OUT')).toThrow(code('ERR_UNKNOWN_TENSOR'));
      expect(lease.input('IN').shm !== undefined).toBe(transport === 'system');
      lease.release();
    });

    test('an opening that is aborted before it starts asks nothing', async () => {
      server.down = new FakeError('TRITON_UNAVAILABLE', 'asked');
      await expect(open({ signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before');
    });

    test.for(['modelMetadata', 'modelConfig'] as const)('an opening ends while %s has no answer', async (method) => {
      const [asked, never] = [gate(), gate()];
      server[method] = () => {
        asked.open();
        return never.opened as Promise<never>;
      };
      const controller = new AbortController();
      const opening = open({ signal: controller.signal });
      await asked.opened;
      controller.abort(new Error('changed my mind'));
      await expect(opening).rejects.toThrow('changed my mind');
      expect(server.calls.register).toBe(0);
    });

    test('an abort after the opening has no effect', async () => {
      const controller = new AbortController();
      const pool = await open({ signal: controller.signal });
      controller.abort();
      await pool.run((lease) => roundTrip(lease, 1));
    });

    test('many callers, few slots: each gets its own answer, and nothing is registered twice', async () => {
      const pool = await open();
      const { registerCalls } = pool.stats;
      await Promise.all(Array.from({ length: 100 }, (_, index) => pool.run((lease) => roundTrip(lease, index))));
      expect(pool.stats).toMatchObject({ size: 2, idle: 2, leased: 0, waiting: 0, registerCalls });
    });

    test('several requests on one lease', async () => {
      const pool = await open();
      await pool.run(async (lease) => {
        for (const value of [1, 2, 3]) await roundTrip(lease, value);
        await lease.input('IN').write(pattern(4));
        const reply = await lease.infer({ id: 'request 4', parameters: { a: 1 }, priority: 1 });
        expect(reply.id).toBe('request 4');
        expect(await reply.output<'FP32'>('OUT').read(new Float32Array(ELEMENTS))).toEqual(pattern(4));
      });
    });

    test('writes and reads are checked', async () => {
      const pool = await open();
      const lease = await pool.acquire();
      const block = lease.input('IN');
      await expect(block.write(new Float32Array(3))).rejects.toThrow(RangeError);
      await expect(block.read(new Float32Array(3))).rejects.toThrow(RangeError);
      await expect(block.read(new Uint8Array(ELEMENTS * 4) as never)).rejects.toThrow(TypeError);
      lease.release();
    });

    test('first come, first served; stats add up', async () => {
      const pool = await open();
      const leases = [await pool.acquire(), await pool.acquire()];
      expect(pool.tryAcquire()).toBeUndefined();
      const order: number[] = [];
      const waits = [0, 1, 2].map((index) =>
        pool.acquire().then((lease) => {
          order.push(index);
          lease.release();
        }),
      );
      expect(pool.stats).toMatchObject({ size: 2, leased: 2, idle: 0, waiting: 3 });
      for (const lease of leases) lease.release();
      await Promise.all(waits);
      expect(order).toEqual([0, 1, 2]);
      const { size, idle, leased, detached, quarantined } = pool.stats;
      expect(idle + leased + detached + quarantined).toBe(size);
    });

    test('a lease ends once, and nothing goes through it afterwards', async () => {
      const pool = await open();
      const lease = await pool.acquire();
      const block = lease.input('IN');
      lease.release();
      expect(() => lease.release()).toThrow(code('ERR_LEASE_RELEASED'));
      lease[Symbol.dispose]();
      expect(pool.stats.idle).toBe(2);
      expect(() => lease.input('IN')).toThrow(code('ERR_LEASE_RELEASED'));
      expect(() => block.memory).toThrow(code('ERR_LEASE_RELEASED'));
      await expect(block.write(pattern(1))).rejects.toThrow(code('ERR_LEASE_RELEASED'));
      expect(() => block.hold(Promise.resolve())).toThrow(code('ERR_LEASE_RELEASED'));
      await expect(lease.infer()).rejects.toThrow(code('ERR_LEASE_RELEASED'));
    });

    test('work that holds a block keeps the slot until it has settled, however it settles', async () => {
      const pool = await open({ slots: 1 });
      for (const fail of [false, true]) {
        const work = gate();
        const lease = await pool.acquire();
        const held = work.opened.then(() => {
          if (fail) throw new Error('the work failed');
        });
        held.catch(() => undefined);
        lease.input('IN').hold(held);
        lease.release();
        expect(pool.stats).toMatchObject({ idle: 0, leased: 1 });
        work.open();
        await pool.run(() => undefined);
      }
    });

    test('a request waits for every hold', async () => {
      const pool = await open();
      const lease = await pool.acquire();
      await lease.input('IN').write(pattern(1));
      const work = gate();
      const block = lease.input('IN');
      block.hold(work.opened.then(() => block.write(pattern(2))));
      const answer = lease.infer();
      expect(server.calls.infer).toBe(0);
      await expect(lease.infer()).rejects.toThrow(code('ERR_LEASE_BUSY'));
      work.open();
      expect(await (await answer).output<'FP32'>('OUT').read()).toEqual(pattern(2));
      lease.release();
    });

    test('a time-out before the request left: nothing was sent, the slot waits for the work', async () => {
      const pool = await open({ slots: 1 });
      const work = gate();
      const lease = await pool.acquire();
      lease.input('IN').hold(work.opened);
      await expect(lease.infer({ timeoutMs: 5 })).rejects.toThrow(code('ERR_POOL_TIMEOUT'));
      expect(server.calls.infer).toBe(0);
      await expect(pool.acquire({ timeoutMs: 5 })).rejects.toThrow(code('ERR_POOL_TIMEOUT'));
      work.open();
      await pool.run((next) => roundTrip(next, 3));
    });

    test('a time-out rejects at once; the slot comes back with the late answer, not before', async () => {
      const pool = await open({ slots: 1 });
      const answer = gate();
      server.gate = answer.opened;
      const lease = await pool.acquire();
      await lease.input('IN').write(pattern(1));
      await expect(lease.infer({ timeoutMs: 5 })).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
      expect(() => lease.input('IN')).toThrow(code('ERR_LEASE_DETACHED'));
      expect(pool.stats).toMatchObject({ detached: 1, idle: 0 });
      lease.release();
      await expect(pool.acquire({ timeoutMs: 20 })).rejects.toThrow(code('ERR_POOL_TIMEOUT'));
      answer.open();
      await pool.run((next) => roundTrip(next, 2));
      expect(pool.stats).toMatchObject({ detached: 0, idle: 1, retired: 0 });
    });

    test('a lease disposed with its request in flight: the slot waits for the answer', async () => {
      const pool = await open({ slots: 1 });
      const answer = gate();
      server.gate = answer.opened;
      const lease = await pool.acquire();
      const reply = lease.infer();
      lease.release();
      expect(pool.stats).toMatchObject({ leased: 1, idle: 0 });
      answer.open();
      await expect(reply.then((each) => each.output('OUT'))).rejects.toThrow(code('ERR_LEASE_RELEASED'));
      await pool.run((next) => roundTrip(next, 2));
    });

    test('an error from the server is passed on, and the lease lives', async () => {
      const pool = await open();
      await pool.run(async (lease) => {
        server.nextAnswer = new FakeError('TRITON_INTERNAL', 'the model failed');
        await expect(lease.infer()).rejects.toThrow('the model failed');
        await roundTrip(lease, 5);
      });
    });

    test('an answer that is not what was planned is refused', async () => {
      const pool = await open();
      await pool.run(async (lease) => {
        server.answerShape = [4, 65];
        await expect(lease.infer()).rejects.toThrow(code('ERR_OUTPUT_TOO_LARGE'));
        server.answerShape = [4];
        await expect(lease.infer()).rejects.toThrow(code('ERR_ANSWER_MISMATCH'));
        server.answerShape = [4, -64];
        await expect(lease.infer()).rejects.toThrow(code('ERR_ANSWER_MISMATCH'));
        // Their product is the planned one.
        server.answerShape = [-4, -64];
        await expect(lease.infer()).rejects.toThrow(code('ERR_ANSWER_MISMATCH'));
      });
    });

    test('close waits for leases, rejects those who wait, and leaves nothing', async () => {
      const pool = await open({ slots: 1 });
      const lease = await pool.acquire();
      const waiting = pool.acquire();
      const closing = pool.close();
      expect(pool.closed).toBe(true);
      await expect(waiting).rejects.toThrow(code('ERR_POOL_CLOSED'));
      await expect(pool.acquire()).rejects.toThrow(code('ERR_DISPOSED'));
      expect(() => pool.tryAcquire()).toThrow(code('ERR_DISPOSED'));
      await roundTrip(lease, 8);
      expect(server.regionNames).toHaveLength(transport === 'bytes' ? 0 : 1);
      lease.release();
      expect(await closing).toEqual({ unproven: [] });
      expect(await pool.close()).toEqual({ unproven: [] });
      expect(server.regionNames).toEqual([]);
    });

    test('close revokes a lease that does not come back in time', async () => {
      const pool = await open();
      const lease = await pool.acquire();
      expect(await pool.close({ timeoutMs: 5 })).toEqual({ unproven: [] });
      expect(() => lease.input('IN')).toThrow(code('ERR_LEASE_DETACHED'));
      lease.release();
      expect(server.regionNames).toEqual([]);
    });

    test('close while a request waits for work on its blocks: told at once, never sent, and free on any server', async () => {
      server.version = '2.48.0';
      const pool = await open({ slots: 1 });
      for (const released of [false, true]) {
        const last = released ? await open({ slots: 1 }) : pool;
        const lease = await last.acquire();
        const work = gate();
        lease.input('IN').hold(work.opened);
        const reply = lease.infer();
        if (released) lease.release();
        const closing = last.close({ timeoutMs: 5 });
        await expect(reply).rejects.toThrow(code('ERR_POOL_CLOSED'));
        work.open();
        expect(await closing).toEqual({ unproven: [] });
      }
      expect(server.calls.infer).toBe(0);
      expect(server.regionNames).toEqual([]);
    });

    test('close in the turn in which the work ends: still not sent', async () => {
      const pool = await open({ slots: 1 });
      const lease = await pool.acquire();
      const work = gate();
      lease.input('IN').hold(work.opened);
      const reply = lease.infer();
      work.open();
      const closing = pool.destroy();
      await expect(reply).rejects.toThrow(code('ERR_POOL_CLOSED'));
      expect(await closing).toEqual({ unproven: [] });
      expect(server.calls.infer).toBe(0);
    });

    test('un-awaited work, then dispose: no write ever reaches a later lease', async () => {
      const pool = await open({ slots: 2 });
      for (let round = 0; round < 1000; round += 1) {
        const lease = await pool.acquire();
        await roundTrip(lease, round);
        const block = lease.input('IN');
        block.hold(writeLater(block));
        lease.release();
      }
      await pool.close();
    });

    test.for<[string, object, string]>([
      ['a controller for a signal', { signal: new AbortController(), timeoutMs: 5 }, 'Expected AbortSignal for signal'],
      ['null for a signal', { signal: null, timeoutMs: 5 }, 'Expected AbortSignal for signal'],
      ['a time beyond timers', { timeoutMs: 2 ** 31 }, 'Expected integer of at most 2147483647 for timeoutMs'],
      ['text for a time', { timeoutMs: '5' }, 'for timeoutMs but received 5 of type string'],
    ])('%s is refused at once, and nothing of the call goes on', async ([, wrong, message]) => {
      const pool = await open({ slots: 1 });
      const uncaught = vi.fn();
      process.on('uncaughtException', uncaught);
      onTestFinished(() => void process.off('uncaughtException', uncaught));
      await expect(pool.acquire(wrong)).rejects.toThrow(message);
      const lease = await pool.acquire();
      const work = gate();
      lease.input('IN').hold(work.opened);
      // With the lease out and its block held, both calls would have to wait.
      await expect(pool.acquire(wrong)).rejects.toThrow(message);
      await expect(pool.run(() => undefined, wrong)).rejects.toThrow(message);
      await expect(lease.infer(wrong)).rejects.toThrow(message);
      expect(pool.stats).toMatchObject({ leased: 1, waiting: 0 });
      await sleep(20);
      work.open();
      await roundTrip(lease, 1);
      lease.release();
      expect(uncaught).not.toHaveBeenCalled();
      expect(server.calls.infer).toBe(1);
    });

    test.for<[string, unknown, string]>([
      ['no object', null, 'Expected object for options but received null of type object'],
      ['a number', 5, 'Expected object for options but received 5 of type number'],
      ['a number for an id', { id: 5 }, 'Expected string for id but received 5 of type number'],
      ['null for an id', { id: null }, 'Expected string for id but received null of type object'],
      ['null for parameters', { parameters: null }, 'Expected object for parameters but received null of type object'],
      ['text for a priority', { priority: '1' }, 'Expected non-negative integer for priority but received 1'],
    ])('%s is refused before anything is sent, and the lease lives', async ([, wrong, message]) => {
      const pool = await open({ slots: 1 });
      await pool.run(async (lease) => {
        const refused = lease.infer(wrong as object);
        await expect(refused).rejects.toBeInstanceOf(TypeError);
        await expect(refused).rejects.toThrow(message);
        expect(server.calls.infer).toBe(0);
        await roundTrip(lease, 1);
      });
    });

    test('options that are none are refused in words', async () => {
      const pool = await open({ slots: 1 });
      const none = null as never;
      const message = 'Expected object for options but received null of type object';
      await expect(pool.acquire(none)).rejects.toThrow(message);
      await expect(pool.run(() => undefined, none)).rejects.toThrow(message);
      await expect(pool.close(none)).rejects.toThrow(message);
      expect(() => installShutdown(pool, none)).toThrow(message);
      expect(pool.stats).toMatchObject({ idle: 1, leased: 0 });
      expect(pool.closed).toBe(false);
    });

    test.for<[string, readonly number[]]>([
      ['one dimension', [2 ** 49]],
      ['a batch of pictures', [1, 3, 2 ** 22, 2 ** 23]],
    ])('a tensor that no memory holds is refused by name before anything is allocated: %s', async ([, shape]) => {
      const tensor = { name: 'HUGE', datatype: 'FP32', shape } as const;
      const elements = shape.reduce((product, dimension) => product * dimension, 1);
      const words = `'HUGE' with shape [${shape.join(', ')}] needs ${elements * 4} bytes`;
      for (const side of ['inputs', 'outputs'] as const) {
        server = makeServer({ identity: { ...identity, [side]: [tensor] } });
        const refused = open();
        await expect(refused).rejects.toThrow(code('ERR_TENSOR_SIZE'));
        await expect(refused).rejects.toThrow(words);
        expect(server.calls.register).toBe(0);
      }
    });

    test('more slots than memory holds are refused before the first is made', async () => {
      const refused = open({ slots: 1e9 });
      await expect(refused).rejects.toThrow(code(transport === 'system' ? 'ERR_SHM_FULL' : 'ERR_TENSOR_SIZE'));
      await expect(refused).rejects.toThrow(/^1000000000 slots of \d+ bytes .*need \d{13} bytes.* \d+/);
      expect(server.calls.register).toBe(0);
    });

    test('a datatype that is none is refused by name', async () => {
      for (const datatype of ['FP8', 'constructor']) {
        const tensor = { name: 'IN', datatype: datatype as never, shape: [1] };
        server = makeServer({ identity: { ...identity, inputs: [tensor] } });
        const refused = open();
        await expect(refused).rejects.toThrow(code('ERR_TENSOR_SIZE'));
        await expect(refused).rejects.toThrow(`The input 'IN' of model 'identity' has the datatype '${datatype}'`);
      }
    });

    test('decoupled models are refused', async () => {
      server = new FakeTriton({ identity: { ...identity, decoupled: true } });
      await expect(open()).rejects.toThrow(code('ERR_DECOUPLED_OUTPUTS'));
    });

    test.for<[string, Partial<PoolOptions>]>([
      ['slots', { slots: 0 }],
      ['slots', { slots: 1.5 }],
      ['queueLimit', { queueLimit: -1 }],
      ['transport', { transport: 'rdma' as Transport }],
      ['model', { model: '' }],
      ['signal', { signal: new AbortController() as never }],
    ])('a wrong %s is refused with its name', async ([name, options]) => {
      await expect(open(options)).rejects.toThrow(new RegExp(`^Expected .* for ${name} but received `));
    });
  });
}

/** Writes through memory taken before the lease ends, and after that end, as un-awaited work of another package does. */
async function writeLater(block: TensorBlock): Promise<void> {
  const { memory, stream } = block;
  await sleep(0);
  if (memory instanceof Uint8Array) {
    memory.fill(0xff);
  } else {
    stream?.fill(memory, 0xff);
    await stream?.done();
  }
}
