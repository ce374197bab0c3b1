/** Names of tensors that are no names. */
import { expect, test } from 'vitest';
import { TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { pattern } from '../support/pool-suite.js';

const WRONG: readonly [unknown, string][] = [
  [Symbol('IN'), 'Symbol(IN) of type symbol'],
  [undefined, 'undefined of type undefined'],
  [null, 'null of type object'],
  [5, '5 of type number'],
  [5n, '5 of type bigint'],
  [() => 'IN', 'of type function'],
  [{ toString: () => 'IN' }, '[object Object] of type object'],
  [Object.create(null), '[object Object] of type object'],
  [['IN'], '[object Array] of type object'],
];

test.for(['system', 'bytes'] as const)(
  "what is no text is refused as a name, with transport '%s'",
  async (transport) => {
    const server = new FakeTriton();
    await using pool = await TensorPool.open(server, { model: 'identity', slots: 1, transport });
    using lease = await pool.acquire();
    await lease.input('IN').write(pattern(1));
    const reply = await lease.infer();
    const { infer } = server.calls;
    for (const [name, words] of WRONG) {
      const refused = expect.objectContaining({
        name: 'TypeError',
        message: expect.stringMatching(/^Expected string for name but received /) as string,
      });
      const entries = [
        () => pool.input(name as string),
        () => pool.output(name as string),
        () => lease.input(name as string),
        () => lease.output(name as string),
        () => reply.output(name as string),
      ];
      for (const enter of entries) {
        expect(enter).toThrow(refused);
        expect(enter).toThrow(words);
      }
      await expect(lease.infer({ outputs: [name as string] })).rejects.toThrow(TypeError);
      await expect(lease.infer({ outputs: ['OUT', name as string] })).rejects.toThrow('Expected array of output names');
    }
    await expect(lease.infer({ shapes: { IN: [Symbol('4') as never, 64] } })).rejects.toThrow(
      'Expected array of positive integers for shapes.IN but received Symbol(4)',
    );
    expect(server.calls.infer).toBe(infer);
  },
);

test('a symbol is refused by name in every option of a request and of an opening', async () => {
  const server = new FakeTriton();
  const options = { model: 'identity', slots: 1, transport: 'system' } as const;
  await using pool = await TensorPool.open(server, options);
  using lease = await pool.acquire();
  const symbol = Symbol('wrong') as never;
  for (const field of ['shapes', 'outputs', 'sequence', 'id', 'parameters', 'priority', 'signal', 'timeoutMs']) {
    await expect(lease.infer({ [field]: symbol })).rejects.toThrow(/^Expected .* but received Symbol\(wrong\)/);
  }
  await expect(lease.infer({ sequence: { id: symbol } })).rejects.toThrow('for sequence.id but received Symbol(wrong)');
  const fields = 'model version slots transport device serverDeviceId deviceAccess verify reap shapes outputs';
  for (const field of [
    ...fields.split(' '),
    ...'maxOutputBytes queueLimit maxRetired strictViews name signal'.split(' '),
  ]) {
    const opening = TensorPool.open(server, { ...options, [field]: symbol });
    await expect(opening).rejects.toThrow(/^Expected .* but received Symbol\(wrong\)/);
  }
  for (const [field, value] of [
    ['shapes', { IN: symbol }],
    ['outputs', { OUT: symbol }],
    ['outputs', { OUT: { byteLength: symbol } }],
  ] as const) {
    const opening = TensorPool.open(server, { ...options, [field]: value });
    await expect(opening).rejects.toThrow(/^Expected .* but received Symbol\(wrong\)|received undefined/);
  }
  await expect(pool.acquire(symbol)).rejects.toThrow('Symbol(wrong)');
  await expect(pool.resize(symbol)).rejects.toThrow('Symbol(wrong)');
  expect(server.calls).toMatchObject({ infer: 0, register: 1 });
});
