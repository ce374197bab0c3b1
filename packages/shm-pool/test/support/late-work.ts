/** Work on blocks that nobody awaits before the lease is disposed: the next holder must never meet it. */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { Stream } from '@zerohop/cuda-native';
import type { TensorBlock } from '@zerohop/cuda-native/tensor';
import { expect } from 'vitest';
import type { Lease, TensorPool } from '../../src/index.js';

/** What disturbed work writes: no value of any caller. */
const POISON = 0xff;
const CALLERS = 3;
const ROUNDS = 10_000;

export interface LateWork {
  /** Names of a FP32 input, and of the output that gives it back. */
  readonly input: string;
  readonly output: string;
  /** How often a lease is disposed with work under way. */
  readonly rounds: number;
}

export interface LateWorkReport {
  /** How often each kind of work was under way at a disposal. */
  readonly disposed: Readonly<Record<string, number>>;
  /** Blocks, and answers, that were looked at. */
  readonly blocks: number;
  readonly answers: number;
  /** Those that had another value than their holder's. */
  readonly mismatched: number;
}

type Kind = (lease: Lease, block: TensorBlock<'FP32'>, other: Stream | undefined) => Promise<unknown> | undefined;

const poisonOf = (block: TensorBlock) => new Uint8Array(block.byteLength).fill(POISON);

/** What a caller may forget to await. What it gives settles when the work is over. */
const KINDS: Readonly<Record<string, Kind>> = {
  write: (_, block) => block.write(poisonOf(block)),
  writeOnAnotherStream: (_, block, other) =>
    block.write(poisonOf(block), ...(other === undefined ? [] : [{ stream: other }])),
  read: (_, block) => block.read(),
  /** Another package's work, which it has told the block of. */
  held: (_, block) => {
    const { memory, stream } = block;
    const work = (async () => {
      await turn();
      if (memory instanceof Uint8Array) {
        memory.fill(POISON);
      } else {
        stream?.fill(memory, POISON);
        await stream?.done();
      }
    })();
    block.hold(work);
    return work;
  },
  /** Enqueued on the slot's stream, and told to nobody. */
  stream: (lease, block) => {
    const { memory } = block;
    if (!(memory instanceof Uint8Array)) lease.stream?.fill(memory, POISON);
    return undefined;
  },
  infer: (lease) => lease.infer(),
  heldAndInfer: (lease, block) => {
    block.hold(sleep(1).then(() => block.write(poisonOf(block)).catch(() => undefined)));
    return lease.infer().catch(() => undefined);
  },
};

/**
 * Three callers take leases of `pool`, write a value of their own, check that they meet no other, and dispose of the lease
 * with work under way that would write another.
 */
export async function lateWork(pool: TensorPool, { input, output, rounds }: LateWork): Promise<LateWorkReport> {
  const kinds = Object.entries(KINDS);
  const disposed: Record<string, number> = Object.fromEntries(kinds.map(([name]) => [name, 0]));
  const report = { blocks: 0, answers: 0, mismatched: 0 };
  const other = pool.input(input).device?.createStream();
  const check = (values: Float32Array, value: number) => {
    if (!values.every((each) => each === value)) report.mismatched += 1;
  };

  const one = async (round: number) => {
    const lease = await pool.acquire();
    const block = lease.input<'FP32'>(input);
    await block.write(new Float32Array(block.byteLength / 4).fill(round));
    if (round % 3 === 0) {
      const reply = await lease.infer();
      check(await reply.output<'FP32'>(output).read(), round);
      report.answers += 1;
    } else {
      await turn();
    }
    check(await block.read(), round);
    report.blocks += 1;
    const [name = '', kind] = kinds[round % kinds.length] ?? [];
    const work = kind?.(lease, block, other);
    lease[Symbol.dispose]();
    disposed[name] = (disposed[name] ?? 0) + 1;
    // A late read must not see the next holder's bytes.
    void work?.then(
      (values) => name === 'read' && check(values as Float32Array, round),
      () => undefined,
    );
  };

  let next = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (next < rounds) {
        next += 1;
        await one(next);
      }
    }),
  );
  await other?.done();
  await other?.close();
  return { disposed, ...report };
}

/** 10,000 leases of a pool of an identity model are disposed with work under way, and nobody meets it. Closes the pool. */
export async function expectNoLateWork(pool: TensorPool, names: Omit<LateWork, 'rounds'>): Promise<void> {
  const { disposed, ...counts } = await lateWork(pool, { ...names, rounds: ROUNDS });
  expect(counts).toMatchObject({ blocks: ROUNDS, mismatched: 0 });
  expect(counts.answers).toBeGreaterThan(ROUNDS / 4);
  for (const count of Object.values(disposed)) expect(count).toBeGreaterThan(ROUNDS / 10);
  expect(await pool.close()).toEqual({ unproven: [] });
  expect(pool.stats.retired).toBe(0);
}
