/** What a pool promises about the number of its slots: one suite for every kind of memory. */
import { readdirSync } from 'node:fs';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Lease, type PoolOptions, TensorPool } from '../../src/index.js';
import { FakeError, type FakeTriton } from './fake-triton.js';
import { ours, removeOurEntries } from './names.js';
import { code, gate, roundTrip, type SuiteOptions } from './pool-suite.js';

export function describeResize({ transport, makeServer, options = {} }: SuiteOptions): void {
  describe(`the size of a pool on '${transport}'`, () => {
    const shared = transport !== 'bytes';
    let server: FakeTriton;
    let pool: TensorPool;
    let entries: number;

    beforeEach(() => {
      server = makeServer();
      entries = readdirSync('/dev/shm').filter(ours).length;
    });

    afterEach(async () => {
      server.down = undefined;
      server.refuseRegister = undefined;
      await pool.destroy();
      expect(server.regionNames).toEqual([]);
      expect(readdirSync('/dev/shm').filter(ours)).toHaveLength(entries);
    });

    afterAll(removeOurEntries);

    const open = async (slots: number, more: Partial<PoolOptions> = {}) => {
      pool = await TensorPool.open(server, { model: 'identity', slots, transport, ...options, ...more });
      return pool;
    };

    /** Registered regions are those of the slots, and the states of the slots add up. */
    function expectSize(size: number): void {
      const { idle, leased, detached, quarantined } = pool.stats;
      expect(pool.stats.size).toBe(size);
      expect(idle + leased + detached + quarantined).toBe(size);
      expect(server.regionNames).toHaveLength(shared ? size : 0);
    }

    test('grows: those who wait are served as each slot is made, first come, first served', async () => {
      await open(1);
      const first = await pool.acquire();
      const order: number[] = [];
      const leases: Lease[] = [];
      const waits = [0, 1, 2].map((index) =>
        pool.acquire().then((lease) => {
          order.push(index);
          leases.push(lease);
        }),
      );
      const resizing = pool.resize(3);
      await resizing;
      expectSize(3);
      expect(order).toEqual([0, 1]);
      expect(pool.stats).toMatchObject({ leased: 3, waiting: 1 });
      for (const [index, lease] of leases.entries()) await roundTrip(lease, index);
      first.release();
      await Promise.all(waits);
      expect(order).toEqual([0, 1, 2]);
      for (const lease of leases) lease.release();
      expect(pool.stats).toMatchObject({ idle: 3, leased: 0, waiting: 0 });
    });

    test('shrinks: idle slots leave first, then those that come back, and their regions are released', async () => {
      await open(4);
      const leases = await Promise.all([pool.acquire(), pool.acquire(), pool.acquire()]);
      let done = false;
      const resizing = pool.resize(1).then(() => {
        done = true;
      });
      expect(pool.stats).toMatchObject({ size: 3, idle: 0, leased: 3 });
      for (const [index, lease] of leases.entries()) await roundTrip(lease, index);
      expect(done).toBe(false);
      leases[1]?.release();
      expect(pool.stats).toMatchObject({ size: 2, leased: 2 });
      leases[0]?.release();
      await resizing;
      expectSize(1);
      await roundTrip(leases[2], 9);
      leases[2]?.release();
      await pool.run((lease) => roundTrip(lease, 10));
      expectSize(1);
    });

    test('of many idle slots no more leave than asked for, and those that stay are not registered again', async () => {
      await open(8);
      const { registerCalls } = pool.stats;
      const resizing = pool.resize(5);
      expect(pool.stats).toMatchObject({ size: 5, idle: 5 });
      await resizing;
      expectSize(5);
      expect(pool.stats.registerCalls).toBe(registerCalls);
    });

    test('shrinks under those who wait: the slots that stay serve them in order', async () => {
      await open(3);
      const leases = await Promise.all([pool.acquire(), pool.acquire(), pool.acquire()]);
      const order: number[] = [];
      const waits = Array.from({ length: 6 }, (_, index) =>
        pool.run(async (lease) => {
          order.push(index);
          await roundTrip(lease, index);
        }),
      );
      const resizing = pool.resize(1);
      for (const lease of leases) lease.release();
      await Promise.all([...waits, resizing]);
      expect(order).toEqual([0, 1, 2, 3, 4, 5]);
      expectSize(1);
    });

    test('a slot that leaves with work on its blocks waits for it', async () => {
      await open(2);
      const leases = [await pool.acquire(), await pool.acquire()];
      const work = gate();
      leases[0]?.input('IN').hold(work.opened);
      let done = false;
      const resizing = pool.resize(1).then(() => {
        done = true;
      });
      leases[0]?.release();
      expect(pool.stats).toMatchObject({ size: 2, leased: 2 });
      await roundTrip(leases[1] as Lease, 1);
      expect(done).toBe(false);
      work.open();
      await resizing;
      expectSize(1);
      leases[1]?.release();
    });

    test('several wishes: the last wins, and all settle with it', async () => {
      await open(2);
      await Promise.all([pool.resize(6), pool.resize(1), pool.resize(3)]);
      expectSize(3);
      const lease = await pool.acquire();
      const others = [await pool.acquire(), await pool.acquire()];
      // Waits for leases, until another wish makes that needless.
      const fewer = pool.resize(1);
      await pool.resize(4);
      await fewer;
      expectSize(4);
      for (const each of [lease, ...others]) each.release();
      await Promise.all([pool.resize(8), pool.resize(2)]);
      expectSize(2);
      await pool.resize(2);
      expectSize(2);
    });

    test('wrong sizes are refused and change nothing', async () => {
      await open(1);
      for (const wrong of [0, 1.5, -1, Number.NaN]) await expect(pool.resize(wrong)).rejects.toThrow(RangeError);
      for (const wrong of [undefined, null, '2']) await expect(pool.resize(wrong as never)).rejects.toThrow(TypeError);
      expectSize(1);
    });

    test('close while it grows, or waits to shrink: ERR_POOL_CLOSED, nothing left, ERR_DISPOSED afterwards', async () => {
      await open(2);
      const leases = [await pool.acquire(), await pool.acquire()];
      const shrinking = pool.resize(1);
      const closing = pool.close();
      await expect(shrinking).rejects.toThrow(code('ERR_POOL_CLOSED'));
      await expect(pool.resize(3)).rejects.toThrow(code('ERR_DISPOSED'));
      for (const lease of leases) lease.release();
      expect(await closing).toEqual({ unproven: [] });

      await open(1);
      const growing = pool.resize(20);
      const alsoClosing = pool.close();
      await expect(growing).rejects.toThrow(code('ERR_POOL_CLOSED'));
      expect(await alsoClosing).toEqual({ unproven: [] });
    });

    test('more slots than there is room for: refused before the first is made', async () => {
      await open(1);
      const { registerCalls } = pool.stats;
      const refusal = transport === 'system' ? 'ERR_SHM_FULL' : 'ERR_TENSOR_SIZE';
      await expect(pool.resize(1e9)).rejects.toThrow(code(refusal));
      expectSize(1);
      expect(pool.stats.registerCalls).toBe(registerCalls);
      await pool.resize(2);
      expectSize(2);
    });

    if (!shared) return;

    test('a server that refuses half-way: what was made stays, the error says how many, the next wish works', async () => {
      await open(1);
      const kind = server[transport === 'cuda' ? 'cudaSharedMemory' : 'systemSharedMemory'];
      const { register } = kind;
      let count = 0;
      const down = new FakeError('TRITON_UNAVAILABLE', 'connect ECONNREFUSED');
      kind.register = (async (region: never) => {
        count += 1;
        if (count > 2) throw down;
        await register(region);
      }) as never;
      const resizing = pool.resize(5);
      await expect(resizing).rejects.toThrow(code('ERR_POOL_RESIZE'));
      await expect(resizing).rejects.toMatchObject({
        message: "Pool 'identity' has 3 of the 5 slots that it was to be resized to: connect ECONNREFUSED",
        cause: down,
      });
      kind.register = register;
      expectSize(3);
      // Whether that register was carried out is not known, and an IPC handle can't be withdrawn: its memory is kept.
      if (transport === 'cuda') entries += 1;
      await Promise.all([1, 2, 3].map((value) => pool.run((lease) => roundTrip(lease, value))));
      await pool.resize(5);
      expectSize(5);
    });

    test('the reason keeps its code where it has one of the pool', async () => {
      await open(1);
      server.refuseRegister = new FakeError('TRITON_UNIMPLEMENTED', 'Client shared memory is disabled.');
      const resizing = pool.resize(2);
      await expect(resizing).rejects.toThrow(code('ERR_SHM_DISABLED'));
      await expect(resizing).rejects.toThrow(/^Pool 'identity' has 1 of the 2 slots/);
      expectSize(1);
    });

    test('a wish that asks for no more than there are is not failed by one that could not be had', async () => {
      await open(1);
      server.refuseRegister = new FakeError('TRITON_UNIMPLEMENTED', 'Client shared memory is disabled.');
      const more = pool.resize(4);
      const same = pool.resize(1);
      await Promise.all([more, same]);
      expectSize(1);
    });

    test('lost slots that come back to a smaller pool leave it', async () => {
      await open(2);
      const answer = gate();
      server.gate = answer.opened;
      const leases = [await pool.acquire(), await pool.acquire()];
      const replies = Promise.allSettled(leases.map((lease) => lease.infer()));
      server.loseConnection();
      await replies;
      expect(pool.stats).toMatchObject({ size: 2, quarantined: 2 });
      const resizing = pool.resize(1);
      server.gate = Promise.resolve();
      answer.open();
      await resizing;
      await expect.poll(() => pool.stats.idle).toBe(1);
      expectSize(1);
      await pool.run((lease) => roundTrip(lease, 5));
    });

    test('grows again after every slot was retired', async () => {
      await open(1, { maxRetired: 0 });
      server.version = '2.48.0';
      const answer = gate();
      server.gate = answer.opened;
      const lease = await pool.acquire();
      const waiting = pool.acquire();
      const reply = lease.infer();
      server.loseConnection();
      await expect(reply).rejects.toThrow('Connection dropped');
      await expect(waiting).rejects.toThrow(code('ERR_POOL_EXHAUSTED'));
      expect(pool.stats).toMatchObject({ size: 0, retired: 1 });
      server.gate = Promise.resolve();
      answer.open();
      const resizing = pool.resize(2);
      await pool.run((each) => roundTrip(each, 3));
      await resizing;
      expect(pool.stats).toMatchObject({ size: 2, idle: 2 });
      await pool.close();
      // What could not be proven free stays, with its registration.
      expect(server.regionNames).toHaveLength(1);
      server.forgetRegions();
      entries += 1;
    });

    test('grows, shrinks and serves at once: every answer is its own, and the numbers add up', async () => {
      await open(2);
      let over = false;
      const resizing = (async () => {
        for (let round = 0; !over; round += 1) {
          await pool.resize(1 + ((round * 5) % 7));
          const { size, idle, leased, detached, quarantined } = pool.stats;
          expect(idle + leased + detached + quarantined).toBe(size);
        }
      })();
      await Promise.all(
        Array.from({ length: 8 }, async (_, caller) => {
          for (let index = 0; index < 25; index += 1) await pool.run((lease) => roundTrip(lease, caller * 25 + index));
        }),
      );
      over = true;
      await resizing;
      await pool.resize(3);
      expectSize(3);
      expect(pool.stats).toMatchObject({ idle: 3, retired: 0, waiting: 0 });
    });
  });
}
