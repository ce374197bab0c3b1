import { TritonClient } from '@zerohop/triton-client';
import { describe, expect, test } from 'vitest';
import { clientOf, codeOf, faultServer, ints } from '../support/fault-server.js';

describe.each(['grpcUrl', 'httpUrl'] as const)('requests over %s', (url) => {
  test('are told as they came, and how they ended', async () => {
    const { server } = await faultServer();
    await using client = new TritonClient(server[url]);
    await client.infer('same', { ...ints(1, 2), id: 'one', outputs: { Y: {} }, parameters: { who: 'me' } });
    expect(await codeOf(client.infer('failing', ints(1)))).not.toBe('OK');
    server.addFault({ kind: 'refuse', code: 'UNAVAILABLE', message: 'not now', times: 1 });
    expect(await codeOf(client.infer('same', ints(3)))).not.toBe('OK');
    const common = { version: '', outputs: [], parameters: {}, cancelled: false };
    const input = { name: 'X', datatype: 'INT32', shape: [1] };
    expect(server.requests).toEqual([
      {
        ...common,
        ...{ id: 'one', model: 'same', inputs: [{ ...input, shape: [2] }], outputs: [{ name: 'Y' }] },
        ...{ parameters: { who: 'me' }, state: 'answered' },
      },
      { ...common, id: '', model: 'failing', inputs: [input], state: 'failed', error: 'no' },
      { ...common, id: '', model: 'same', inputs: [input], state: 'failed', error: 'not now' },
    ]);
    expect(server.inFlight()).toBe(0);
    server.clearRequests();
    expect(server.requests).toEqual([]);
  });

  test('are waited for, by model', async () => {
    const { server, gate } = await faultServer();
    await using client = new TritonClient(server[url]);
    const two = server.whenInFlight(2, { model: 'held' });
    const calls = [client.infer('held', ints(1)), client.infer('held', ints(2))];
    await two;
    expect([server.inFlight(), server.inFlight('held'), server.inFlight('same')]).toEqual([2, 2, 0]);
    await server.whenInFlight(1);
    gate.open();
    await Promise.all(calls);
    expect(server.inFlight()).toBe(0);
    const stop = new AbortController();
    const never = server.whenInFlight(1, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(never).rejects.toThrow('enough');
    await expect(server.whenInFlight(1, { signal: stop.signal })).rejects.toThrow('enough');
  });
});

test('a cancelled one says so, and one whose process ended is lost', async () => {
  const { server, gate } = await faultServer();
  const client = clientOf(server.grpcUrl);
  const stop = new AbortController();
  const given = expect(client.infer('held', ints(1), { signal: stop.signal })).rejects.toThrow();
  await server.whenInFlight(1);
  stop.abort();
  await given;
  await expect.poll(() => server.requests).toMatchObject([{ state: 'running', cancelled: true }]);
  const lost = codeOf(client.infer('held', ints(2)));
  await server.whenInFlight(2);
  await server.restart();
  expect(await lost).not.toBe('OK');
  expect(server.requests).toMatchObject([{ state: 'lost', cancelled: true }, { state: 'lost' }]);
  expect(server.inFlight()).toBe(0);
  gate.open();
  await clientOf(server.grpcUrl).infer('same', ints(3));
  expect(server.requests.map(({ state }) => state)).toEqual(['lost', 'lost', 'answered']);
});

test('one that is never answered stays in flight; of many the last thousand are told', async () => {
  const { server } = await faultServer();
  const client = clientOf(server.grpcUrl);
  server.addFault({ kind: 'silence', times: 1 });
  const stop = new AbortController();
  const silent = expect(client.infer('same', ints(0), { signal: stop.signal })).rejects.toThrow();
  await server.whenInFlight(1);
  await Promise.all(
    Array.from({ length: 1000 }, (_, index) => client.infer('same', { ...ints(index), id: `${index}` })),
  );
  stop.abort();
  await silent;
  expect(server.inFlight()).toBe(1);
  expect(server.requests).toHaveLength(1000);
  expect(server.requests.every(({ id, state }) => id !== '' && state === 'answered')).toBe(true);
});

test('what the server dies of is lost with the rest; a stream that ends later cancels nothing', async () => {
  const { server } = await faultServer();
  const client = clientOf(server.grpcUrl);
  await client.infer('same', ints(1));
  const held = codeOf(client.infer('held', ints(2)));
  await server.whenInFlight(1);
  server.dropConnections();
  expect(await held).not.toBe('OK');
  await expect.poll(() => server.requests[1]).toMatchObject({ state: 'running', cancelled: true });
  expect(server.requests[0]).toMatchObject({ state: 'answered', cancelled: false });
  server.addFault({ kind: 'crash', times: 1 });
  expect(await codeOf(clientOf(server.grpcUrl).infer('same', ints(2)))).not.toBe('OK');
  expect(server.requests.map(({ state }) => state)).toEqual(['answered', 'lost', 'lost']);
});

test('nobody waits for a server that was stopped', async () => {
  const { server } = await faultServer();
  const waiting = server.whenInFlight(1);
  await Promise.all([expect(waiting).rejects.toThrow('The server was stopped'), server.stop()]);
  await expect(server.whenInFlight(1)).rejects.toThrow('The server was stopped');
});
