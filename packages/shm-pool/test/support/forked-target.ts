/** A devserver in a process of its own, for schedules on device memory: no driver opens a handle of its own process. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TritonClient } from '@zerohop/triton-client';
import { cuttableProxy } from './cuttable-proxy.js';
import type { Target } from './schedule/target.js';
import { delay, namesOf, tensors, unregisterAll, untilReady } from './schedule/targets.js';

const fixture = fileURLToPath(new URL('../fixtures/slow-server.mjs', import.meta.url));

interface Forked {
  readonly child: ChildProcess;
  readonly grpcUrl: string;
  readonly exit: Promise<unknown>;
}

async function start(port = '0'): Promise<Forked> {
  const child = fork(fixture, [port], { execArgv: [] });
  const exit = once(child, 'exit');
  const ended = exit.then(([code]) => {
    throw new Error(`The server ended with ${String(code)}`);
  });
  ended.catch(() => undefined);
  const [{ grpcUrl }] = (await Promise.race([once(child, 'message'), ended])) as [{ grpcUrl: string }];
  return { child, grpcUrl, exit };
}

export async function forkedTarget(): Promise<Target> {
  let server = await start();
  const leaving: Promise<unknown>[] = [];
  const proxy = await cuttableProxy(server.grpcUrl);
  const client = new TritonClient(proxy.url, { closeTimeoutMs: 2000 });
  const direct = new TritonClient(proxy.url);
  return {
    ...tensors,
    name: 'devserver in another process',
    version: '2.51',
    client,
    countsUsers: true,
    noticeMs: 100,
    disturbances: {
      cut: () => proxy.cut(),
      delay: () => delay(proxy),
      forget: () => unregisterAll(proxy.url),
      async kill() {
        server.child.kill('SIGKILL');
        await server.exit;
        server = await start(new URL(server.grpcUrl.replace('grpc:', 'http:')).port);
      },
      async 'take over'() {
        const before = server;
        server = await start();
        proxy.target(server.grpcUrl);
        proxy.cut();
        before.child.disconnect();
        leaving.push(before.exit);
      },
    },
    up: () => untilReady(direct),
    regionNames: () => namesOf(direct),
    async close() {
      await Promise.all([client.close(), direct.close()]);
      await proxy.close();
      server.child.disconnect();
      await Promise.all([server.exit, ...leaving]);
    },
  };
}
