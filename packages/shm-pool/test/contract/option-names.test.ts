/** A misspelt option would be left out silently, and with it the limit, the shape or the check that it asks for. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installShutdown, SharedRegion, TensorPool } from '../../src/index.js';
import { FakeTriton } from '../support/fake-triton.js';
import { pattern } from '../support/pool-suite.js';

let server: FakeTriton;
let pool: TensorPool;
const OPTIONS = { model: 'identity', slots: 1, transport: 'system' } as const;

beforeEach(async () => {
  server = new FakeTriton();
  pool = await TensorPool.open(server, OPTIONS);
});
afterEach(() => pool.close());

const misspelt = (field: string) => ({ [field]: 1 }) as never;
const words = (field: string, of = 'options') =>
  new RegExp(`^Expected one of .* for a field of ${of} but received ${field} of type string$`);

test('of an opening: refused before the server is asked for anything', async () => {
  const before = { ...server.calls };
  for (const field of ['maxOutputByte', 'timeoutMs', 'strictView', 'hints']) {
    const refused = TensorPool.open(server, { ...OPTIONS, ...(misspelt(field) as object) });
    await expect(refused).rejects.toThrow(words(field));
    await expect(refused).rejects.toThrow(TypeError);
  }
  expect(server.calls).toEqual(before);
});

test('of an acquire, a run, a close and a shutdown: nothing is lent, queued, closed or installed', async () => {
  const listeners = process.listenerCount('SIGTERM');
  await expect(pool.acquire(misspelt('timeout'))).rejects.toThrow(words('timeout'));
  await expect(pool.run(() => undefined, misspelt('timeout'))).rejects.toThrow(words('timeout'));
  await expect(pool.close(misspelt('timeout'))).rejects.toThrow(words('timeout'));
  expect(() => installShutdown(pool, misspelt('signal'))).toThrow(words('signal'));
  expect(process.listenerCount('SIGTERM')).toBe(listeners);
  expect(pool.closed).toBe(false);
  expect(pool.stats).toMatchObject({ idle: 1, leased: 0, waiting: 0 });
});

test('of a request and of blocks: nothing is sent, and the lease lives', async () => {
  await pool.run(async (lease) => {
    await expect(lease.infer(misspelt('timeout'))).rejects.toThrow(words('timeout'));
    const sequence = { id: 1, begin: true } as never;
    await expect(lease.infer({ sequence })).rejects.toThrow(words('begin', 'sequence'));
    expect(() => lease.input('IN', misspelt('shapes'))).toThrow(words('shapes'));
    const block = lease.input('IN');
    await expect(block.write(pattern(1), misspelt('streams'))).rejects.toThrow(words('streams'));
    expect(server.calls.infer).toBe(0);
    await block.write(pattern(1));
    expect(await (await lease.infer()).output<'FP32'>('OUT').read()).toEqual(pattern(1));
  });
});

test('of a region of one’s own', async () => {
  const { register } = server.calls;
  const options = { kind: 'system', byteLength: 64, size: 64 } as never;
  await expect(SharedRegion.allocate(server, options)).rejects.toThrow(words('size'));
  await expect(SharedRegion.adopt(server, {} as never, misspelt('kind'))).rejects.toThrow(words('kind'));
  expect(server.calls.register).toBe(register);
  const region = await SharedRegion.allocate(server, { kind: 'system', byteLength: 64 });
  expect(() => region.ref(misspelt('offset'))).toThrow(words('offset', 'part'));
  await expect(region.release(misspelt('timeout'))).rejects.toThrow(words('timeout'));
  expect(region.closed).toBe(false);
  expect(await region.release()).toEqual({ proven: true });
});

test('lists and maps are no options: what they hold would be left out', async () => {
  for (const none of [[], new Map([['IN', [4, 64]]]), new Uint8Array(1)] as never[]) {
    for (const field of ['shapes', 'outputs'] as const) {
      const refused = TensorPool.open(server, { ...OPTIONS, [field]: none });
      await expect(refused).rejects.toThrow(`Expected object for ${field} but received [object `);
    }
    await expect(pool.acquire(none)).rejects.toThrow('Expected object for options');
    await pool.run((lease) => expect(lease.infer({ shapes: none })).rejects.toThrow('Expected object for shapes'));
  }
});

test('of a hint', async () => {
  const outputs = { OUT: { byteLength: 2048, max: 4096 } } as never;
  await expect(TensorPool.open(server, { ...OPTIONS, outputs })).rejects.toThrow(words('max', 'outputs.OUT'));
});
