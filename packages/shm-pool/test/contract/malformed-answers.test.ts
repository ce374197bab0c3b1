/** What a client resolves with that is no answer: one code for all of it, and the slot comes back. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ClientResult, TensorPool, type Transport } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { code, pattern, roundTrip } from '../support/pool-suite.js';

/** Makes of a good answer what its client gives instead. */
type Spoil = (good: ClientResult) => unknown;

class OddTriton extends FakeTriton {
  spoil: Spoil = (good) => good;

  override infer(...args: Parameters<FakeTriton['infer']>): ReturnType<FakeTriton['infer']> {
    const call = super.infer(...args);
    const answer = call.then((good) => this.spoil(good) as ClientResult);
    answer.catch(() => undefined);
    return Object.assign(answer, { settled: call.settled });
  }
}

let server: OddTriton;

beforeEach(() => {
  server = new OddTriton();
});

const withOutput =
  (change: object): Spoil =>
  (good) => ({ ...good, outputs: good.outputs.map((output) => ({ ...output, ...change })) });

const EVERYWHERE: readonly [string, Spoil][] = [
  ['nothing', () => undefined],
  ['null', () => null],
  ['a text', () => 'ok'],
  ['no outputs', ({ model }) => ({ model })],
  ['outputs that are no list', (good) => ({ ...good, outputs: { OUT: good.outputs[0] } })],
  ['no output at all', (good) => ({ ...good, outputs: [] })],
  ['a hole for an output', (good) => ({ ...good, outputs: new Array(1) })],
  ['null for an output', (good) => ({ ...good, outputs: [null, ...good.outputs] })],
  ['an output without a name', withOutput({ name: undefined })],
  ['an output with a symbol for its name', withOutput({ name: Symbol('OUT') })],
  ['an output without a datatype', withOutput({ datatype: undefined })],
  ['an output without a shape', withOutput({ shape: undefined })],
  ['a shape that is a text', withOutput({ shape: '4,64' })],
  ['a shape of texts', withOutput({ shape: ['4', '64'] })],
  ['a shape of bigints', withOutput({ shape: [4n, 64n] })],
  ['a shape of symbols', withOutput({ shape: [Symbol('4'), 64] })],
  ['a shape with holes', withOutput({ shape: new Array(2) })],
];
const IN_MESSAGES: readonly [string, Spoil][] = [
  ['an output without bytes', withOutput({ bytes: undefined })],
  ['bytes that are a list', withOutput({ bytes: [1, 2, 3] })],
];
const cases = (['system', 'bytes'] as const).flatMap((transport) =>
  [...EVERYWHERE, ...(transport === 'bytes' ? IN_MESSAGES : [])].map(([what, spoil]) => ({ transport, what, spoil })),
);

let pool: TensorPool;
afterEach(() => pool.close());

const open = (transport: Transport, verify = false) =>
  TensorPool.open(server, { model: 'identity', slots: 1, transport, verify });

test.for(cases)("on '$transport', $what", async ({ transport, spoil }) => {
  pool = await open(transport);
  const lease = await pool.acquire();
  await lease.input('IN').write(pattern(1));
  server.spoil = spoil;
  await expect(lease.infer()).rejects.toThrow(code('ERR_ANSWER_MISMATCH'));
  server.spoil = (good) => good;
  await roundTrip(lease, 2);
  lease.release();
  expect(pool.stats).toMatchObject({ idle: 1, retired: 0 });
});

test.for([...EVERYWHERE, ...IN_MESSAGES])('an opening that verifies by %s says so', async ([, spoil]) => {
  server.spoil = spoil;
  pool = await open('system', true);
  expect(pool.verified).toBe(false);
  expect(pool.reason).toMatch(/not verified: /);
});

test("an output in a region needs no bytes of the client's", async () => {
  pool = await open('system');
  server.spoil = withOutput({ bytes: undefined });
  await pool.run((lease) => roundTrip(lease, 3));
});
