import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { tensor } from '@zerohop/triton-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Certificates } from '../../../triton-client/test/support/certificates.js';
import type { DevServerOptions } from '../../src/index.js';
import { clientOf, codeOf, faultServer, ints, recovers } from '../support/fault-server.js';
import { ShmObject } from '../support/shm-object.js';

let folder = '';
let certificates: Certificates;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'zerohop-transports-'));
  certificates = new Certificates();
});
afterAll(() => {
  certificates.remove();
  rmSync(folder, { recursive: true });
});

const TRANSPORTS: Readonly<Record<string, () => DevServerOptions>> = {
  TLS: () => {
    const { cert, key } = certificates.server;
    return { tls: { cert: Buffer.from(cert), key: Buffer.from(key) } };
  },
  'a unix socket': () => ({ grpcSocket: join(folder, 'socket') }),
};

const same = (data: unknown, values: Int32Array) =>
  Buffer.compare(Buffer.from((data as Int32Array).buffer), Buffer.from(values.buffer)) === 0;

describe.each(Object.entries(TRANSPORTS))('faults of the server over %s', (name, options) => {
  async function start() {
    const { server, gate } = await faultServer(options());
    const trusted = name === 'TLS' ? { tls: { ca: certificates.authority.cert } } : {};
    const connect = () => clientOf(server.grpcUrl, trusted);
    const client = connect();
    await client.infer('same', ints(1));
    return { server, gate, client, connect };
  }

  test('freeze: nothing is read, written or answered, and all of it afterwards', async () => {
    const { server, gate, client, connect } = await start();
    const object = new ShmObject(4096);
    await client.systemSharedMemory.register({ name: 'block', key: object.key, byteLength: 4096 });
    const outputs = { Y: { region: 'block', byteOffset: 0, byteLength: 4 } };
    const running = client.infer('held', { ...ints(6), outputs });
    await expect.poll(() => gate.waiting).toBe(1);
    server.freeze();
    gate.open();
    const sent = client.infer('same', ints(2));
    const connecting = connect().infer('same', ints(3));
    expect(await Promise.race([running, sent, connecting, pause(150, 'nothing')])).toBe('nothing');
    expect(object.bytes()[0]).toBe(0);
    server.thaw();
    await running;
    expect(object.bytes()[0]).toBe(6);
    expect((await sent).output('Y').data).toEqual(Int32Array.of(2));
    expect((await connecting).output('Y').data).toEqual(Int32Array.of(3));
  });

  test('a large request and a large answer stop in the middle of a freeze', async () => {
    const { server, gate, client } = await start();
    const values = Int32Array.from({ length: 3_000_000 }, (_, at) => at);
    const large = { inputs: { X: tensor('INT32', [values.length], values) } };
    const coming = client.infer('same', large);
    await new Promise(setImmediate);
    server.freeze();
    expect(await Promise.race([coming, pause(100, 'nothing')])).toBe('nothing');
    server.thaw();
    expect(same((await coming).output('Y').data, values)).toBe(true);
    const going = client.infer('held', large);
    await expect.poll(() => gate.waiting).toBe(1);
    gate.open();
    await Promise.resolve();
    server.freeze();
    expect(await Promise.race([going, pause(100, 'nothing')])).toBe('nothing');
    server.thaw();
    expect(same((await going).output('Y').data, values)).toBe(true);
  });

  test('a restart, and a stop, end a freeze', async () => {
    const { server, client } = await start();
    server.freeze();
    const lost = codeOf(client.infer('same', ints(1)));
    await pause(50);
    await server.restart();
    expect(await lost).toBe('TRITON_CONNECTION_LOST');
    await recovers(() => client.infer('same', ints(1)));
    server.freeze();
    const answer = codeOf(client.infer('same', ints(1)));
    await server.stop();
    expect(await answer).not.toBe('');
  });

  test('dropped and refused connections, slow reads', async () => {
    const { server, gate, client, connect } = await start();
    const lost = codeOf(client.infer('held', ints(1)));
    await expect.poll(() => gate.waiting).toBe(1);
    server.dropConnections();
    expect(await lost).toBe('TRITON_CONNECTION_LOST');
    await recovers(() => client.infer('same', ints(1)));
    await server.refuseConnections();
    expect(await codeOf(connect().infer('same', ints(1), { timeoutMs: 500 }))).not.toBe('OK');
    expect(await codeOf(client.infer('same', ints(1)))).toBe('OK');
    await server.acceptConnections();
    await recovers(() => connect().infer('same', ints(1)));
    server.slowReads(1000);
    const large = ints(...Array.from({ length: 20_000 }, (_, at) => at));
    expect(await codeOf(client.infer('same', large, { timeoutMs: 200 }))).toBe('TRITON_TIMEOUT');
    server.slowReads();
    await recovers(() => client.infer('same', large));
  });

  test('a crash ends the connections', async () => {
    const { server, gate, client } = await start();
    const lost = codeOf(client.infer('held', ints(1)));
    await expect.poll(() => gate.waiting).toBe(1);
    server.addFault({ kind: 'crash', times: 1 });
    expect(await codeOf(client.infer('same', ints(1)))).toBe('TRITON_CONNECTION_LOST');
    expect(await lost).toBe('TRITON_CONNECTION_LOST');
    await recovers(() => client.infer('same', ints(1)));
  });
});
