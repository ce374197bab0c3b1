/** What `strictViews` promises on every kind of memory: no view that a lease gave out can be used after its end. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Lease, type PoolOptions, TensorPool } from '../../src/index.js';
import type { FakeTriton } from './fake-triton.js';
import { code, gate, pattern, roundTrip, type SuiteOptions } from './pool-suite.js';
import { isAlive, type View, viewsOf } from './views.js';

/** Of all blocks that a lease gives. */
function viewsOfLease(lease: Lease, transport: string): View[] {
  const blocks = [lease.input('IN')];
  if (transport !== 'bytes') blocks.push(lease.output('OUT'));
  return blocks.flatMap(viewsOf);
}

export function describeViews({ transport, makeServer, options = {} }: SuiteOptions): void {
  describe(`strict views of '${transport}'`, () => {
    let server: FakeTriton;
    let pool: TensorPool;

    beforeEach(() => {
      server = makeServer();
    });

    afterEach(async () => {
      await pool.destroy();
    });

    const open = async (more: Partial<PoolOptions> = {}) => {
      const wanted = { model: 'identity', slots: 1, transport, strictViews: true, ...options, ...more };
      pool = await TensorPool.open(server, wanted);
      return pool;
    };

    const expectEnded = (views: readonly View[]) => {
      expect(views.map(isAlive)).toEqual(views.map(() => false));
      for (const view of views) {
        if (view instanceof Uint8Array) expect(view[0]).toBeUndefined();
        else expect(() => view.slice(0, 1)).toThrow(code('ERR_DISPOSED'));
      }
    };

    test('end with the release, and with the disposal', async () => {
      await open();
      for (const end of ['release', Symbol.dispose] as const) {
        const lease = await pool.acquire();
        await roundTrip(lease, 1);
        const views = viewsOfLease(lease, transport);
        expect(views.every(isAlive)).toBe(true);
        lease[end]();
        expectEnded(views);
      }
      await pool.run((next) => roundTrip(next, 2));
    });

    test('the next lease has views of its own, of the same bytes', async () => {
      await open();
      const first = await pool.acquire();
      await first.input('IN').write(pattern(7));
      const copy = await first.input<'FP32'>('IN').read();
      const views = viewsOfLease(first, transport);
      first.release();
      const second = await pool.acquire();
      expect(await second.input('IN').read()).toEqual(pattern(7));
      expect(viewsOfLease(second, transport).every(isAlive)).toBe(true);
      expectEnded(views);
      // What was read out is a copy.
      expect(copy).toEqual(pattern(7));
      second.release();
    });

    test('a time-out and an abort end them at once; the request is not disturbed', async () => {
      await open({ slots: 2 });
      for (const limit of [() => ({ timeoutMs: 5 }), () => ({ signal: AbortSignal.timeout(5) })]) {
        const answer = gate();
        server.gate = answer.opened;
        const seen: Uint8Array[] = [];
        const { infer } = server;
        server.infer = (model, request, callOptions) => {
          const { IN } = request.inputs;
          if (IN !== undefined && 'data' in IN) seen.push(IN.data);
          return infer.call(server, model, request, callOptions);
        };
        const lease = await pool.acquire();
        await lease.input('IN').write(pattern(3));
        const views = viewsOfLease(lease, transport);
        await expect(lease.infer(limit())).rejects.toThrow();
        expectEnded(views);
        expect(pool.stats.detached).toBe(1);
        // A client may send the bytes later than that.
        if (transport === 'bytes') expect(seen.map((data) => new Float32Array(data.buffer))).toEqual([pattern(3)]);
        server.infer = infer;
        server.gate = Promise.resolve();
        answer.open();
        await expect.poll(() => pool.stats.idle).toBe(2);
      }
      await Promise.all([1, 2, 3, 4].map((value) => pool.run((next) => roundTrip(next, value))));
    });

    test('a close that revokes the lease ends them', async () => {
      await open();
      const views = viewsOfLease(await pool.acquire(), transport);
      await pool.close({ timeoutMs: 1 });
      expectEnded(views);
    });

    test('work that holds the block keeps its views to its end', async () => {
      await open();
      const work = gate();
      const lease = await pool.acquire();
      const block = lease.input('IN');
      const views = viewsOfLease(lease, transport);
      block.hold(work.opened);
      lease.release();
      expect(views.every(isAlive)).toBe(true);
      const next = pool.acquire();
      work.open();
      (await next).release();
      expectEnded(views);
    });

    test('without it, views are borrowed: they stay as they are while the slot does', async () => {
      await open({ strictViews: false });
      const lease = await pool.acquire();
      const views = viewsOfLease(lease, transport);
      lease.release();
      expect(views.every(isAlive)).toBe(true);
    });

    test('many leases: nothing is used up', async () => {
      await open({ slots: 2 });
      for (let round = 0; round < 2000; round += 1) {
        const lease = pool.tryAcquire();
        if (lease === undefined) throw new Error('No slot is idle');
        const { memory } = lease.input('IN');
        lease.release();
        if (isAlive(memory)) throw new Error('A view is left');
      }
      await pool.run((lease) => roundTrip(lease, 1));
      expect(pool.stats).toMatchObject({ idle: 2 });
    });

    test.for([1, 'yes', null])('%o for strictViews is refused', async (wrong) => {
      await expect(open({ strictViews: wrong as never })).rejects.toThrow('Expected boolean for strictViews');
      await open();
    });
  });
}
