/** `verify: true` against servers that see something else in memory than is there. */
import { readdirSync } from 'node:fs';
import { afterAll, afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  type ClientCall,
  type ClientCallOptions,
  type ClientRequest,
  type PoolOptions,
  TensorPool,
} from '../../src/index.js';
import { FakeError, FakeTriton, identity } from '../support/fake-triton.js';
import { ours, removeOurEntries } from '../support/names.js';
import { code, gate, pattern, roundTrip } from '../support/pool-suite.js';

type Change = (request: ClientRequest) => ClientRequest;

/** Changes what the requests that name a region, and those that don't, are for the server. */
class OddTriton extends FakeTriton {
  byRegion: Change = (request) => request;
  byMessage: Change = (request) => request;

  override infer(model: string, request: ClientRequest, options?: ClientCallOptions): ClientCall {
    const named = Object.values(request.inputs).some((input) => 'region' in input);
    return super.infer(model, (named ? this.byRegion : this.byMessage)(request), options);
  }
}

/** Inputs in shared memory are zeros for the server, as a handle that WSL opens shows them. */
const readsZeros: Change = (request) => ({
  ...request,
  inputs: Object.fromEntries(
    Object.entries(request.inputs).map(([name, { datatype, shape, ...rest }]) => [
      name,
      { datatype, shape, data: new Uint8Array('byteLength' in rest ? rest.byteLength : 0) },
    ]),
  ),
});

/** What the server writes never reaches the block. */
const writesElsewhere: Change = (request) => ({ ...request, outputs: { OUT: {} } });

/** With the status of a server that cannot be reached. */
const refusedByQueue: Change = (request) => {
  server.nextAnswer = new FakeError('TRITON_UNAVAILABLE', 'Request timeout expired');
  return request;
};

/** Another answer each time. */
const drawsLots = (): Change => {
  let draws = 0;
  return (request) => ({
    ...request,
    inputs: Object.fromEntries(
      Object.entries(request.inputs).map(([name, { datatype, shape }]) => {
        draws += 1;
        return [name, { datatype, shape, data: new Uint8Array(new Float32Array(4 * 64).fill(draws).buffer) }];
      }),
    ),
  });
};

/** Each element a little off, as by a kernel that sums in another order. */
const almost =
  (factor: number): Change =>
  (request) => ({
    ...request,
    inputs: Object.fromEntries(
      Object.entries(request.inputs).map(([name, input]) => {
        if (!('data' in input)) throw new Error('Not in the message');
        const values = new Float32Array(input.data.slice().buffer).map((value) => value * factor);
        return [name, { ...input, data: new Uint8Array(values.buffer) }];
      }),
    ),
  });

let server: OddTriton;
let pools: TensorPool[];

beforeEach(() => {
  server = new OddTriton({ identity });
  pools = [];
});

afterEach(async () => {
  server.down = undefined;
  for (const pool of pools) await pool.destroy();
});

afterAll(removeOurEntries);

async function open(options: Partial<PoolOptions> = {}): Promise<TensorPool> {
  const pool = await TensorPool.open(server, { model: 'identity', slots: 2, verify: true, ...options });
  pools.push(pool);
  return pool;
}

const left = () => readdirSync('/dev/shm').filter(ours);

test('equal answers: taken, and said so', async () => {
  const pool = await open();
  expect(pool.verified).toBe(true);
  expect(pool.reason).toMatch(/^system: .*; an answer was verified \(equal bytes\); not cuda/);
  expect(server.calls.infer).toBe(2);
  expect(pool.stats.registerCalls).toBe(2);
  await pool.run((lease) => roundTrip(lease, 3));
});

test('off by default: the model is not run', async () => {
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport: 'system' });
  pools.push(pool);
  expect(pool.verified).toBe(false);
  expect(pool.reason).not.toContain('verified');
  expect(server.calls.infer).toBe(0);
});

test.for<[string, Change, RegExp]>([
  ['reads zeros', readsZeros, /output 'OUT': element \d+ is 0 instead of 0\.[257]+/],
  ['writes elsewhere', writesElsewhere, /output 'OUT': element \d+ is -2\.87\d*e-16 instead of 0/],
])('a server that %s: refused by name, nothing left, and auto moves on', async ([, change, words]) => {
  server.byRegion = change;
  const refused = open({ transport: 'system' });
  await expect(refused).rejects.toThrow(code('ERR_VERIFY_FAILED'));
  await expect(refused).rejects.toThrow(words);
  expect(left()).toEqual([]);
  expect(server.regionNames).toEqual([]);

  const pool = await open();
  expect(pool.transport).toBe('bytes');
  expect(pool.verified).toBe(false);
  expect(pool.reason).toMatch(/^bytes: .*; not cuda: .*; not system: An answer of model 'identity' by system differs/);
  expect(left()).toEqual([]);
});

test('a request that only fails by shared memory: refused', async () => {
  server.byRegion = (request) => {
    server.nextAnswer = new FakeError('TRITON_INTERNAL', 'failed to copy');
    return request;
  };
  const refused = open({ transport: 'system' });
  await expect(refused).rejects.toThrow(code('ERR_VERIFY_FAILED'));
  await expect(refused).rejects.toThrow('answered by message, but not by system (failed to copy)');
  expect(server.regionNames).toEqual([]);
});

test('floats within the tolerance: taken, and said so', async () => {
  server.byMessage = almost(1.0005);
  const pool = await open();
  expect(pool.verified).toBe(true);
  expect(pool.reason).toContain('an answer was verified (within the tolerance of floats)');
});

test('floats beyond it are refused', async () => {
  server.byMessage = almost(1.01);
  await expect(open({ transport: 'system' })).rejects.toThrow(code('ERR_VERIFY_FAILED'));
});

test.for<[string, () => void, string]>([
  [
    'keeps sequences',
    () => {
      server = new OddTriton({ identity: { ...identity, raw: { sequence_batching: {} } } });
    },
    'the model keeps sequences',
  ],
  [
    'fails on generated inputs',
    () => {
      server.byMessage = (request) => {
        server.nextAnswer = new FakeError('TRITON_INTERNAL', 'no such index');
        return request;
      };
    },
    'the model does not answer generated inputs (no such index)',
  ],
  [
    'has no place in its queue for the first request',
    () => {
      server.byMessage = refusedByQueue;
    },
    'the model does not answer generated inputs (Request timeout expired)',
  ],
  [
    'has no place in its queue for the second request',
    () => {
      server.byRegion = refusedByQueue;
    },
    'the server is busy (Request timeout expired)',
  ],
  [
    'draws lots',
    () => {
      server.byMessage = drawsLots();
    },
    "the model's answers to one input differ by themselves",
  ],
])('a model that %s: opened unverified, with the reason and a warning', async ([, arrange, why]) => {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => emitted.mockRestore());
  arrange();
  const pool = await open({ transport: 'system', name: `unverified: ${why}` });
  expect(pool.transport).toBe('system');
  expect(pool.verified).toBe(false);
  expect(pool.reason).toContain(`; not verified: ${why}`);
  expect(emitted).toHaveBeenCalledWith(
    `Pool 'unverified: ${why}' was not verified: ${why}`,
    expect.objectContaining({ code: 'ZEROHOP_NOT_VERIFIED' }),
  );
});

test("with 'bytes' asked for by name there is nothing to compare: said in the reason, without a warning", async () => {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => emitted.mockRestore());
  const pool = await open({ transport: 'bytes' });
  expect(pool.verified).toBe(false);
  expect(pool.reason).toBe(
    'bytes: tensors travel in the messages; not verified: there is no second way to compare with',
  );
  const unasked = await open({ transport: 'bytes', verify: false });
  expect(unasked.reason).toBe('bytes: tensors travel in the messages');
  expect(server.calls.infer).toBe(0);
  expect(emitted).not.toHaveBeenCalled();
});

test('a model that keeps sequences is never run', async () => {
  server = new OddTriton({ identity: { ...identity, raw: { sequence_batching: {} } } });
  await open({ transport: 'system' });
  expect(server.calls.infer).toBe(0);
});

test('aborted while the server is at it: rejected at once; the memory goes after its late answer, not before', async () => {
  const controller = new AbortController();
  const answer = gate();
  const asked = gate();
  server.byRegion = (request) => {
    server.gate = answer.opened;
    asked.open();
    return request;
  };
  const opening = open({ transport: 'system', signal: controller.signal });
  await asked.opened;
  controller.abort(new Error('changed my mind'));
  await expect(opening).rejects.toThrow('changed my mind');
  // The other slot's memory was never used.
  await expect.poll(() => left().length).toBe(1);
  expect(server.regionNames).toHaveLength(1);
  answer.open();
  await expect.poll(() => left()).toEqual([]);
  expect(server.regionNames).toEqual([]);
});

test.for<[string, number]>([
  ['2.51.0', 0],
  ['2.48.0', 1],
])('the connection lost meanwhile: server %s, and so many objects are given up: %i', async ([version, retired]) => {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => emitted.mockRestore());
  const before = left().length;
  server.version = version;
  const answer = gate();
  server.byRegion = (request) => {
    server.gate = answer.opened;
    setTimeout(() => server.loseConnection(), 5);
    return request;
  };
  await expect(open({ transport: 'system', slots: 1 })).rejects.toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
  expect(server.regionNames).toHaveLength(1);
  answer.open();
  await expect.poll(() => left().length - before).toBe(retired);
  await expect.poll(() => emitted.mock.calls.length).toBe(retired);
  // A server that does not count users dies of it.
  expect(server.calls.unregister > 0).toBe(retired === 0);
  expect(server.regionNames).toHaveLength(retired);
});

test('what auto would choose later is verified as well, and the transport in use not again', async () => {
  const before = left();
  server.byRegion = readsZeros;
  const pool = await open();
  expect(pool.transport).toBe('bytes');
  expect((await pool.reconsider()).reason).toMatch(/^bytes: .*; not system: An answer .* differs/);
  server.byRegion = (request) => request;
  expect((await pool.reconsider()).reason).toMatch(/^system: .*; an answer was verified \(equal bytes\)/);
  expect(left()).toEqual(before);

  const good = await open();
  const { infer } = server.calls;
  expect((await good.reconsider()).transport).toBe('system');
  expect(server.calls.infer).toBe(infer);
});

test('the blocks of a verified pool carry each request its own bytes', async () => {
  const pool = await open({ slots: 1, transport: 'system' });
  await pool.run(async (lease) => {
    await lease.input('IN').write(pattern(7));
    expect(await (await lease.infer()).output<'FP32'>('OUT').read()).toEqual(pattern(7));
  });
});
