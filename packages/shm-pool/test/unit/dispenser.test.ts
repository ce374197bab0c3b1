import { expect, test } from 'vitest';
import { Dispenser } from '../../src/dispenser.js';

const dispenser = (items: number, queueLimit = 10) => {
  const made = new Dispenser((item: number) => ({ item }), queueLimit, "pool 'test'");
  for (let item = 0; item < items; item += 1) made.put(item);
  return made;
};

test('lends what is idle, the last returned first', () => {
  const pool = dispenser(3);
  expect(pool.tryTake()).toEqual({ item: 2 });
  pool.put(2);
  expect(pool.tryTake()).toEqual({ item: 2 });
  expect(pool.idle).toBe(2);
});

test('serves those who wait in the order of their calls', async () => {
  const pool = dispenser(0);
  const order: string[] = [];
  const waits = ['a', 'b', 'c'].map((name) => pool.take().then(() => order.push(name)));
  expect(pool.waiting).toBe(3);
  for (const item of [1, 2, 3]) pool.put(item);
  await Promise.all(waits);
  expect(order).toEqual(['a', 'b', 'c']);
  expect([pool.waiting, pool.idle]).toEqual([0, 0]);
});

test('an item goes to a waiter in the same turn, so that it is never idle and lent', () => {
  const pool = dispenser(0);
  void pool.take();
  pool.put(1);
  expect(pool.tryTake()).toBeUndefined();
});

test('a time-out and an abort leave the queue', async () => {
  const pool = dispenser(0);
  const controller = new AbortController();
  const timed = pool.take({ timeoutMs: 5 });
  const aborted = pool.take({ signal: controller.signal });
  const patient = pool.take();
  const reason = new Error('changed my mind');
  controller.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  await expect(timed).rejects.toMatchObject({ code: 'ERR_POOL_TIMEOUT' });
  expect(pool.waiting).toBe(1);
  pool.put(7);
  expect(await patient).toEqual({ item: 7 });
});

test('a signal that was aborted before takes nothing', async () => {
  const pool = dispenser(1);
  await expect(pool.take({ signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before');
  expect(pool.idle).toBe(1);
});

test('the queue is bounded', async () => {
  const pool = dispenser(0, 1);
  void pool.take();
  await expect(pool.take()).rejects.toMatchObject({ code: 'ERR_POOL_QUEUE_FULL' });
  await expect(dispenser(0, 0).take()).rejects.toMatchObject({ code: 'ERR_POOL_QUEUE_FULL' });
});

test('failAll rejects everyone', async () => {
  const pool = dispenser(0);
  const waits = [pool.take(), pool.take({ timeoutMs: 10_000 })];
  pool.failAll(new Error('over'));
  for (const wait of waits) await expect(wait).rejects.toThrow('over');
  expect(pool.waiting).toBe(0);
});
