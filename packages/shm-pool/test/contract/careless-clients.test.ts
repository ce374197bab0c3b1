/**
 * Clients that do not say how a call ended for its memory, such as a wrapper in an async function, which drops `settled`.
 * Nothing is known then: no slot may come back without a proof, none may be stuck, and nothing may reject unhandled.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type ClientCall, SharedRegion, TensorPool } from '../../src/index.js';
import { FakeError, FakeTriton } from '../support/fake-triton.js';
import { gate, pattern } from '../support/pool-suite.js';

/** A server that is at its request while the next call of its client ends in another way. */
class Careless extends FakeTriton {
  instead: (() => unknown) | undefined;

  override infer(...request: Parameters<FakeTriton['infer']>): ClientCall {
    const call = super.infer(...request);
    const { instead } = this;
    this.instead = undefined;
    return instead === undefined ? call : (instead() as ClientCall);
  }
}

async function open(transport: 'system' | 'bytes') {
  const server = new Careless();
  const pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport });
  onTestFinished(async () => {
    expect(await pool.close({ timeoutMs: 1000 })).toEqual({ unproven: [] });
    expect(server.regionNames).toEqual([]);
  });
  return { server, pool };
}

const failing = (settled: unknown) => Object.assign(Promise.reject(new FakeError('CUT', 'cut')), { settled });
const refusing = async (delayMs: number) => {
  await sleep(delayMs);
  throw new Error('settled rejects');
};
const NO_PROMISE = "Expected promise for what the client's infer returns but received";

const CARELESS: [string, () => unknown, string][] = [
  ['says nothing', () => failing(undefined), 'cut'],
  ['says what is no settlement', () => failing(Promise.resolve('done')), 'cut'],
  ['rejects', () => failing(Promise.reject(new Error('settled rejects'))), 'cut'],
  ['rejects later', () => failing(refusing(20)), 'cut'],
  ['gives an object', () => ({}), NO_PROMISE],
  ['gives undefined', () => undefined, NO_PROMISE],
  ['gives null', () => null, NO_PROMISE],
];

test.each(CARELESS)(
  'a client that %s: the slot waits for the proof, and then for nothing',
  async (_, instead, words) => {
    const { server, pool } = await open('system');
    const written = gate();
    server.gate = written.opened;
    const lease = await pool.acquire();
    server.instead = instead;
    await expect(lease.infer()).rejects.toThrow(words);
    await expect(lease.infer()).rejects.toMatchObject({ code: 'ERR_LEASE_DETACHED' });
    lease.release();
    // The server is at it.
    await expect(pool.acquire({ timeoutMs: 100 })).rejects.toMatchObject({ code: 'ERR_POOL_TIMEOUT' });
    written.open();
    await pool.run(roundTrip, { timeoutMs: 5000 });
    expect(pool.stats).toMatchObject({ size: 1, idle: 1, retired: 0, registerCalls: 2 });
  },
);

test.each(CARELESS)('a client that %s, by messages: the slot is not stuck', async (_, instead, words) => {
  const { server, pool } = await open('bytes');
  server.instead = instead;
  await pool.run((lease) => expect(lease.infer()).rejects.toThrow(words));
  await pool.run(roundTrip, { timeoutMs: 5000 });
});

async function roundTrip(lease: Awaited<ReturnType<TensorPool['acquire']>>) {
  await lease.input('IN').write(pattern(7));
  expect(await (await lease.infer()).output<'FP32'>('OUT').read()).toEqual(pattern(7));
}

test('a region that holds a request, not its `settled`, waits for the server all the same', async () => {
  const server = new FakeTriton();
  const region = await SharedRegion.allocate(server, { kind: 'system', byteLength: 2048 });
  const written = gate();
  server.gate = written.opened;
  const inputs = { IN: { datatype: 'FP32', shape: [4, 64], ...region.ref({ byteLength: 1024 }) } } as const;
  const outputs = { OUT: region.ref({ byteOffset: 1024 }) };
  const call = server.infer('identity', { inputs, outputs }, { timeoutMs: 10 });
  region.hold(call);
  await expect(call).rejects.toThrow('no answer in time');
  const { unregister } = server.calls;
  const release = region.release({ timeoutMs: 5000 });
  await sleep(50);
  // On an older server this would be its death.
  expect(server.calls.unregister).toBe(unregister);
  written.open();
  expect(await release).toEqual({ proven: true });
});
