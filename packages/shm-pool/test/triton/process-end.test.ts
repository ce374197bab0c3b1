import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { reap, TensorPool } from '../../src/index.js';
import { parseEntry } from '../../src/names.js';

const ender = fileURLToPath(new URL('../fixtures/ender.mjs', import.meta.url));
const holder = fileURLToPath(new URL('../fixtures/holder.mjs', import.meta.url));

describeTier('triton', 'the end of a process', () => {
  let client: TritonClient;

  beforeAll(() => {
    client = new TritonClient(sharedTriton().grpcUrl);
  });

  afterAll(() => client.close());

  /** Starts a process that holds a pool of two slots; resolves when it does. */
  async function startHolder(...mode: string[]): Promise<ChildProcess & { pid: number }> {
    const child = spawn(process.execPath, [holder, sharedTriton().grpcUrl, ...mode], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    await once(child.stdout, 'data');
    return child as ChildProcess & { pid: number };
  }

  const of = (pid: number) => (name: string) => parseEntry(name.split('.').slice(0, 7).join('.'))?.pid === pid;
  const entries = (pid: number) => readdirSync('/dev/shm').filter(of(pid));
  const regions = async (pid: number) =>
    (await client.systemSharedMemory.status()).map(({ name }) => name).filter(of(pid));

  async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<NodeJS.Signals | null> {
    const exit = once(child, 'exit');
    child.kill(signal);
    return (await exit)[1] as NodeJS.Signals | null;
  }

  test('kill -9 leaves what reap() removes; what lives is left alone', async () => {
    const pool = await TensorPool.open(client, { model: 'identity_64', slots: 1, transport: 'system' });
    const mine = await regions(process.pid);
    const child = await startHolder();
    const { pid } = child;
    await end(child, 'SIGKILL');
    const left = await regions(pid);
    expect(left).toHaveLength(2);
    expect(entries(pid)).toHaveLength(2);

    const report = await reap(client);
    expect(report.unregistered).toEqual(expect.arrayContaining(left));
    expect(report.left).toContainEqual({
      name: mine[0]?.replace(/\.\d+$/, ''),
      reason: expect.stringMatching(/^its owner lives/) as string,
    });
    expect(await regions(pid)).toEqual([]);
    expect(entries(pid)).toEqual([]);
    expect(await regions(process.pid)).toEqual(mine);
    await pool.close();
  });

  test.for(['exit', 'throw', 'worker'])(
    'an end without a close (%s) leaves what the next opening removes',
    async (how) => {
      const child = spawn(process.execPath, [ender, sharedTriton().grpcUrl, how], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const { pid = 0 } = child;
      onTestFinished(() => void child.kill('SIGKILL'));
      await (how === 'worker' ? once(child.stdout, 'data') : once(child, 'exit'));
      expect(entries(pid)).toHaveLength(2);
      expect(await regions(pid)).toHaveLength(2);
      await using pool = await TensorPool.open(client, { model: 'identity_64', slots: 1, transport: 'system' });
      expect(pool.closed).toBe(false);
      expect(await regions(pid)).toEqual([]);
      expect(entries(pid)).toEqual([]);
    },
  );

  test.for<NodeJS.Signals>(['SIGINT', 'SIGTERM'])('%s with installShutdown leaves nothing', async (signal) => {
    const child = await startHolder('shutdown');
    const { pid } = child;
    expect(await regions(pid)).toHaveLength(3);
    // The signal still ends the process, as it would have without the handler.
    expect(await end(child, signal)).toBe(signal);
    expect(await regions(pid)).toEqual([]);
    expect(entries(pid)).toEqual([]);
  });
});
