/** What a pool promises when connections and servers go away: for the kinds of memory that a server opens. */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type PoolOptions, type Retirement, TensorPool } from '../../src/index.js';
import { FakeError, type FakeTriton } from './fake-triton.js';
import { ours, removeOurEntries } from './names.js';
import { code, gate, pattern, roundTrip, type SuiteOptions } from './pool-suite.js';
import { warningsWith } from './warnings.js';

let named = 0;

export function describeRegions({ transport, makeServer, options = {} }: SuiteOptions): void {
  describe(`regions of a pool on '${transport}'`, () => {
    let server: FakeTriton;
    let pool: TensorPool | undefined;
    const system = transport === 'system';

    beforeEach(() => {
      server = makeServer();
    });

    afterEach(async () => {
      server.down = undefined;
      await pool?.destroy();
      pool = undefined;
    });

    afterAll(removeOurEntries);

    const open = async (slots: number, more: Partial<PoolOptions> = {}) => {
      pool = await TensorPool.open(server, { model: 'identity', slots, transport, ...options, ...more });
      return pool;
    };

    /** A request in flight whose connection is cut. */
    async function lose(from: TensorPool): Promise<{ finish(): void }> {
      const answer = gate();
      server.gate = answer.opened;
      const lease = await from.acquire();
      await lease.input('IN').write(pattern(1));
      const reply = lease.infer();
      server.loseConnection();
      await expect(reply).rejects.toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
      expect(() => lease.input('IN')).toThrow(code('ERR_LEASE_DETACHED'));
      server.gate = Promise.resolve();
      return { finish: answer.open };
    }

    test.for(['2.51.0', '2.53.0'])(
      'server %s: a lost slot comes back when the server is done with it',
      async (version) => {
        server.version = version;
        const opened = await open(1);
        const [name] = server.regionNames;
        const { finish } = await lose(opened);
        expect(opened.stats).toMatchObject({ size: 1, quarantined: 1 });
        await expect(opened.acquire({ timeoutMs: 100 })).rejects.toThrow(code('ERR_POOL_TIMEOUT'));
        expect(server.regionNames).toEqual([name]);
        finish();
        await opened.run((lease) => roundTrip(lease, 2));
        expect(server.regionNames).not.toContain(name);
        expect(opened.stats).toMatchObject({ quarantined: 0, retired: 0, idle: 1, registerCalls: 2 });
      },
    );

    test.for(['2.48.0', 'unknown'])(
      'server %s is never asked to unregister an uncertain slot: retired',
      async (version) => {
        server.version = version;
        const opened = await open(1);
        const retired = once(opened, 'retire');
        const [name] = server.regionNames;
        const { finish } = await lose(opened);
        const [event] = await retired;
        const { region, reason } = event as { region: string; reason: string };
        expect(event).toEqual({ region: name, reason: expect.stringContaining(version), keptBytes: 2048 });
        expect(server.calls.unregister).toBe(0);
        await opened.run((lease) => roundTrip(lease, 2));
        expect(opened.stats).toMatchObject({ size: 1, retired: 1 });
        finish();
        expect((await opened.close()).unproven).toEqual([{ region, reason }]);
      },
    );

    /** A slot that is lost to a server which does not know its region afterwards. */
    async function forget(from: TensorPool): Promise<Retirement> {
      const retired = once(from, 'retire');
      const { finish } = await lose(from);
      server.forgetRegions();
      const [event] = await retired;
      finish();
      await expect.poll(() => from.stats.quarantined).toBe(0);
      return event as Retirement;
    }

    if (system) {
      test.for(['2.48.0', '2.51.0'])(
        'server %s: an object that it does not know any more is let go here, and replaced without end',
        async (version) => {
          server.version = version;
          const entries = readdirSync('/dev/shm').filter(ours).length;
          const opened = await open(2, { maxRetired: 0 });
          for (let round = 1; round <= 6; round += 1) {
            expect(await forget(opened)).toMatchObject({ keptBytes: 0 });
            expect(opened.stats).toMatchObject({ retired: round, size: 2, idle: 2 });
            expect(readdirSync('/dev/shm').filter(ours)).toHaveLength(entries + 2);
          }
          await opened.run((lease) => roundTrip(lease, 2));
          expect((await opened.close()).unproven).toHaveLength(6);
          expect(readdirSync('/dev/shm').filter(ours)).toHaveLength(entries);
        },
      );
    } else {
      test('device memory that is not proven free is kept, and replaced within a limit', async () => {
        const opened = await open(2);
        for (let round = 1; round <= 4; round += 1) {
          expect(await forget(opened)).toMatchObject({ keptBytes: 2048 });
          expect(opened.stats).toMatchObject({ retired: round, size: Math.min(2, 4 - round) });
        }
        await expect(opened.acquire()).rejects.toThrow(code('ERR_POOL_EXHAUSTED'));
      });

      test('the limit is maxRetired, and a pool that got smaller says so', async () => {
        // The same sentence is said once in a process.
        named += 1;
        const name = `no more ${named}`;
        const warnings = warningsWith(`Pool '${name}' is`);
        const opened = await open(2, { maxRetired: 0, name });
        await forget(opened);
        expect(opened.stats).toMatchObject({ retired: 1, size: 1 });
        await forget(opened);
        await expect(opened.acquire()).rejects.toThrow(code('ERR_POOL_EXHAUSTED'));
        await opened.close();
        await expect.poll(() => warnings.length).toBeGreaterThan(0);
        expect(warnings[0]?.code).toBe('ZEROHOP_SLOT_LOST');
        expect(warnings[0]?.message).toMatch(/ slots? smaller: more than 0 regions .*\(maxRetired\)$/);
      });
    }

    test('a server that goes down under every slot: one warning that counts them, an event for each', async () => {
      const warnings = warningsWith(`Pool 'crash on ${transport}'`);
      const opened = await open(16, { name: `crash on ${transport}` });
      const retired: Retirement[] = [];
      opened.on('retire', (retirement) => retired.push(retirement));
      const answer = gate();
      server.gate = answer.opened;
      const leases = await Promise.all(Array.from({ length: 16 }, () => opened.acquire()));
      const replies = Promise.allSettled(leases.map((lease) => lease.infer()));
      server.loseConnection();
      expect((await replies).every(({ status }) => status === 'rejected')).toBe(true);
      server.forgetRegions();
      await expect.poll(() => retired.length).toBe(16);
      answer.open();
      await expect.poll(() => opened.stats).toMatchObject({ size: 16, idle: 16, retired: 16 });
      await opened.close();
      await new Promise((resolve) => setImmediate(resolve));
      expect(warnings).toHaveLength(1);
      const memory = system ? 'the memory was freed here' : `${16 * 2048} bytes are kept until the process ends`;
      expect(warnings[0]?.message).toContain(`gave up 16 regions, the first ${retired[0]?.region} (${memory})`);
      expect(new Set(retired.map(({ region }) => region)).size).toBe(16);
    });

    test('a server that is away: the lost slot waits for it', async () => {
      const opened = await open(1);
      const { finish } = await lose(opened);
      server.down = new FakeError('TRITON_UNAVAILABLE', 'connect ECONNREFUSED');
      finish();
      await expect(opened.acquire({ timeoutMs: 100 })).rejects.toThrow(code('ERR_POOL_TIMEOUT'));
      server.down = undefined;
      await opened.run((lease) => roundTrip(lease, 2));
      expect(opened.stats).toMatchObject({ retired: 0, idle: 1 });
    });

    test('a connection that changes between the listing and the unregister proves nothing', async () => {
      const opened = await open(1);
      const { unregister } = server[transport === 'cuda' ? 'cudaSharedMemory' : 'systemSharedMemory'];
      const kind = server[transport === 'cuda' ? 'cudaSharedMemory' : 'systemSharedMemory'];
      kind.unregister = async (name) => {
        await unregister(name);
        server.connectionEpoch += 1;
      };
      const { finish } = await lose(opened);
      finish();
      await once(opened, 'retire');
      kind.unregister = unregister;
      expect(opened.stats.retired).toBe(1);
    });

    test('forgotten regions: registered anew once, the refused request repeated, the bytes kept', async () => {
      const opened = await open(3);
      const restarted = once(opened, 'restart');
      const lease = await opened.acquire();
      await lease.input('IN').write(pattern(6));
      server.forgetRegions();
      const reply = await lease.infer();
      expect(await reply.output<'FP32'>('OUT').read()).toEqual(pattern(6));
      await restarted;
      lease.release();
      await expect.poll(() => server.regionNames.length).toBe(3);
      expect(opened.stats).toMatchObject({ registerCalls: 6, reregistrations: 3, retired: 0 });
      const before = server.calls.register;
      await Promise.all([1, 2, 3].map((value) => opened.run((each) => roundTrip(each, value))));
      expect(server.calls.register).toBe(before);
    });

    test('a region that is unknown to a request and listed all the same: fresh memory, the bytes kept', async () => {
      const opened = await open(1);
      const [name = ''] = server.regionNames;
      await opened.run(async (lease) => {
        await lease.input('IN').write(pattern(7));
        server.nextAnswer = new FakeError('TRITON_NOT_FOUND', `Unable to find shared memory region: '${name}'`);
        const reply = await lease.infer();
        expect(await reply.output<'FP32'>('OUT').read()).toEqual(pattern(7));
        await roundTrip(lease, 8);
      });
      expect(server.regionNames).toHaveLength(1);
      expect(server.regionNames).not.toContain(name);
      expect(opened.stats).toMatchObject({ idle: 1, retired: 0 });
    });

    test('a request is repeated once, not for ever', async () => {
      const opened = await open(1);
      const { infer } = server;
      server.infer = (model, request, options) => {
        server.forgetRegions();
        return infer.call(server, model, request, options);
      };
      const { calls } = server;
      await opened.run(async (lease) => {
        await expect(lease.infer()).rejects.toThrow(/Unable to find shared memory region/);
      });
      expect(calls.infer).toBe(2);
    });

    test('a registration refused after a restart: reported, and tried again by the next request', async () => {
      const opened = await open(1);
      server.forgetRegions();
      server.refuseRegister = new FakeError('TRITON_UNIMPLEMENTED', 'Client shared memory is disabled.');
      const first = await opened.acquire();
      await expect(first.infer()).rejects.toThrow(code('ERR_SHM_DISABLED'));
      first.release();
      server.refuseRegister = undefined;
      await opened.run((lease) => roundTrip(lease, 4));
      expect(opened.stats).toMatchObject({ idle: 1, size: 1 });
    });

    test('a refused registration leaves nothing behind', async () => {
      const before = readdirSync('/dev/shm').filter(ours);
      server.refuseRegister = new FakeError('TRITON_UNIMPLEMENTED', 'Client shared memory is disabled.');
      await expect(open(2)).rejects.toThrow(code('ERR_SHM_DISABLED'));
      // Those of the tests before that had to be retired stay until the process ends.
      expect(readdirSync('/dev/shm').filter(ours)).toEqual(before);
    });

    test.for(['before', 'after', 'never'] as const)(
      "an opening that is aborted leaves nothing, the server's answer to the register coming %s the cleaning up",
      async (answer) => {
        const before = readdirSync('/dev/shm').filter(ours);
        const kind = server[system ? 'systemSharedMemory' : 'cudaSharedMemory'];
        const register = kind.register as (region: object) => Promise<void>;
        const [asked, allowed] = [gate(), gate()];
        let count = 0;
        kind.register = async (region: object) => {
          count += 1;
          if (count < 3) return register(region);
          // Carried out, and not answered.
          if (answer !== 'never') await register(region);
          asked.open();
          return allowed.opened;
        };
        const controller = new AbortController();
        const opening = open(4, {
          signal: controller.signal,
          // 'auto' does not take it for a reason to move on.
          transport: answer === 'after' ? 'auto' : transport,
        });
        await asked.opened;
        controller.abort(new Error('changed my mind'));
        if (answer === 'before') allowed.open();
        await expect(opening).rejects.toThrow('changed my mind');
        allowed.open();
        expect(count).toBe(3);
        expect(server.regionNames).toEqual([]);
        // A handle that the server may still open keeps its memory.
        const kept = answer === 'never' && !system ? 1 : 0;
        expect(readdirSync('/dev/shm').filter(ours)).toHaveLength(before.length + kept);
      },
    );

    test('an abort while a server answers nothing ends the opening', async () => {
      const kind = server[system ? 'systemSharedMemory' : 'cudaSharedMemory'];
      const [asked, never] = [gate(), gate()];
      kind.register = () => {
        asked.open();
        kind.status = () => never.opened as Promise<never>;
        return never.opened;
      };
      const controller = new AbortController();
      const opening = open(1, { signal: controller.signal });
      await asked.opened;
      controller.abort(new Error('changed my mind'));
      await expect(opening).rejects.toThrow('changed my mind');
    });

    test('a register without an answer in time, carried out all the same: cleaned up, nothing left', async () => {
      const before = readdirSync('/dev/shm').filter(ours);
      server.lateRegisters.push('carried-out');
      await expect(open(2)).rejects.toThrow(code('TRITON_TIMEOUT'));
      expect(server.regionNames).toEqual([]);
      expect(readdirSync('/dev/shm').filter(ours)).toEqual(before);
    });

    test('a register that may still be carried out: never afterwards, or the memory is kept', async () => {
      const warning = once(process, 'warning');
      const before = readdirSync('/dev/shm').filter(ours);
      server.lateRegisters.push('dropped');
      await expect(open(1)).rejects.toThrow(code('TRITON_TIMEOUT'));
      // A name can be taken away from the server, an IPC handle can't.
      expect(readdirSync('/dev/shm').filter(ours)).toHaveLength(before.length + (system ? 0 : 1));
      if (!system) expect(await warning).toMatchObject([{ code: 'ZEROHOP_RETIRED' }]);
    });

    test('a register carried out after its time: the server is not left with it', async () => {
      server.lateRegisters.push('carried-out-later');
      await expect(open(1)).rejects.toThrow(code('TRITON_TIMEOUT'));
      await sleep(60);
      expect(server.regionNames).toEqual([]);
    });

    test("a server that is slow is no reason for 'auto' to move on", async () => {
      const hurry = new FakeError('TRITON_TIMEOUT', 'no answer in time');
      server.refuseRegister = hurry;
      await expect(TensorPool.open(server, { model: 'identity', slots: 1, ...options })).rejects.toBe(hurry);
    });

    test.for(['serverMetadata', 'status', 'unregister'] as const)(
      'a lost slot: no answer to %s in time does not give up the proof',
      async (method) => {
        const opened = await open(1);
        const target =
          method === 'serverMetadata' ? server : server[system ? 'systemSharedMemory' : 'cudaSharedMemory'];
        const calls = target as unknown as Record<string, (name?: string) => Promise<unknown>>;
        const original = calls[method] as (name?: string) => Promise<unknown>;
        let timeouts = 0;
        calls[method] = async (name) => {
          // An unregister is carried out; its answer does not come.
          const answer = await original.call(target, name);
          if (timeouts >= 2) return answer;
          timeouts += 1;
          throw new FakeError('TRITON_TIMEOUT', 'no answer in time');
        };
        const { finish } = await lose(opened);
        finish();
        await opened.run((lease) => roundTrip(lease, 2));
        expect(timeouts).toBe(2);
        expect(opened.stats).toMatchObject({ retired: 0, quarantined: 0, idle: 1 });
      },
    );

    test('a slow server does not make the pool smaller', async () => {
      const opened = await open(1);
      server.lateRegisters.push('carried-out', 'carried-out');
      const { finish } = await lose(opened);
      finish();
      await opened.run((lease) => roundTrip(lease, 2));
      expect(server.lateRegisters).toEqual([]);
      expect(server.regionNames).toHaveLength(1);
      expect(opened.stats).toMatchObject({ size: 1, idle: 1, retired: 0 });
    });

    test.for(['carried-out', 'carried-out-later', 'dropped'] as const)(
      'a register after a restart without an answer in time (%s): the next request goes on from there',
      async (late) => {
        const opened = await open(1);
        const lease = await opened.acquire();
        await lease.input('IN').write(pattern(6));
        server.forgetRegions();
        server.lateRegisters.push(late);
        await expect(lease.infer()).rejects.toThrow(code('TRITON_TIMEOUT'));
        lease.release();
        if (late === 'carried-out-later') await sleep(60);
        await opened.run((each) => roundTrip(each, 7));
        // Not under a second name of the same memory, which a late registration would be the first of.
        expect(server.regionNames).toHaveLength(1);
        expect(server.regionNames[0]?.endsWith('.1')).toBe(true);
        expect(opened.stats).toMatchObject({ idle: 1, retired: 0 });
      },
    );

    test('close while a refused request waits for its registration: not repeated, and nothing left', async () => {
      const opened = await open(1);
      const lease = await opened.acquire();
      server.forgetRegions();
      const kind = server[system ? 'systemSharedMemory' : 'cudaSharedMemory'];
      const register = kind.register as (region: object) => Promise<void>;
      const [asked, allowed] = [gate(), gate()];
      kind.register = async (region: object) => {
        asked.open();
        await allowed.opened;
        await register(region);
      };
      const reply = lease.infer();
      reply.catch(() => undefined);
      await asked.opened;
      const closing = opened.destroy();
      await expect(reply).rejects.toThrow(code('ERR_POOL_CLOSED'));
      allowed.open();
      expect(await closing).toEqual({ unproven: [] });
      expect(server.calls.infer).toBe(1);
      expect(server.regionNames).toEqual([]);
    });

    test('close: an unregister without an answer in time is asked about, not given up', async () => {
      const opened = await open(1);
      const kind = server[system ? 'systemSharedMemory' : 'cudaSharedMemory'];
      const { unregister } = kind;
      kind.unregister = async (name) => {
        kind.unregister = unregister;
        await unregister(name);
        throw new FakeError('TRITON_TIMEOUT', 'no answer in time');
      };
      expect(await opened.close()).toEqual({ unproven: [] });
    });

    test('close: a server that answers nothing in time keeps its memory', async () => {
      const opened = await open(1);
      const [name] = server.regionNames;
      server.down = new FakeError('TRITON_TIMEOUT', 'no answer in time');
      const { unproven } = await opened.close();
      expect(unproven).toEqual([{ region: name, reason: 'the time to wait for the server was over' }]);
      expect(readdirSync('/dev/shm').some((entry) => name?.startsWith(`${entry}.`))).toBe(true);
      expect(opened.stats.retired).toBe(1);
    });

    test("'auto' says why it moved on, a transport asked for by name does not move on", async () => {
      server.refuseRegister = new FakeError('TRITON_UNIMPLEMENTED', 'Client shared memory is disabled.');
      pool = await TensorPool.open(server, { model: 'identity', slots: 1 });
      expect(pool.transport).toBe('bytes');
      expect(pool.reason).toMatch(
        /^bytes: tensors travel in the messages; not cuda: .*; not system: .*--allow-client-shm=true/,
      );
    });

    test('a server that cannot be reached is an error, not a reason to move on', async () => {
      server.down = new FakeError('TRITON_UNAVAILABLE', 'connect ECONNREFUSED');
      await expect(TensorPool.open(server, { model: 'identity', slots: 1 })).rejects.toBe(server.down);
    });
  });
}
