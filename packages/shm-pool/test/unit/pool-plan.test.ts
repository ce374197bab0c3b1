import { expect, test } from 'vitest';
import { FIRST_OUTPUT_BYTES, planSlot } from '../../src/layout.js';
import { fallsBehind, PoolPlan } from '../../src/pool-plan.js';

const MAX = 10 * FIRST_OUTPUT_BYTES;

const open = (hasState = false) =>
  new PoolPlan({
    pool: 'p',
    hasState,
    plan: planSlot({
      model: 'm',
      maxBatchSize: 0,
      maxOutputBytes: MAX,
      inputs: [{ name: 'IN', datatype: 'FP32', shape: [7] }],
      outputs: [
        { name: 'A', datatype: 'UINT8', shape: [-1] },
        { name: 'B', datatype: 'UINT8', shape: [-1] },
        { name: 'C', datatype: 'UINT8', shape: [5] },
      ],
    }),
  });

const cause = new Error('too small');
const need = (output: string, byteLength: number) => ({ output, byteLength, cause });
const capacities = (plan: PoolPlan) => plan.current.outputs.map(({ byteLength }) => byteLength);

test('an output gets what it needs, at least twice what it had, and no more than allowed', () => {
  const pool = open();
  const grow = (byteLength: number) => pool.adopt(pool.planFor(need('A', byteLength), true));
  grow(FIRST_OUTPUT_BYTES + 1);
  expect(capacities(pool)).toEqual([2 * FIRST_OUTPUT_BYTES, FIRST_OUTPUT_BYTES, 5]);
  grow(7 * FIRST_OUTPUT_BYTES);
  expect(capacities(pool)[0]).toBe(7 * FIRST_OUTPUT_BYTES);
  grow(7 * FIRST_OUTPUT_BYTES + 1);
  expect(capacities(pool)[0]).toBe(MAX);
  expect(() => grow(MAX + 1)).toThrow(expect.objectContaining({ code: 'ERR_OUTPUT_TOO_LARGE', cause }));
});

test("a larger plan is no one else's until memory of its size was had", () => {
  const pool = open();
  const before = pool.current;
  pool.planFor(need('A', MAX), true);
  expect(pool.current).toBe(before);
});

test('slots that grow different outputs at once: the pool has the larger of each', () => {
  const pool = open();
  const [a, b] = [pool.planFor(need('A', 200_000), true), pool.planFor(need('B', 300_000), true)];
  pool.adopt(a);
  expect(pool.current).toBe(a);
  pool.adopt(b);
  expect(capacities(pool)).toEqual([200_000, 300_000, 5]);
  expect([fallsBehind(a, pool.current), fallsBehind(b, pool.current)]).toEqual([true, true]);
  expect(pool.current.outputs[1]?.byteOffset).toBeGreaterThanOrEqual(256 + 200_000);
});

test('slots that grow the same output at once: the smaller one takes more before its next request, the larger one not', () => {
  const pool = open();
  const [small, large, same] = [200_000, 300_000, 300_000].map((size) => pool.planFor(need('A', size), true));
  if (small === undefined || large === undefined || same === undefined) throw new Error('No plan');
  pool.adopt(large);
  pool.adopt(small);
  pool.adopt(same);
  expect(pool.current).toBe(large);
  expect([small, large, same].map((plan) => fallsBehind(plan, pool.current))).toEqual([true, false, false]);
  // Room that another slot has found already is taken as it is.
  expect(pool.planFor(need('A', 250_000), true)).toBe(large);
});

test('a size that the model or the caller gave does not grow', () => {
  expect(() => open().planFor(need('C', 6), true)).toThrow("Output 'C' needs 6 bytes and its block holds 5");
  expect(() => open().planFor(need('X', 6), true)).toThrow("Output 'X' needs 6 bytes: open the pool with");
});

test('a step of a sequence is not repeated', () => {
  expect(() => open(true).planFor(need('A', 100_000), true)).toThrow('the next step of its sequence');
  expect(() => open().planFor(need('A', 100_000), false)).toThrow('the next step of its sequence');
});
