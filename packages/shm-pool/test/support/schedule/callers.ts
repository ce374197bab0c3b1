/** What callers do with a pool: one entry for each habit, good and bad. A new feature is one entry more. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TensorBlock } from '@zerohop/cuda-native/tensor';
import type { Lease, TensorPool } from '../../../src/index.js';
import { isAlive, viewsOf } from '../views.js';
import { type Ledger, TOO_SMALL } from './ledger.js';
import type { CallerRequest } from './place.js';
import type { Target } from './target.js';
import { current } from './watched-client.js';

export interface CallerContext {
  readonly target: Target;
  readonly ledger: Ledger;
  /** Views end with their lease. */
  readonly strictViews: boolean;
  /** Nothing tells how large an answer is. */
  readonly growing: boolean;
  /** In [0, 1). */
  random(): number;
  /** The pool of now; a schedule closes pools and opens others. */
  pool(): TensorPool;
  nextId(): number;
  /** How a request ended: an answer's pattern was right, or it failed with this. */
  ended(error?: unknown): void;
  /** Turned away before it had a slot. */
  turnedAway(error: unknown): void;
  /** Counts what a schedule has to have met. */
  met(what: Met): void;
  /** Between two steps: what has to be true at any time. */
  audit(): void;
}

/** What is counted: so that nobody takes a schedule without it for one with it. */
export type Met = 'resize' | 'failed resize' | 'smaller request' | 'second run' | 'ended view';

/** How one request goes; absent is the plain way. Times in milliseconds. */
interface Exchange {
  /** How long the model takes. */
  readonly ms?: number;
  readonly timeoutMs?: number;
  readonly abortAfterMs?: number;
  /** With an id and parameters of its own, so that it is not the slot's prepared one. */
  readonly individual?: boolean;
  /** Elements of its input, if not as many as there can be. */
  readonly elements?: number;
  /** How often the answer has the input. */
  readonly repeat?: number;
  /** The input is written by work that the request has to wait for. */
  readonly writeAfterMs?: number;
  /** The lease is kept so long before its request; nobody may write to its blocks meanwhile. */
  readonly dwellMs?: number;
  /** The answer is looked at again after so long. */
  readonly lookAgainMs?: number;
  /** The lease is disposed of as soon as the request is sent. */
  readonly leaveEarly?: boolean;
}

export interface Habit {
  readonly name: string;
  /** How often, relative to the others. */
  readonly weight: number;
  /** Where it makes sense, if not everywhere. */
  readonly when?: (context: CallerContext) => boolean;
  run(context: CallerContext): Promise<void>;
}

const SENTINEL = -7;

/** What a request carries: how long the model shall take, which request it is, and a value for each further place. */
export function patternOf(id: number, ms: number, elements: number): Float32Array {
  const values = new Float32Array(elements);
  for (let index = 2; index < elements; index += 1) values[index] = (id * 31 + index) % 65_521;
  values[0] = ms;
  values[1] = id % 2 ** 24;
  return values;
}

function check(context: CallerContext, what: string, found: Float32Array, expected: Float32Array): void {
  const wrong = expected.findIndex((value, index) => found[index] !== value);
  if (wrong === -1 && found.length === expected.length) return;
  context.ledger.violated(`${what}: ${found[wrong]} at ${wrong} of ${found.length}, expected was ${expected[wrong]}`);
}

/** A request on a lease, and what becomes of it. @returns whether it was answered */
async function exchange(context: CallerContext, lease: Lease, how: Exchange = {}): Promise<boolean> {
  const { target, ledger } = context;
  const { ms = 0, timeoutMs, abortAfterMs, writeAfterMs, dwellMs, leaveEarly = false, elements, repeat = 1 } = how;
  const individual = how.individual ?? repeat > 1;
  const id = context.nextId();
  const values = patternOf(id, ms, elements ?? target.elements);
  const request: CallerRequest = { id, ms, lease, calls: [] };
  const shape = elements === undefined ? undefined : [1, elements];
  const input = lease.input<'FP32'>(target.input, shape && { shape });
  const whole = shape && (await markedOutput(context, lease));
  if (writeAfterMs === undefined) await input.write(values);
  else {
    const work = sleep(writeAfterMs).then(() => input.write(values));
    ledger.hold(lease, target.input, work);
    input.hold(work);
  }
  if (dwellMs !== undefined) await dwell(context, lease, id, values, dwellMs);
  const controller = abortAfterMs === undefined ? undefined : new AbortController();
  const abort = setTimeout(() => controller?.abort(ABORTED), abortAfterMs);
  const answer = current.run(request, () =>
    lease.infer({
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(controller && { signal: controller.signal }),
      ...(shape && { shapes: { [target.input]: shape } }),
      ...(individual && { id: `${id}`, parameters: { ms, repeat } }),
    }),
  );
  try {
    if (leaveEarly) lease[Symbol.dispose]();
    const reply = await answer;
    if (!leaveEarly) {
      const output = reply.output<'FP32'>(target.output);
      const expected = repeated(values, repeat);
      check(context, `the answer of request ${id}`, await output.read(), expected);
      if (`${output.shape}` !== `1,${expected.length}`)
        ledger.violated(`the answer of request ${id} has the shape [${output.shape}]`);
      checkRuns(context, request, reply.runs);
      if (whole !== undefined) await checkRest(context, id, whole, expected.length);
      if (elements !== undefined) context.met('smaller request');
      if (individual && reply.id !== `${id}`) ledger.violated(`the answer of request ${id} is of '${reply.id}'`);
      if (how.lookAgainMs !== undefined) {
        await sleep(how.lookAgainMs);
        check(context, `the answer of request ${id}, later`, await output.read(), expected);
      }
    }
    context.ended();
    return true;
  } catch (error) {
    context.ended(error);
    return false;
  } finally {
    clearTimeout(abort);
    context.audit();
  }
}

/** Why a caller aborts. */
export const ABORTED = new Error('the caller changed its mind');

function repeated(values: Float32Array, times: number): Float32Array {
  const all = new Float32Array(values.length * times);
  for (let index = 0; index < times; index += 1) all.set(values, index * values.length);
  return all;
}

/** The model ran once, and once more for each answer that did not fit. */
function checkRuns(context: CallerContext, { id, calls }: CallerRequest, runs: number): void {
  const tooSmall = calls.filter(({ error }) => TOO_SMALL.test(String(error))).length;
  if (runs !== 1 + tooSmall) context.ledger.violated(`the answer of request ${id} says ${runs} runs`);
  if (runs > 1) context.met('second run');
}

/** The whole block of an output, full of sentinels; in the message there is none. */
async function markedOutput({ pool, target }: CallerContext, lease: Lease) {
  if (pool().transport === 'bytes') return undefined;
  const output = lease.output<'FP32'>(target.output);
  await output.write(new Float32Array(output.byteLength / 4).fill(SENTINEL));
  return output;
}

/** Behind its answer the block is as it was, or fresh. */
async function checkRest(context: CallerContext, id: number, output: TensorBlock<'FP32'>, from: number) {
  const found = await output.read();
  const wrong = found.findIndex((value, index) => index >= from && value !== SENTINEL && value !== 0);
  if (wrong !== -1) context.ledger.violated(`behind the answer of request ${id}: ${found[wrong]} at ${wrong}`);
}

/** Keeps a lease for a while, with sentinels in its blocks. */
async function dwell(context: CallerContext, lease: Lease, id: number, values: Float32Array, ms: number) {
  const output = await markedOutput(context, lease);
  const mark = output && new Float32Array(output.byteLength / 4).fill(SENTINEL);
  await sleep(ms);
  check(context, `the input before request ${id}`, await lease.input<'FP32'>(context.target.input).read(), values);
  if (output && mark) check(context, `the output before request ${id}`, await output.read(), mark);
}

/** Lends a slot, uses it, gives it back. A pool that closes meanwhile ends the use. */
async function borrow(
  context: CallerContext,
  use: (lease: Lease) => Promise<unknown>,
  acquire: (pool: TensorPool) => Promise<Lease | undefined> = (pool) => pool.acquire(),
): Promise<void> {
  let lease: Lease | undefined;
  try {
    lease = await acquire(context.pool());
  } catch (error) {
    context.turnedAway(error);
    return;
  }
  if (lease === undefined) return;
  try {
    context.ledger.lent(lease, context.target.input);
    context.audit();
    await use(lease);
  } catch (error) {
    // Before its request was sent, the lease was revoked.
    context.turnedAway(error);
  } finally {
    lease[Symbol.dispose]();
    context.audit();
  }
}

const between = (context: CallerContext, low: number, high: number) =>
  low + Math.floor(context.random() * (high - low + 1));

/** Elements of an input that is smaller than it can be. */
const sizeOf = (context: CallerContext) => between(context, 2, context.target.elements - 1);

/** One request, one way. */
const one = (name: string, weight: number, how: (context: CallerContext) => Exchange): Habit => ({
  name,
  weight,
  run: (context) => borrow(context, (lease) => exchange(context, lease, how(context))),
});

export const HABITS: readonly Habit[] = [
  one('plain', 40, () => ({})),
  one('individual', 6, (c) => ({ individual: true, ms: between(c, 0, 2) })),
  one('unawaited write', 8, (c) => ({ writeAfterMs: between(c, 0, 3) })),
  one('sentinels', 8, (c) => ({ dwellMs: between(c, 1, 8) })),
  one('look again', 4, (c) => ({ lookAgainMs: between(c, 1, 8) })),
  one('time out', 9, (c) => ({ ms: between(c, 12, 40), timeoutMs: between(c, 1, 8), individual: c.random() < 0.3 })),
  one('time out by a hair', 3, (c) => ({ ms: between(c, 1, 6), timeoutMs: between(c, 1, 6) })),
  one('time out with an unawaited write', 1, (c) => ({ writeAfterMs: between(c, 2, 8), timeoutMs: between(c, 1, 4) })),
  one('abort', 4, (c) => ({ ms: between(c, 8, 25), abortAfterMs: between(c, 0, 6) })),
  one('abort with an unawaited write', 1, (c) => ({ writeAfterMs: between(c, 2, 8), abortAfterMs: between(c, 0, 4) })),
  one('leave early', 4, (c) => ({ leaveEarly: true, ms: between(c, 0, 6) })),
  {
    name: 'several on one lease',
    weight: 4,
    run: (context) =>
      borrow(context, async (lease) => {
        for (let left = between(context, 2, 3); left > 0; left -= 1) {
          if (!(await exchange(context, lease, { ms: between(context, 0, 2) }))) return;
        }
      }),
  },
  one('smaller', 7, (c) => ({ elements: sizeOf(c), ms: between(c, 0, 2), individual: c.random() < 0.3 })),
  one('smaller, looked at again', 2, (c) => ({ elements: sizeOf(c), lookAgainMs: between(c, 1, 8) })),
  one('smaller, times out', 2, (c) => ({ elements: sizeOf(c), ms: between(c, 8, 25), timeoutMs: between(c, 1, 6) })),
  {
    ...one('larger than its block', 10, (c) => ({ repeat: 2 ** between(c, 0, 5), ms: between(c, 0, 2) })),
    when: ({ growing }) => growing,
  },
  {
    ...one('larger than its block, times out', 2, (c) => ({
      repeat: 2 ** between(c, 0, 5),
      ms: between(c, 0, 3),
      timeoutMs: between(c, 1, 8),
    })),
    when: ({ growing }) => growing,
  },
  {
    name: 'views kept',
    weight: 8,
    when: ({ strictViews }) => strictViews,
    run: (context) =>
      borrow(context, async (lease) => {
        const views = viewsOf(lease.input(context.target.input));
        if (!(await exchange(context, lease))) return;
        if (context.pool().transport !== 'bytes') views.push(...viewsOf(lease.output(context.target.output)));
        lease[Symbol.dispose]();
        if (views.some(isAlive)) context.ledger.violated('a view outlived its lease');
        context.met('ended view');
        await sleep(between(context, 0, 8));
        if (views.some(isAlive)) context.ledger.violated('a view came back to life');
      }),
  },
  {
    name: 'work left behind',
    weight: 4,
    run: (context) =>
      borrow(context, (lease) => {
        const { memory } = lease.input(context.target.input);
        if (memory instanceof Uint8Array) {
          const work = sleep(between(context, 0, 5)).then(() => memory.fill(1));
          context.ledger.hold(lease, context.target.input, work);
          lease.hold(work);
        } else {
          lease.stream?.fill(memory, 1);
        }
        return Promise.resolve();
      }),
  },
  {
    name: 'if one is idle',
    weight: 3,
    run: (context) =>
      borrow(
        context,
        (lease) => exchange(context, lease),
        // A turn passes all the same: else callers that find none would go round without a rest.
        (pool) => sleep(0).then(() => pool.tryAcquire()),
      ),
  },
  {
    name: 'run',
    weight: 3,
    run: async (context) => {
      try {
        await context.pool().run(async (lease) => {
          context.ledger.lent(lease, context.target.input);
          await exchange(context, lease);
        });
      } catch (error) {
        context.turnedAway(error);
      }
    },
  },
  {
    name: 'not longer than',
    weight: 2,
    run: (context) =>
      borrow(
        context,
        (lease) => exchange(context, lease),
        (pool) => pool.acquire({ timeoutMs: between(context, 0, 2) }),
      ),
  },
  {
    name: 'until aborted',
    weight: 2,
    run: (context) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(ABORTED), between(context, 0, 3));
      return borrow(
        context,
        (lease) => exchange(context, lease),
        (pool) => pool.acquire({ signal: controller.signal }),
      );
    },
  },
];
