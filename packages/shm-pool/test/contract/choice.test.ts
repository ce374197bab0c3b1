/** Which transport is taken, on what evidence, and what is said about the others; on a machine without CUDA. */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { type PoolOptions, TensorPool, type Transport } from '../../src/index.js';
import { FakeError, FakeTriton, identity } from '../support/fake-triton.js';
import { ours } from '../support/names.js';
import { code, roundTrip } from '../support/pool-suite.js';

process.env.ZEROHOP_LIBCUDA = '/nonexistent/libcuda.so.1';

const NO_CUDA = 'not cuda: CUDA is not available: .*';
const SYSTEM = '^system: the server opened our region in /dev/shm and lists it';
const BYTES = '^bytes: tensors travel in the messages';

let server = new FakeTriton();
const pools: TensorPool[] = [];

afterEach(async () => {
  server.down = undefined;
  for (const pool of pools.splice(0)) await pool.close();
  server = new FakeTriton();
  expect(readdirSync('/dev/shm').filter(ours)).toEqual([]);
});

async function open(options: Partial<PoolOptions> = {}): Promise<TensorPool> {
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, ...options });
  pools.push(pool);
  return pool;
}

const unseen = () => new FakeError('TRITON_INTERNAL', "Unable to open shared memory region: '/x'");

test.for<[string, (server: FakeTriton) => void, Transport, string, string | undefined]>([
  ['shared memory that works', () => undefined, 'system', `${SYSTEM}; ${NO_CUDA}$`, undefined],
  [
    'shared memory switched off',
    (s) => Object.assign(s, { state: 'disabled' }),
    'bytes',
    `${BYTES}; ${NO_CUDA}; not system: The server refuses client shared memory: start it with --allow-client-shm=true$`,
    'ERR_SHM_DISABLED',
  ],
  [
    'shared memory behind a header',
    (s) => Object.assign(s, { state: 'restricted' }),
    'bytes',
    `${BYTES}; ${NO_CUDA}; not system: The server restricts its shared-memory calls: give the client the header that they ask for$`,
    'ERR_SHM_RESTRICTED',
  ],
  [
    'another /dev/shm',
    (s) => Object.assign(s, { refuseRegister: unseen() }),
    'bytes',
    `${BYTES}; ${NO_CUDA}; not system: The server does not see our /dev/shm: run both on one host, .*--ipc=host[^.]*$`,
    'ERR_SHM_NAMESPACE',
  ],
  [
    'another /dev/shm at an address of another host',
    (s) => Object.assign(s, { refuseRegister: unseen(), isLocal: false }),
    'bytes',
    `${BYTES}; ${NO_CUDA}; not system: The server does not see our /dev/shm: .*. The server's address is none of this host's own$`,
    'ERR_SHM_NAMESPACE',
  ],
  [
    'a registration refused for another reason',
    (s) => Object.assign(s, { refuseRegister: new FakeError('TRITON_INTERNAL', 'no more mappings') }),
    'bytes',
    `${BYTES}; ${NO_CUDA}; not system: The server refused the region: no more mappings$`,
    'ERR_SHM_REFUSED',
  ],
  [
    'a probe that fails oddly, which says nothing',
    (s) => Object.assign(s, { sharedMemoryState: () => Promise.reject(new Error('odd')) }),
    'system',
    `${SYSTEM}; ${NO_CUDA}$`,
    undefined,
  ],
  [
    'a client without the probe',
    (s) => Object.assign(s, { sharedMemoryState: undefined }),
    'system',
    `${SYSTEM}; ${NO_CUDA}$`,
    undefined,
  ],
])(
  '%s: the sentence, and the code of a transport asked for by name',
  async ([, arrange, transport, sentence, refusal]) => {
    arrange(server);
    const pool = await open();
    expect(pool.transport).toBe(transport);
    expect(pool.reason).toMatch(new RegExp(sentence));
    await pool.run((lease) => roundTrip(lease, 1));
    if (refusal === undefined) return;
    await expect(open({ transport: 'system' })).rejects.toThrow(code(refusal));
  },
);

test('where the server takes no regions none is made', async () => {
  server.state = 'disabled';
  await open();
  expect(server.calls.register).toBe(0);
});

test.for(['down', 'sharedMemoryState'] as const)(
  'a server that cannot be reached (%s) is an error, also for auto',
  async (where) => {
    const gone = new FakeError('TRITON_UNAVAILABLE', 'connect ECONNREFUSED');
    if (where === 'down') server.down = gone;
    else server.sharedMemoryState = () => Promise.reject(gone);
    await expect(open()).rejects.toBe(gone);
  },
);

test('an opening can be aborted while the probe has no answer', async () => {
  const controller = new AbortController();
  server.sharedMemoryState = () => {
    controller.abort(new Error('changed my mind'));
    return new Promise(() => undefined);
  };
  await expect(open({ signal: controller.signal })).rejects.toThrow('changed my mind');
});

test('a registration that the next status does not list: several servers, and nothing is left', async () => {
  // Status calls alternate between this server and another one, as behind a load balancer that spreads calls.
  const other = new FakeTriton({ identity });
  const { status } = server.systemSharedMemory;
  let turn = 0;
  server.systemSharedMemory.status = (name) => {
    turn += 1;
    return turn % 2 === 1 ? other.systemSharedMemory.status(name) : status(name);
  };
  const refused = open({ transport: 'system' });
  await expect(refused).rejects.toThrow(code('ERR_SEVERAL_SERVERS'));
  await expect(refused).rejects.toThrow(/a load balancer/);
});

test.for<[string, object, RegExp]>([
  ['verify', { verify: 'yes' }, /^Expected boolean for verify/],
  ['serverDeviceId', { serverDeviceId: -1 }, /^Expected non-negative integer for serverDeviceId/],
  ['device', { device: -1 }, /^Expected non-negative integer for device/],
  ['device', { device: 'gpu' }, /^Expected Device or its ordinal for device but received gpu/],
  ['device', { device: null }, /^Expected Device or its ordinal for device but received null/],
  ['serverDeviceId', { serverDeviceId: '0' }, /^Expected non-negative integer for serverDeviceId/],
])('a wrong %s is refused before anything is asked', async ([, options, message]) => {
  server.down = new FakeError('TRITON_UNAVAILABLE', 'asked');
  await expect(open(options)).rejects.toThrow(message);
});

test('an output has no block of its own where it travels in the message', async () => {
  const pool = await open({ transport: 'bytes' });
  await pool.run((lease) => {
    expect(() => lease.output('OUT')).toThrow(code('ERR_OUTPUT_IN_MESSAGE'));
    expect(() => lease.output('OUT')).toThrow("use reply.output('OUT')");
  });
});

test('explain() tells what open read', async () => {
  server = new FakeTriton({
    identity: { ...identity, instanceKind: 'KIND_CPU', raw: { response_cache: { enable: true } } },
  });
  const pool = await open();
  const { transport, copies, text } = pool.explain();
  expect(transport).toBe('system');
  expect(copies.map(({ where }) => where)).toEqual(['client', 'server', 'backend']);
  expect(text).toMatch(/^Model 'identity' by 'system', copies that remain:\n- client: /);
});

test('the pool keeps its transport, and says when auto would choose another one', async () => {
  server.state = 'disabled';
  const pool = await open();
  expect(pool.transport).toBe('bytes');
  expect(pool.stats.wouldChoose).toBe('bytes');
  expect(await pool.reconsider()).toMatchObject({ transport: 'bytes' });

  server.state = 'enabled';
  const told = vi.fn();
  pool.on('transport', told);
  const choice = await pool.reconsider();
  expect(choice.transport).toBe('system');
  expect(choice.reason).toMatch(new RegExp(SYSTEM));
  // The same answer again is no news.
  expect(await pool.reconsider()).toEqual(choice);
  expect(told.mock.calls).toEqual([[choice]]);
  expect(pool.stats).toMatchObject({ wouldChoose: 'system', registerCalls: 0 });
  expect(pool.transport).toBe('bytes');
  await pool.run((lease) => roundTrip(lease, 2));
  expect(server.regionNames).toEqual([]);
  expect(readdirSync('/dev/shm').filter(ours)).toEqual([]);
});

test('after a restart it is asked by itself, without a register call of the pool', async () => {
  const pool = await open({ slots: 2 });
  const told = once(pool, 'transport');
  server.forgetRegions();
  // What was registered before the restart can't be any more.
  const lease = await pool.acquire();
  server.state = 'disabled';
  await lease.input('IN').write(new Float32Array(256));
  await lease.infer();
  lease.release();
  const [{ transport, reason }] = await told;
  expect(transport).toBe('bytes');
  expect(reason).toContain('not system: The server refuses client shared memory');
  expect(pool.stats).toMatchObject({ wouldChoose: 'bytes' });
  expect(pool.transport).toBe('system');
});

test('a pool whose transport was named is not asked for after a restart, but can be', async () => {
  const pool = await open({ transport: 'bytes' });
  expect(pool.stats.wouldChoose).toBe('bytes');
  expect((await pool.reconsider()).transport).toBe('system');
  expect(pool.stats.wouldChoose).toBe('system');
});

test('several questions at once are one', async () => {
  const pool = await open();
  const { register } = server.calls;
  await Promise.all([pool.reconsider(), pool.reconsider(), pool.reconsider()]);
  expect(server.calls.register).toBe(register + 1);
});

test('a server that is away is an error of reconsider(), and changes nothing', async () => {
  const pool = await open();
  server.down = new FakeError('TRITON_UNAVAILABLE', 'connect ECONNREFUSED');
  await expect(pool.reconsider()).rejects.toThrow('ECONNREFUSED');
  expect(pool.stats.wouldChoose).toBe('system');
});

test('a close ends a question without an answer, and a closed pool asks none', async () => {
  const pool = await open();
  server.sharedMemoryState = () => new Promise(() => undefined);
  const asked = pool.reconsider();
  await Promise.all([expect(asked).rejects.toThrow(code('ERR_POOL_CLOSED')), pool.close()]);
  await expect(pool.reconsider()).rejects.toThrow(code('ERR_DISPOSED'));
});
