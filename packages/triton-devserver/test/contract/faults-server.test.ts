import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type TritonClient, tensor } from '@zerohop/triton-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../src/index.js';
import { clientOf, codeOf, faultServer, ints, recovers, sender, WAYS } from '../support/fault-server.js';
import { ShmObject } from '../support/shm-object.js';

const register = async (client: TritonClient, name: string) => {
  const object = new ShmObject(4096);
  await client.systemSharedMemory.register({ name, key: object.key, byteLength: 4096 });
  return object;
};
const into = (name: string) => ({ outputs: { Y: { region: name, byteOffset: 0, byteLength: 4 } } });

describe.each(WAYS)('faults of the server, by %s', (way) => {
  test('freeze: nothing is answered, and all of it afterwards', async () => {
    const { server, gate } = await faultServer();
    const { client, send } = sender(server, way);
    const object = await register(client, 'block');
    const running = send('held', { ...ints(6), ...into('block') });
    await expect.poll(() => gate.waiting).toBe(1);
    server.freeze();
    gate.open();
    const sent = send('same', ints(1));
    expect(await codeOf(send('same', ints(1), { timeoutMs: 150 }))).toBe('TRITON_TIMEOUT');
    // Who connects meanwhile is taken by the kernel alone.
    const late = sender(server, way);
    const connecting = late.send('same', ints(2));
    expect(await Promise.race([running, sent, connecting, pause(150, 'nothing')])).toBe('nothing');
    expect([server.frozen, object.bytes()[0]]).toEqual([true, 0]);
    server.thaw();
    expect((await sent).output('Y').data).toEqual(Int32Array.of(1));
    expect((await connecting).output('Y').data).toEqual(Int32Array.of(2));
    await running;
    expect(object.bytes()[0]).toBe(6);
  });

  test('a restart ends a freeze', async () => {
    const { server } = await faultServer();
    const { send } = sender(server, way);
    await send('same', ints(1));
    server.freeze();
    const lost = codeOf(send('same', ints(1)));
    // A request that was not sent yet would go to the new server.
    await pause(50);
    await server.restart();
    expect(await lost).toBe('TRITON_CONNECTION_LOST');
    await recovers(() => send('same', ints(1)));
  });

  test('dropped connections', async () => {
    const { server, gate } = await faultServer();
    const { send } = sender(server, way);
    const lost = codeOf(send('held', ints(1)));
    await expect.poll(() => gate.waiting).toBe(1);
    server.dropConnections();
    expect(await lost).toBe('TRITON_CONNECTION_LOST');
    await recovers(() => send('same', ints(1)));
  });

  test('slow reads', async () => {
    const { server } = await faultServer();
    const { send } = sender(server, way);
    await send('same', ints(1));
    server.slowReads(1000);
    const large = ints(...Array.from({ length: 20_000 }, (_, index) => index));
    expect(await codeOf(send('same', large, { timeoutMs: 200 }))).toBe('TRITON_TIMEOUT');
    server.slowReads(20_000_000);
    const slow = sender(server, way);
    expect((await slow.send('same', large)).output('Y').data).toHaveLength(20_000);
    server.slowReads();
    expect((await send('same', large)).output('Y').data).toHaveLength(20_000);
  });

  test('refused connections; those that are there go on', async () => {
    const { server } = await faultServer();
    const { send } = sender(server, way);
    await send('same', ints(1));
    await server.refuseConnections();
    const late = clientOf(way === 'http' ? server.httpUrl : server.grpcUrl, { connectTimeoutMs: 300 });
    expect(await codeOf(late.infer('same', ints(1)))).toBe('TRITON_UNAVAILABLE');
    expect(await codeOf(send('same', ints(1)))).toBe('OK');
    await server.acceptConnections();
    await recovers(() => late.infer('same', ints(1)));
  });

  test('restart, without memory of regions and with it', async () => {
    const { server } = await faultServer();
    const { client, send } = sender(server, way);
    const object = await register(client, 'block');
    const { ports } = server;
    await server.restart();
    expect(server.ports).toEqual(ports);
    await recovers(() => send('same', ints(1)));
    expect(await codeOf(send('same', { ...ints(4), ...into('block') }))).toBe('TRITON_NOT_FOUND');
    await client.systemSharedMemory.register({ name: 'block', key: object.key, byteLength: 4096 });
    await server.restart({ keepRegions: true });
    await recovers(() => send('same', ints(1)));
    expect(await codeOf(send('same', { ...ints(4), ...into('block') }))).toBe('OK');
    expect(object.bytes()[0]).toBe(4);
  });

  test('restart with memory of regions: what the dead process still had to do is not done', async () => {
    const { server, gate } = await faultServer();
    const { client, send } = sender(server, way);
    const object = await register(client, 'block');
    const lost = codeOf(send('held', { ...ints(3), ...into('block') }));
    await expect.poll(() => gate.waiting).toBe(1);
    await server.restart({ keepRegions: true });
    expect(await lost).toBe('TRITON_CONNECTION_LOST');
    gate.open();
    await recovers(() => send('same', { ...ints(4), ...into('block') }));
    expect(object.bytes()[0]).toBe(4);
    // And it holds no reference.
    await client.systemSharedMemory.unregister('block');
    expect(await client.systemSharedMemory.status()).toEqual([]);
  });

  test('a new server on the ports while the old one still writes', async () => {
    const { server, gate } = await faultServer();
    const { client, send } = sender(server, way);
    const object = await register(client, 'block');
    const running = send('held', { ...ints(3), ...into('block') });
    await expect.poll(() => gate.waiting).toBe(1);
    const { ports } = server;
    await server.replace({ version: '2.53' });
    expect(server.ports).toEqual(ports);
    const late = sender(server, way);
    expect((await late.client.serverMetadata()).version).toBe('2.53.0');
    expect(await late.client.systemSharedMemory.status()).toEqual([]);
    // Of the new one this proves nothing: the old one writes all the same.
    expect(await codeOf(late.client.systemSharedMemory.unregister('block'))).toBe('OK');
    expect(object.bytes()[0]).toBe(0);
    gate.open();
    await running;
    expect(object.bytes()[0]).toBe(3);
    expect(await codeOf(late.send('same', ints(1)))).toBe('OK');
  });

  test('the end of the exit timeout ends the one that was replaced', async () => {
    const { server, gate } = await faultServer({ exitTimeoutMs: 100 });
    const { send } = sender(server, way);
    const lost = codeOf(send('held', ints(1)));
    await expect.poll(() => gate.waiting).toBe(1);
    await server.replace();
    expect(await lost).toBe('TRITON_CONNECTION_LOST');
    await recovers(() => send('same', ints(1)));
  });
});

test('pings of a frozen server are not answered', async () => {
  const { server } = await faultServer();
  const client = clientOf(server.grpcUrl, { keepalive: { timeMs: 300_000, timeoutMs: 100 } });
  await client.infer('same', ints(1));
  const { hostname, port } = new URL(server.grpcUrl.replace('grpc:', 'http:'));
  const socket = connect(Number(port), hostname);
  const got: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => got.push(chunk));
  onTestFinished(() => void socket.destroy());
  const PING = 6;
  const frame = (type: number, length: number) =>
    Buffer.concat([Buffer.of(0, 0, length, type, 0, 0, 0, 0, 0), Buffer.alloc(length)]);
  const pings = () => {
    const all = Buffer.concat(got);
    let count = 0;
    for (let at = 0; at + 9 <= all.byteLength; at += 9 + all.readUIntBE(at, 3)) count += Number(all[at + 3] === PING);
    return count;
  };
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0), frame(PING, 8)]));
  await expect.poll(pings).toBe(1);
  server.freeze();
  socket.write(frame(PING, 8));
  await pause(150);
  expect(pings()).toBe(1);
  server.thaw();
  await expect.poll(pings).toBe(2);
});

test('a large answer stops in the middle of a freeze', async () => {
  const { server } = await faultServer();
  const { send } = sender(server, 'http');
  const large = { inputs: { X: tensor('INT32', [3_000_000], new Int32Array(3_000_000)) } };
  const answer = send('same', large);
  server.freeze();
  expect(await Promise.race([answer, pause(100, 'nothing')])).toBe('nothing');
  server.thaw();
  expect((await answer).output('Y').data).toHaveLength(3_000_000);
});

test('GOAWAY: what runs goes on, and what is new connects anew', async () => {
  const { server, gate } = await faultServer();
  const { send } = sender(server, 'unary');
  const running = codeOf(send('held', ints(2)));
  await expect.poll(() => gate.waiting).toBe(1);
  server.goAway(400);
  await recovers(() => send('same', ints(1)));
  const later = send('held', ints(3));
  await expect.poll(() => gate.waiting).toBe(2);
  // What is cut off after the grace is of the old connections alone.
  expect(await running).toBe('TRITON_CONNECTION_LOST');
  gate.open();
  expect((await later).output('Y').data).toEqual(Int32Array.of(3));
});

test('metrics off and on, and none from the start', async () => {
  const { server } = await faultServer();
  const ask = async () => (await fetch(server.metricsUrl)).status;
  const { metricsUrl } = server;
  await server.setMetrics(false);
  await expect(ask()).rejects.toThrow('fetch failed');
  const client = clientOf(server.grpcUrl, { metricsUrl });
  expect(await codeOf(client.gpuUuids())).toBe('TRITON_UNAVAILABLE');
  await server.restart();
  await expect(ask()).rejects.toThrow('fetch failed');
  await server.setMetrics(true);
  expect([await ask(), server.metricsUrl]).toEqual([200, metricsUrl]);
  const { server: none } = await faultServer({ metrics: false });
  expect(none.ports.metrics).toBe(0);
  await none.setMetrics(true);
  expect((await fetch(none.metricsUrl)).status).toBe(200);
});

test('a port that is taken is an error, and leaves nothing behind', async () => {
  const { server } = await faultServer();
  await expect(DevServer.start({ httpPort: server.ports.http })).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test('a start that fails opens no port for good', async () => {
  const { server } = await faultServer();
  const free = await DevServer.start();
  await free.stop();
  const { grpc, http } = free.ports;
  const failing = DevServer.start({ grpcPort: grpc, httpPort: http, metricsPort: server.ports.metrics });
  await expect(failing).rejects.toMatchObject({ code: 'EADDRINUSE' });
  const again = await DevServer.start({ grpcPort: grpc, httpPort: http });
  await again.stop();
});

test('a port that somebody took meanwhile can be opened when it is free again', async () => {
  const { server } = await faultServer();
  const { port } = new URL(server.httpUrl);
  await server.refuseConnections();
  const other = createServer().listen(Number(port), '127.0.0.1');
  await once(other, 'listening');
  await expect(server.acceptConnections()).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await expect(server.acceptConnections()).rejects.toMatchObject({ code: 'EADDRINUSE' });
  other.close();
  await once(other, 'close');
  await server.acceptConnections();
  expect(await codeOf(clientOf(server.httpUrl).infer('same', ints(1)))).toBe('OK');
});

test('a unix socket that a killed server left is taken, one that is in use is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'devserver-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const grpcSocket = join(folder, 's');
  const path = `${grpcSocket}:1`;
  const left = spawnSync(process.execPath, [
    '-e',
    `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`,
  ]);
  expect([left.signal, statSync(path).isSocket()]).toEqual(['SIGKILL', true]);
  const { server } = await faultServer({ grpcSocket, grpcPort: 1 });
  expect(await codeOf(clientOf(server.grpcUrl).infer('same', ints(1)))).toBe('OK');
  await expect(DevServer.start({ grpcSocket, grpcPort: 1 })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(await codeOf(clientOf(server.grpcUrl).infer('same', ints(1)))).toBe('OK');
  await server.stop();
  expect(existsSync(path)).toBe(false);
});

test.each(['stop', 'kill'] as const)('%s while a model is loaded that never comes', async (end) => {
  let loads = 0;
  const create = () => {
    loads += 1;
    return loads === 1 ? { execute: () => ({}) } : new Promise<never>(() => undefined);
  };
  const { server } = await faultServer({ exitTimeoutMs: 50, models: { once: { config: {}, create } } });
  const restarted = server.restart();
  const failed = expect(restarted).rejects.toThrow('The server was stopped');
  await expect.poll(() => loads).toBe(2);
  await server[end]();
  await failed;
  expect(server.stopped).toBe(true);
});

test('stopping a frozen server thaws it', async () => {
  const { server } = await faultServer();
  const { send } = sender(server, 'lane');
  await send('same', ints(1));
  server.freeze();
  const answer = codeOf(send('same', ints(1)));
  await server.stop();
  expect(await answer).not.toBe('');
  expect([server.stopped, server.frozen]).toEqual([true, false]);
});
