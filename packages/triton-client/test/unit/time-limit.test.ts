/** Limits of time that garbage collection must not lift: nothing but the work waits for them. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readGpuUuids, readMetrics } from '../../src/metrics.js';
import { withTimeLimit } from '../../src/time-limit.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Settles with what `work` rejected with, or with 'never' when it did not in a second of collections. */
async function endOf(work: () => Promise<unknown>): Promise<unknown> {
  let end: unknown = 'never';
  const start = () =>
    void work().then(
      () => {
        end = 'done';
      },
      (error: unknown) => {
        end = error;
      },
    );
  start();
  for (let rounds = 0; rounds < 100 && end === 'never'; rounds += 1) {
    collect();
    await sleep(10);
  }
  return end;
}

let server: Server;
let url: string;

beforeAll(async () => {
  // Takes every request and answers none.
  server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const LONG_MS = 600_000;

test('metrics that never come: the limit of time', async () => {
  const expected = { code: 'TRITON_UNAVAILABLE', message: expect.stringContaining('aborted due to timeout') as string };
  expect(await endOf(() => readGpuUuids(url, 50))).toMatchObject(expected);
  expect(await endOf(() => readMetrics(url, 50, new AbortController().signal))).toMatchObject(expected);
});

test("metrics that never come: the caller's signal, which nobody keeps", async () => {
  const end = await endOf(() => readMetrics(url, LONG_MS, AbortSignal.timeout(50)));
  expect(end).toMatchObject({ name: 'TimeoutError' });
});

const listens = (signal: AbortSignal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

test('work that listens: the limit of time, and the signal', async () => {
  const late = new Error('too late');
  const limits = { tooLate: () => late };
  const { signal } = new AbortController();
  expect(await endOf(() => withTimeLimit({ ...limits, timeoutMs: 50, signal }, listens))).toBe(late);
  const given = () => withTimeLimit({ ...limits, timeoutMs: LONG_MS, signal: AbortSignal.timeout(50) }, listens);
  expect(await endOf(given)).toMatchObject({ name: 'TimeoutError' });
  const aborted = AbortSignal.abort(new Error('before'));
  expect(
    await endOf(() =>
      withTimeLimit({ ...limits, timeoutMs: LONG_MS, signal: aborted }, async (own) => {
        own.throwIfAborted();
      }),
    ),
  ).toEqual(new Error('before'));
});

test('what is over leaves no listener at the signal', async () => {
  const signal = new AbortController().signal;
  const added: unknown[] = [];
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    added.push(args[1]);
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    added.splice(added.indexOf(args[1]), 1);
    removeEventListener.apply(signal, args);
  };
  expect(await withTimeLimit({ timeoutMs: LONG_MS, signal, tooLate: () => 'late' }, async () => 7)).toBe(7);
  expect(added).toEqual([]);
});
