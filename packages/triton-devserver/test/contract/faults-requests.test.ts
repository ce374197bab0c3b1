import { region } from '@zerohop/triton-client';
import { describe, expect, test } from 'vitest';
import type { Fault } from '../../src/index.js';
import { clientOf, codeOf, faultServer, ints, sender, WAYS } from '../support/fault-server.js';
import { ShmObject } from '../support/shm-object.js';

describe.each(WAYS)('faults of requests, by %s', (way) => {
  /** A request under a fault that meets one; then one that it does not meet. */
  async function under(
    fault: Fault,
    model = 'same',
    request: Parameters<ReturnType<typeof sender>['send']>[1] = ints(7),
  ) {
    const { server } = await faultServer();
    const { send } = sender(server, way);
    server.addFault({ ...fault, times: 1 });
    const code = await codeOf(send(model, request, { timeoutMs: 1_000 }).then((result) => result.output('Y').data));
    expect(server.faults).toEqual([]);
    expect((await send('same', ints(8))).output('Y').data).toEqual(Int32Array.of(8));
    return code;
  }

  test('delay: longer than the client waits', async () => {
    expect(await under({ kind: 'delay', ms: 60_000 })).toBe('TRITON_TIMEOUT');
  });

  test('delay: the answer comes', async () => {
    expect(await under({ kind: 'delay', ms: 20 })).toBe('OK');
  });

  test('silence', async () => {
    expect(await under({ kind: 'silence' })).toBe('TRITON_TIMEOUT');
  });

  test('refuse', async () => {
    const code = await under({ kind: 'refuse', code: 'UNSUPPORTED', message: 'not today' });
    // A stream's answer has a text and no code.
    expect(code).toBe(way === 'lane' ? 'TRITON_UNKNOWN' : 'TRITON_UNIMPLEMENTED');
  });

  test.each([-2, 2])('wrong size: %d bytes', async (bytes) => {
    expect(await under({ kind: 'wrong-size', bytes })).toBe('TRITON_MALFORMED_RESPONSE');
  });

  test('unparsable', async () => {
    expect(await under({ kind: 'unparsable' })).toBe('TRITON_MALFORMED_RESPONSE');
  });

  test('a lost answer', async () => {
    expect(await under({ kind: 'lose-answer', index: 0 })).toBe('TRITON_TIMEOUT');
  });

  test('only the model it names, until it is removed', async () => {
    const { server } = await faultServer();
    const { send } = sender(server, way);
    const fault = server.addFault({ kind: 'refuse', code: 'INTERNAL', message: 'no', model: 'texts' });
    expect(await codeOf(send('same', ints(1)))).toBe('OK');
    expect(fault.met).toBe(0);
    fault.remove();
    server.addFault({ kind: 'refuse', code: 'INTERNAL', message: 'no' });
    for (let time = 0; time < 2; time += 1) expect(await codeOf(send('same', ints(1)))).not.toBe('OK');
    expect(server.faults.map(({ met }) => met)).toEqual([2]);
    server.clearFaults();
    expect(await codeOf(send('same', ints(1)))).toBe('OK');
  });

  test('a region stays in use while an answer is late or missing', async () => {
    const { server } = await faultServer();
    const { client, send } = sender(server, way);
    const object = new ShmObject(4096);
    await client.systemSharedMemory.register({ name: 'late', key: object.key, byteLength: 4096 });
    const request = { ...ints(5), outputs: { Y: { region: 'late', byteOffset: 0, byteLength: 4 } } };
    const unregister = () => codeOf(client.systemSharedMemory.unregister('late'));
    server.addFault({ kind: 'delay', ms: 300, times: 1 });
    const answer = send('same', request);
    await expect.poll(() => object.bytes()[0]).toBe(5);
    expect(await unregister()).toBe('TRITON_INTERNAL');
    await answer;
    await expect.poll(unregister).toBe('OK');
    await client.systemSharedMemory.register({ name: 'late', key: object.key, byteLength: 4096 });
    server.addFault({ kind: 'silence', times: 1 });
    expect(await codeOf(send('same', request, { timeoutMs: 50 }))).toBe('TRITON_TIMEOUT');
    expect(await unregister()).toBe('TRITON_INTERNAL');
    await server.restart();
    await expect.poll(() => codeOf(client.systemSharedMemory.unregister('late'))).toBe('OK');
  });
});

test('late write: into a block that the client has given up', async () => {
  const { server, gate } = await faultServer();
  const { client, send } = sender(server, 'unary');
  const object = new ShmObject(4096);
  await client.systemSharedMemory.register({ name: 'block', key: object.key, byteLength: 4096 });
  server.addFault({ kind: 'late-write', ms: 100 });
  const outputs = { Y: { region: 'block', byteOffset: 0, byteLength: 4 } };
  const call = send('held', { ...ints(9), outputs }, { timeoutMs: 50, onAbort: 'cancel' });
  expect(await codeOf(call)).toBe('TRITON_TIMEOUT');
  await expect.poll(() => gate.cancelled).toBe(1);
  gate.open();
  expect(await codeOf(client.systemSharedMemory.unregister('block'))).toBe('TRITON_INTERNAL');
  expect(object.bytes()[0]).toBe(0);
  await expect.poll(() => object.bytes()[0]).toBe(9);
  await expect.poll(() => codeOf(client.systemSharedMemory.unregister('block'))).toBe('OK');
});

describe('answers of a decoupled model on a stream', () => {
  async function values(fault: Fault) {
    const { server } = await faultServer();
    const client = clientOf(server.grpcUrl);
    server.addFault({ ...fault, times: 1 });
    const got: number[] = [];
    const stream = async () => {
      for await (const result of client.stream('count', [ints(0)])) {
        if (result.outputs.length > 0) got.push(...(result.output('Y').data as Int32Array));
      }
    };
    const code = await codeOf(stream());
    const met = [...got];
    got.length = 0;
    expect([await codeOf(stream()), ...got]).toEqual(['OK', 0, 1, 2, 3]);
    return [code, ...met];
  }

  test('reordered', async () => {
    expect(await values({ kind: 'reorder' })).toEqual(['OK', 1, 0, 3, 2]);
  });

  test('one missing', async () => {
    expect(await values({ kind: 'lose-answer', index: 1 })).toEqual(['OK', 0, 2, 3]);
  });

  test('none says that it is the last', async () => {
    // The client has no more requests and says so; the server then ends the stream.
    expect(await values({ kind: 'no-final' })).toEqual(['TRITON_CONNECTION_LOST', 0, 1, 2, 3]);
  });

  test('events of HTTP: reordered, one missing, no end', async () => {
    const { server } = await faultServer();
    const client = clientOf(server.httpUrl);
    const events = async (fault: Fault, timeoutMs = 5_000) => {
      server.addFault({ ...fault, times: 1 });
      const got: unknown[] = [];
      const all = async () => {
        for await (const { Y } of client.generateStream('count', { X: 0 }, { timeoutMs })) got.push(Y);
      };
      return [await codeOf(all()), ...got];
    };
    expect(await events({ kind: 'reorder' })).toEqual(['OK', 1, 0, 3, 2]);
    expect(await events({ kind: 'lose-answer', index: 1 })).toEqual(['OK', 0, 2, 3]);
    expect(await events({ kind: 'no-final' }, 500)).toEqual(['TRITON_TIMEOUT', 0, 1, 2, 3]);
    expect(await codeOf(client.generate('same', { X: 1 }))).toBe('OK');
  });
});

test('what is no fault is refused with a sentence', async () => {
  const { server } = await faultServer();
  const refused = (fault: object) => {
    try {
      server.addFault(fault as Fault);
      return 'taken';
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`;
    }
  };
  expect(refused({ kind: 'nope' })).toMatch(/^TypeError: A fault's 'kind' has to be one of delay, refuse, /);
  expect(refused({ kind: 'delay' })).toBe(
    "TypeError: The fault 'delay': 'ms' has to be a number of milliseconds from 0",
  );
  expect(refused({ kind: 'silence', ms: 1 })).toBe(
    "TypeError: The fault 'silence' has no field 'ms': it has kind, model, times",
  );
  expect(refused({ kind: 'refuse', code: 'BUSY', message: 'x' })).toMatch(/'code' has to be one of UNKNOWN, INTERNAL/);
  expect(refused({ kind: 'silence', times: 0 })).toMatch(/'times' has to be a whole number from 1$/);
  expect(server.faults).toEqual([]);
});

test('regions are read under faults as without', async () => {
  const { server } = await faultServer();
  const { client, send } = sender(server, 'lane');
  const object = new ShmObject(4096, 1);
  await client.systemSharedMemory.register({ name: 'in', key: object.key, byteLength: 4096 });
  server.addFault({ kind: 'delay', ms: 1 });
  const inputs = { X: region('in', { datatype: 'INT32', shape: [1], byteOffset: 0 }) };
  expect((await send('same', { inputs })).output('Y').data).toEqual(Int32Array.of(0x01010101));
});
