import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { PoolStats, ReapReport } from '../../src/index.js';

const container = fileURLToPath(new URL('../fixtures/container.mjs', import.meta.url));

/** Hostname and PID namespace of its own, and the /dev/shm of all. In each, the same process ids mean other processes. */
const UNSHARE = [
  ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']),
  ...['--pid', '--fork', '--mount-proc', '--uts', '--kill-child=SIGKILL'],
];

describeTier(
  'triton',
  'containers that share /dev/shm and a server',
  () => {
    let client: TritonClient;

    beforeAll(() => {
      client = new TritonClient(sharedTriton().grpcUrl);
    });

    afterAll(() => client.close());

    interface Container {
      readonly pid: number;
      readonly pidNamespace: string;
      readonly entry: string;
      ask<T>(what: 'reap' | 'infer'): Promise<T>;
      kill(): Promise<void>;
    }

    async function startContainer(): Promise<Container> {
      const script = 'hostname box && exec "$@"';
      const args = [...UNSHARE, 'sh', '-c', script, 'sh', process.execPath, container, sharedTriton().grpcUrl];
      const child: ChildProcessWithoutNullStreams = spawn('unshare', args);
      child.stderr.pipe(process.stderr);
      onTestFinished(() => void child.kill('SIGKILL'));
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async () => JSON.parse((await lines.next()).value as string) as unknown;
      const { pid, pidNamespace, key } = (await next()) as { pid: number; pidNamespace: string; key: string };
      return {
        pid,
        pidNamespace,
        // Without the slot's number.
        entry: key.slice(1).replace(/\.\d+$/, ''),
        async ask<T>(what: string): Promise<T> {
          child.stdin.write(`${what}\n`);
          return (await next()) as T;
        },
        async kill() {
          const exit = once(child, 'exit');
          child.kill('SIGKILL');
          await exit;
        },
      };
    }

    const of = ({ entry }: Container, names: readonly string[]) => names.filter((name) => name.startsWith(`${entry}.`));
    const regions = async (box: Container) =>
      of(
        box,
        (await client.systemSharedMemory.status()).map(({ name }) => name),
      );
    const entries = (box: Container) => of(box, readdirSync('/dev/shm'));

    // A pool that another test opens at the wrong moment removes the dead one's entries first, as it is meant to.
    test('with one hostname and one process id never touch what is alive, and remove what is dead', {
      retry: 3,
    }, async () => {
      const [one, two] = await Promise.all([startContainer(), startContainer()]);
      // To themselves they look the same.
      expect(one.pid).toBe(two.pid);
      expect(one.pidNamespace).not.toBe(two.pidNamespace);

      for (const [reaper, other] of [
        [one, two],
        [two, one],
      ] as const) {
        const { removed, unregistered, left } = await reaper.ask<ReapReport>('reap');
        expect([...of(other, removed), ...of(other, unregistered)]).toEqual([]);
        expect([...of(reaper, removed), ...of(reaper, unregistered)]).toEqual([]);
        expect(
          of(
            other,
            left.map(({ name }) => name),
          ),
        ).toHaveLength(2);
      }
      for (const box of [one, two]) {
        expect(await regions(box)).toHaveLength(2);
        expect(await box.ask<PoolStats & { right: boolean }>('infer')).toMatchObject({
          right: true,
          registerCalls: 2,
          reregistrations: 0,
        });
      }

      await one.kill();
      expect(await regions(one)).toHaveLength(2);
      expect(entries(one)).toHaveLength(2);
      const report = await two.ask<ReapReport>('reap');
      expect(of(one, report.unregistered)).toHaveLength(2);
      expect(of(one, report.removed)).toHaveLength(2);
      expect(await regions(one)).toEqual([]);
      expect(entries(one)).toEqual([]);
      expect(await two.ask('infer')).toMatchObject({ right: true, registerCalls: 2 });
      // The next container cleans up after the last: by opening its pool.
      await two.kill();
      const three = await startContainer();
      expect(await regions(two)).toEqual([]);
      expect(entries(two)).toEqual([]);
      await three.kill();
      const four = await startContainer();
      expect(entries(three)).toEqual([]);
      await four.kill();
    });
  },
  { needs: ['mount'] },
);
