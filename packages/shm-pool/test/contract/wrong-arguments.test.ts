/** What is no client, no pool, no signal, no name and hardly a promise. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installShutdown, reap, SharedRegion, TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';

let server: FakeTriton;
let pool: TensorPool;
const OPTIONS = { model: 'identity', slots: 1, transport: 'system' } as const;

beforeEach(async () => {
  server = new FakeTriton();
  pool = await TensorPool.open(server, OPTIONS);
});
afterEach(() => pool.close());

test('a client that is none, or lacks a call, is refused by name wherever one is taken', async () => {
  const entries = [
    (client: never) => TensorPool.open(client, OPTIONS),
    (client: never) => TensorPool.open(client, { ...OPTIONS, transport: 'bytes' }),
    (client: never) => SharedRegion.allocate(client, { kind: 'system', byteLength: 64 }),
    (client: never) => reap(client),
  ];
  const lacking = (member: string) => Object.defineProperty(new FakeTriton(), member, { value: undefined }) as never;
  for (const enter of entries) {
    await expect(enter(undefined as never)).rejects.toThrow('Expected object for client but received undefined');
    await expect(enter('grpc://localhost:8001' as never)).rejects.toThrow('Expected object for client');
    await expect(enter(lacking('serverMetadata'))).rejects.toThrow('Expected function for client.serverMetadata');
    // Undefined twice would pass for one connection.
    await expect(enter(lacking('connectionEpoch'))).rejects.toThrow('Expected number for client.connectionEpoch');
    await expect(enter(lacking('cudaSharedMemory'))).rejects.toThrow('Expected object for client.cudaSharedMemory');
  }
  await expect(TensorPool.open(lacking('prepare'), OPTIONS)).rejects.toThrow('Expected function for client.prepare');
});

test('a shutdown of what is no pool, or on what is no signal that can be caught, installs nothing', () => {
  const count = () => process.listenerCount('SIGUSR2') + process.listenerCount('SIGTERM');
  const before = count();
  for (const none of [undefined, null, {}, 5]) {
    expect(() => installShutdown(none as never)).toThrow(/^Expected TensorPool for pool but received/);
  }
  for (const signal of ['SIGKILL', 'SIGSTOP', 'SIGNONE', 'sigterm', 'toString']) {
    const words = `Expected names of signals that a process can catch for signals but received ${signal}`;
    expect(() => installShutdown(pool, { signals: ['SIGUSR2', signal as never] })).toThrow(words);
  }
  expect(() => installShutdown(pool, { signals: ['SIGUSR2', 15 as never] })).toThrow('Expected array of signal names');
  expect(count()).toBe(before);
});

test('output names that are none, holes among them, are refused: no names would mean all', async () => {
  await pool.run(async (lease) => {
    for (const outputs of [new Array(1), [undefined], [1], [null]] as never[]) {
      await expect(lease.infer({ outputs })).rejects.toThrow('Expected array of output names for outputs');
    }
  });
  expect(server.calls.infer).toBe(0);
});

test.each<[string, (settle: () => void) => unknown]>([
  [
    'throws',
    () => {
      throw new Error('no promise');
    },
  ],
  [
    'settles twice',
    (settle) => {
      settle();
      settle();
    },
  ],
  [
    'settles at once and throws',
    (settle) => {
      settle();
      throw new Error('late');
    },
  ],
])('a thenable that %s holds once, and is over', async (_, then) => {
  const thenable = { then } as never;
  const slow = new Promise((resolve) => setTimeout(resolve, 20));
  const lease = await pool.acquire();
  let over = false;
  lease.hold(
    slow.then(() => {
      over = true;
    }),
  );
  lease.hold(thenable);
  lease.release();
  const next = await pool.acquire({ timeoutMs: 5000 });
  expect(over).toBe(true);
  next.release();
  const region = await SharedRegion.allocate(server, { kind: 'system', byteLength: 64 });
  region.hold(thenable);
  expect(await region.release({ timeoutMs: 5000 })).toEqual({ proven: true });
});
