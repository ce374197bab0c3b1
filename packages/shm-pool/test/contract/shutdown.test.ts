import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { installShutdown, type ShutdownOptions, TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { removeOurEntries } from '../support/names.js';
import { gate } from '../support/pool-suite.js';

let server: FakeTriton;
/** Signals that would have ended the process. */
let killed: unknown[];

afterAll(removeOurEntries);

beforeEach(() => {
  server = new FakeTriton();
  killed = [];
  const kill = vi.spyOn(process, 'kill').mockImplementation((_, signal) => {
    killed.push(signal);
    return true;
  });
  onTestFinished(() => kill.mockRestore());
});

async function openPool(): Promise<TensorPool> {
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system' });
  onTestFinished(async () => {
    await pool.destroy();
  });
  return pool;
}

function install(pool: TensorPool, options?: ShutdownOptions): () => void {
  const remove = installShutdown(pool, { signals: ['SIGUSR2'], ...options });
  onTestFinished(remove);
  return remove;
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

test('the process goes on until the last of its pools is closed', async () => {
  const [first, second] = [await openPool(), await openPool()];
  install(first);
  install(second, { signals: ['SIGUSR2', 'SIGHUP'] });
  const lease = await second.acquire();
  process.emit('SIGUSR2', 'SIGUSR2');
  expect(process.listenerCount('SIGUSR2') + process.listenerCount('SIGHUP')).toBe(0);
  await first.close();
  await settled();
  expect(killed).toEqual([]);
  lease.release();
  await expect.poll(() => killed).toEqual(['SIGUSR2']);
  expect(server.regionNames).toEqual([]);
});

test('each pool has its own time, also when it was being closed already', async () => {
  const [first, second] = [await openPool(), await openPool()];
  install(first, { timeoutMs: 10 });
  install(second, { timeoutMs: 10 });
  const leases = [await first.acquire(), await second.acquire()];
  const closing = second.close({ timeoutMs: 60_000 });
  process.emit('SIGUSR2', 'SIGUSR2');
  await expect.poll(() => killed).toEqual(['SIGUSR2']);
  expect(await closing).toEqual({ unproven: [] });
  for (const lease of leases) expect(() => lease.input('IN')).toThrow('spent');
  expect(server.regionNames).toEqual([]);
});

test('a server that does not answer holds up the end for seconds, no longer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const pool = await openPool();
  install(pool, { timeoutMs: 10 });
  const never = gate();
  onTestFinished(never.open);
  server.systemSharedMemory.unregister = () => never.opened;
  process.emit('SIGUSR2', 'SIGUSR2');
  await vi.advanceTimersByTimeAsync(5000);
  expect(killed).toEqual(['SIGUSR2']);
});

test('what is removed is not closed, and leaves the others installed', async () => {
  const [first, second] = [await openPool(), await openPool()];
  const remove = install(first);
  install(second);
  remove();
  expect(process.listenerCount('SIGUSR2')).toBe(1);
  process.emit('SIGUSR2', 'SIGUSR2');
  await expect.poll(() => killed).toEqual(['SIGUSR2']);
  expect([first.closed, second.closed]).toEqual([false, true]);
});

test('a signal that is named twice is listened to once, and not at all after the removal', async () => {
  await using pool = await TensorPool.open(new FakeTriton(), { model: 'identity', slots: 1, transport: 'system' });
  const remove = installShutdown(pool, { signals: ['SIGUSR2', 'SIGUSR2'] });
  expect(process.listenerCount('SIGUSR2')).toBe(1);
  remove();
  expect(process.listenerCount('SIGUSR2')).toBe(0);
});

test('wrong options are refused when it is installed, not when the signal comes', async () => {
  const pool = await openPool();
  expect(() => installShutdown(pool, { timeoutMs: -1 })).toThrow('Expected non-negative integer for timeoutMs');
  expect(() => installShutdown(pool, { signals: 'SIGUSR2' as never })).toThrow('Expected array of signal names');
  expect(process.listenerCount('SIGUSR2')).toBe(0);
});
