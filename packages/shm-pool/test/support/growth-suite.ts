/** Outputs whose size nothing tells, on every kind of memory, against a devserver in another process. */

import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { InferOptions, Lease, PoolOptions } from '../../src/index.js';
import { code, gate } from './pool-suite.js';
import { type RequestSuiteOptions, runOf, usePools } from './request-suite.js';
import { expectSame } from './same.js';

const FIRST = 64 * 1024;
/** Elements of FP32 in twice, and in eight times, what an output gets at first. */
const [TWICE, EIGHTFOLD] = [FIRST / 2, FIRST * 2];

let last = 0;

/** Sends a value of its own and expects it in the outputs, as often as their sizes say; returns how often the model ran. */
async function sized(lease: Lease, sizes: { a?: number; b?: number; letters?: number }, options: InferOptions = {}) {
  last += 1;
  const value = last;
  await lease.input('IN').write(new Float32Array(4).fill(value));
  const reply = await lease.infer({ ...options, parameters: { ...options.parameters, ...sizes } });
  const { a = 1, b = 1, letters = 1 } = sizes;
  const expected = { A: new Float32Array(a).fill(value), B: new Float32Array(b).fill(value + 0.5) };
  for (const [name, values] of Object.entries(expected)) {
    const output = reply.output<'FP32'>(name);
    expect(output).toMatchObject({ shape: [values.length], byteLength: values.byteLength });
    expectSame(await output.read(), values);
  }
  const text = await reply.output<'BYTES'>('TEXT').read();
  expect(new DataView(text.buffer, text.byteOffset).getUint32(0, true)).toBe(letters);
  expect(new Set(text.subarray(4, 4 + letters))).toEqual(new Set(Buffer.from('x')));
  return reply.runs;
}

/** The texts of warnings with that code, from now on. */
function warnings(wanted: string): string[] {
  const texts: string[] = [];
  const onWarning = (warning: Error & { code?: string }) => {
    if (warning.code === wanted) texts.push(warning.message);
  };
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  return texts;
}

export function describeGrowth(suite: RequestSuiteOptions): void {
  const { transport } = suite;

  if (transport !== 'bytes') growsAndReleases(suite);

  describe(`outputs of unknown size on '${transport}'`, () => {
    const { open, client } = usePools(suite);
    const sizes = (options: Partial<PoolOptions> = {}) => open('sizes', options);

    if (transport === 'bytes') {
      test('come in the message, whatever their size', async () => {
        const pool = await sizes();
        await pool.run(async (lease) => {
          expect(await sized(lease, { a: EIGHTFOLD, letters: FIRST })).toBe(1);
          expect(await sized(lease, {})).toBe(1);
        });
      });

      test('are bounded by maxOutputBytes', async () => {
        const pool = await sizes({ maxOutputBytes: 1000 });
        await pool.run(async (lease) => {
          expect(await sized(lease, { a: 250, letters: 996 })).toBe(1);
          await expect(sized(lease, { a: 251 })).rejects.toThrow(code('ERR_OUTPUT_TOO_LARGE'));
          const tooLong = sized(lease, { letters: 997 });
          await expect(tooLong).rejects.toThrow(code('ERR_OUTPUT_TOO_LARGE'));
          await expect(tooLong).rejects.toThrow("Output 'TEXT' needs 1001 bytes");
        });
      });
      return;
    }

    test('start small, grow when the server says so, and stay that large', async () => {
      const warned = warnings('ZEROHOP_OUTPUT_GREW');
      const pool = await sizes({ name: `pool on ${transport}` });
      expect(pool.output('A').shape).toEqual([FIRST / 4]);
      await pool.run(async (lease) => {
        const before = await runOf(lease);
        expect(await sized(lease, { a: 5 })).toBe(1);
        expect(lease.output('A').byteLength).toBe(FIRST);
        expect(await sized(lease, { a: EIGHTFOLD })).toBe(2);
        expect(lease.output('A').byteLength).toBe(EIGHTFOLD * 4);
        expect(await sized(lease, { a: EIGHTFOLD })).toBe(1);
        expect(await runOf(lease)).toBe(before + 5);
      });
      expect(pool.output('A').shape).toEqual([EIGHTFOLD]);
      expect(pool.output('B').shape).toEqual([FIRST / 4]);
      // Once more, by more than it has: the same output is warned of once.
      await pool.run(async (lease) => expect(await sized(lease, { a: EIGHTFOLD + 1 })).toBe(2));
      expect(pool.output('A').shape).toEqual([2 * EIGHTFOLD]);
      await expect.poll(() => warned.length).toBe(1);
      expect(warned[0]).toBe(
        `Pool 'pool on ${transport}': output 'A' of model 'sizes' needs ${EIGHTFOLD * 4} bytes, more than its block held, so ` +
          `that the model ran twice for one request. Open the pool with outputs: { 'A': { byteLength: ${EIGHTFOLD * 4} } } to avoid it`,
      );
    });

    test('a block taken before follows its slot; a view of its old memory no longer reaches it', async () => {
      const pool = await sizes();
      await pool.run(async (lease) => {
        const [input, output] = [lease.input('IN'), lease.output<'FP32'>('A')];
        const old = input.memory;
        expect(await sized(lease, { a: TWICE })).toBe(2);
        await input.write(new Float32Array(4).fill(77));
        if (old instanceof Uint8Array) expect(() => old.fill(1)).toThrow('detached ArrayBuffer');
        else expect(() => lease.stream?.fill(old, 1)).toThrow(code('ERR_DISPOSED'));
        const reply = await lease.infer({ parameters: { a: 5 } });
        expectSame(await reply.output<'FP32'>('A').read(), new Float32Array(5).fill(77));
        expect((await output.read()).subarray(0, 5)).toEqual(new Float32Array(5).fill(77));
      });
    });

    test('several in one request: the server names one at a time', async () => {
      const pool = await sizes();
      await pool.run(async (lease) => {
        expect(await sized(lease, { a: TWICE, b: TWICE + 1, letters: FIRST })).toBe(4);
        expect(await sized(lease, { a: TWICE, b: TWICE + 1, letters: FIRST })).toBe(1);
      });
    });

    test('one that is not asked for does not grow', async () => {
      const pool = await sizes();
      await pool.run(async (lease) => {
        const reply = await lease.infer({ outputs: ['B', 'RUN'], parameters: { a: TWICE } });
        expect(reply.runs).toBe(1);
      });
      expect(pool.output('A').shape).toEqual([FIRST / 4]);
    });

    test('the other slots get as much before their next request, also one that is lent', async () => {
      const pool = await sizes({ slots: 3 });
      const leases = await Promise.all([pool.acquire(), pool.acquire(), pool.acquire()]);
      const [first, second, third] = leases;
      expect(await sized(second, {})).toBe(1);
      expect(await sized(first, { a: TWICE })).toBe(2);
      expect(await sized(second, { a: TWICE })).toBe(1);
      await third.input('IN').write(new Float32Array(4).fill(7));
      const kept = await third.infer({ parameters: { a: TWICE } });
      expect(kept.runs).toBe(1);
      expectSame(await kept.output<'FP32'>('A').read(), new Float32Array(TWICE).fill(7));
      for (const lease of leases) lease.release();
      expect(pool.stats.registerCalls).toBe(6);
      // From here on nothing moves.
      await Promise.all(leases.map(() => pool.run((lease) => sized(lease, { a: TWICE }))));
      expect(pool.stats).toMatchObject({ registerCalls: 6, idle: 3 });
    });

    test('many at once, each of a size of its own: every answer is right, and the pool settles', async () => {
      const pool = await sizes({ slots: 4 });
      const request = (index: number) =>
        pool.run((lease) =>
          sized(lease, { a: 1 + 977 * index, b: 1 + 1231 * (40 - index), letters: 1 + 3001 * (index % 30) }),
        );
      const runs = await Promise.all(Array.from({ length: 40 }, (_, index) => request(index)));
      expect(Math.max(...runs)).toBeGreaterThan(1);
      const { registerCalls } = pool.stats;
      const again = await Promise.all(Array.from({ length: 40 }, (_, index) => request(index)));
      expect(again).toEqual(new Array(40).fill(1));
      // Slots that had not been lent since the last growth.
      expect(pool.stats.registerCalls - registerCalls).toBeLessThanOrEqual(4);
      expect(pool.stats).toMatchObject({ idle: 4, retired: 0, reregistrations: 0 });
    });

    test('a hint is where it starts, and avoids the second run', async () => {
      const pool = await sizes({ outputs: { A: { byteLength: 16 }, B: { byteLength: TWICE * 4 } } });
      await pool.run(async (lease) => {
        expect(await sized(lease, { a: 4, b: TWICE })).toBe(1);
        expect(await sized(lease, { a: 5 })).toBe(2);
      });
      expect(pool.output('A').shape).toEqual([8]);
    });

    test('what shapes give is fixed', async () => {
      const pool = await sizes({ shapes: { A: [4] } });
      await pool.run(async (lease) => {
        const before = await runOf(lease);
        const refused = sized(lease, { a: 5 });
        await expect(refused).rejects.toThrow(code('ERR_OUTPUT_TOO_LARGE'));
        await expect(refused).rejects.toThrow("Output 'A' needs 20 bytes and its block holds 16");
        expect(await runOf(lease)).toBe(before + 2);
      });
    });

    test('maxOutputBytes bounds them: told with the hint, after one run, and the lease lives', async () => {
      const pool = await sizes({ maxOutputBytes: 3 * FIRST });
      await pool.run(async (lease) => {
        expect(await sized(lease, { a: FIRST / 4 + 1 })).toBe(2);
        expect(await sized(lease, { a: (3 * FIRST) / 4 })).toBe(2);
        expect(lease.output('A').byteLength).toBe(3 * FIRST);
        const before = await runOf(lease);
        const refused = sized(lease, { a: (3 * FIRST) / 4 + 1 });
        await expect(refused).rejects.toThrow(code('ERR_OUTPUT_TOO_LARGE'));
        await expect(refused).rejects.toThrow(`outputs: { 'A': { byteLength: ${3 * FIRST + 4} } }`);
        await expect(sized(lease, { b: FIRST })).rejects.toThrow(`more than maxOutputBytes ${3 * FIRST}`);
        expect(await runOf(lease)).toBe(before + 3);
        expect(await sized(lease, { a: 3 })).toBe(1);
      });
      const small = await sizes({ maxOutputBytes: 100 });
      expect(small.output('A').shape).toEqual([25]);
    });

    test.for<[string, object]>([
      ['positive integer for maxOutputBytes', { maxOutputBytes: 0 }],
      ['positive integer for maxOutputBytes', { maxOutputBytes: '64' }],
      ['positive integer for outputs.A.byteLength', { outputs: { A: 64 } }],
      ['object for outputs', { outputs: 64 }],
      ['object for shapes', { shapes: 'A' }],
    ])('options that are none are refused in words: %s', async ([words, options]) => {
      await expect(sizes(options)).rejects.toThrow(`Expected ${words} but received`);
    });

    test('a step of a sequence is never repeated', async () => {
      for (const [model, sequence] of [
        ['sizes_in_sequence', { id: 5, start: true, end: true }],
        ['sizes', { id: 5 }],
      ] as const) {
        const pool = await open(model);
        await pool.run(async (lease) => {
          const before = await runOf(lease, { sequence });
          const refused = sized(lease, { a: TWICE }, { sequence });
          await expect(refused).rejects.toThrow(code('ERR_OUTPUT_TOO_LARGE'));
          await expect(refused).rejects.toThrow('would be the next step of its sequence');
          expect(await runOf(lease, { sequence })).toBe(before + 2);
        });
      }
    });

    test('released while its output grows: the answer is thrown away, the slot comes back', async () => {
      const pool = await sizes();
      const lease = await pool.acquire();
      const answer = lease.infer({ parameters: { a: TWICE, ms: 20 } });
      lease.release();
      await answer;
      await pool.run(async (next) => expect(await sized(next, { a: TWICE })).toBe(1));
    });

    test('a hold that waits for the answer does not keep the output from growing', async () => {
      const pool = await sizes();
      const lease = await pool.acquire();
      const answer = lease.infer({ parameters: { a: TWICE } });
      const after = gate();
      lease.hold(answer.then(() => after.opened));
      expect((await answer).runs).toBe(2);
      lease.release();
      expect(pool.stats.idle).toBe(0);
      after.open();
      await pool.run(() => undefined);
    });

    /** The next register waits for this. */
    function slowRegister() {
      const [asked, registering] = [gate(), gate()];
      const memory = transport === 'cuda' ? client().cudaSharedMemory : client().systemSharedMemory;
      const register = memory.register.bind(memory) as (region: object) => Promise<void>;
      vi.spyOn(memory, 'register').mockImplementationOnce(async (region: object) => {
        asked.open();
        await registering.opened;
        await register(region);
      });
      return { asked: asked.opened, open: registering.open };
    }

    test('a time-out between the runs spends the lease; the slot comes back when it has moved', async () => {
      const pool = await sizes();
      const registering = slowRegister();
      const lease = await pool.acquire();
      await expect(lease.infer({ parameters: { a: TWICE }, timeoutMs: 300 })).rejects.toThrow(code('ERR_POOL_TIMEOUT'));
      expect(() => lease.input('IN')).toThrow(code('ERR_LEASE_DETACHED'));
      expect(pool.stats.idle).toBe(0);
      registering.open();
      await pool.run(async (next) => expect(await sized(next, { a: TWICE })).toBe(1));
    });

    test('close between the runs: told at once, nothing is left', async () => {
      const pool = await sizes();
      const registering = slowRegister();
      const lease = await pool.acquire();
      const refused = expect(lease.infer({ parameters: { a: TWICE } })).rejects.toThrow(code('ERR_POOL_CLOSED'));
      await registering.asked;
      const closing = pool.destroy();
      await refused;
      registering.open();
      expect(await closing).toEqual({ unproven: [] });
    });

    test('no memory for the larger output: told why, the lease and its slot stay as they were', async () => {
      const pool = await sizes({ slots: 2 });
      const memory = transport === 'cuda' ? client().cudaSharedMemory : client().systemSharedMemory;
      const register = vi.spyOn(memory, 'register');
      const [first, second] = [await pool.acquire(), await pool.acquire()];
      register.mockRejectedValueOnce(new Error('no more'));
      await expect(sized(first, { a: TWICE })).rejects.toThrow('no more');
      expect(pool.output('A').shape).toEqual([FIRST / 4]);
      expect(await sized(first, { a: 3 })).toBe(1);
      expect(await sized(first, { a: TWICE })).toBe(2);
      // The second goes on with what it has, and is not asked to move again for nothing.
      const before = register.mock.calls.length;
      register.mockRejectedValueOnce(new Error('no more'));
      expect(await sized(second, { a: 3 })).toBe(1);
      expect(await sized(second, { a: 4 })).toBe(1);
      expect(register.mock.calls.length).toBe(before + 1);
      register.mockRejectedValueOnce(new Error('still no more'));
      await expect(sized(second, { a: TWICE })).rejects.toThrow('still no more');
      expect(await sized(second, { a: TWICE })).toBe(2);
      for (const lease of [first, second]) lease.release();
      expect(pool.stats).toMatchObject({ idle: 2, retired: 0 });
    });
  });
}

/** The part of it that depends on how a server counts the users of a region. */
export function growsAndReleases(suite: RequestSuiteOptions): void {
  const { transport } = suite;

  describe(`regions of outputs that grow on '${transport}'`, () => {
    const { open, client } = usePools(suite);

    test('each under a new name, in a region of its own, and the old one is gone', async () => {
      const pool = await open('sizes');
      const memory = transport === 'cuda' ? client().cudaSharedMemory : client().systemSharedMemory;
      const names = async () => (await memory.status()).map(({ name }) => name);
      const [first] = await names();
      const { registerCalls } = pool.stats;
      await pool.run(async (lease) => {
        const stream = lease.stream;
        expect(await sized(lease, { a: TWICE })).toBe(2);
        expect(lease.stream).toBe(stream);
      });
      const after = await names();
      expect(after).toHaveLength(1);
      expect(after).not.toContain(first);
      expect(pool.stats).toMatchObject({ registerCalls: registerCalls + 1, reregistrations: 0, retired: 0, idle: 1 });
    });
  });
}
