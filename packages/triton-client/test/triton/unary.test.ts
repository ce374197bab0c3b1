import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectTo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type CallOptions, type InferRequest, region, TritonClient, tensor } from '../../src/index.js';
import { connect, listen, startTriton } from '../support/for-one-test.js';
import { HEADERS, ONE_FLOAT } from '../support/requests.js';

/** A port that passes everything on to another one, and counts what clients send. */
async function counted(port: number): Promise<{ port: number; sent: () => number }> {
  let sent = 0;
  const proxy = createServer((socket) => {
    const server = connectTo(port, '127.0.0.1');
    server.on('error', () => {});
    socket.on('close', () => server.destroy());
    socket.on('data', (bytes) => {
      sent += bytes.byteLength;
    });
    socket.pipe(server).pipe(socket);
  });
  return { port: await listen(proxy), sent: () => sent };
}

describeTier('triton', 'unary calls on a real server', () => {
  let client: TritonClient;

  beforeAll(() => {
    client = new TritonClient(sharedTriton().grpcUrl);
  });

  afterAll(() => client.close());

  test('answer as lanes do', async () => {
    const values = Float32Array.of(1, Number.NaN, -0, 4);
    const request = { id: 'u', version: '1', inputs: { INPUT0: tensor('FP32', [2, 2], values) } };
    const result = await client.infer('identity', request, { headers: HEADERS });
    expect([result.model, result.version, result.id, result.parameters]).toEqual(['identity', '1', 'u', {}]);
    expect(result.output('OUTPUT0').data).toEqual(values);
  });

  test.each<[string, string, InferRequest, Record<string, unknown>]>([
    ['an unknown model', 'no-such-model', ONE_FLOAT, { code: 'TRITON_NOT_FOUND', grpcStatus: 5 }],
    ['a wrong input', 'identity', { inputs: {} }, { code: 'TRITON_INVALID_ARGUMENT', grpcStatus: 3 }],
    ['a model that fails', 'fail', ONE_FLOAT, { code: 'TRITON_INTERNAL', grpcStatus: 13 }],
    [
      'an unknown region',
      'identity',
      { inputs: { INPUT0: region('no-such-region', { datatype: 'FP32', shape: [1, 1] }) } },
      { code: 'TRITON_NOT_FOUND', region: 'no-such-region', didNotRun: true },
    ],
  ])('%s is a typed error, and the server is done', async (_, model, request, expected) => {
    const call = client.infer(model, { ...request, id: 'q' }, { headers: HEADERS });
    await expect(call).rejects.toMatchObject({ ...expected, requestId: 'q', model });
    expect(await call.settled).toBe('answered');
  });

  test('a caller that leaves: detached until the answer, or cancelled', async () => {
    const slow = (options: CallOptions) =>
      client.infer('slow', { ...ONE_FLOAT, parameters: { ms: 700 } }, { headers: HEADERS, timeoutMs: 100, ...options });
    const detached = slow({ onAbort: 'detach' });
    await expect(detached).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect(await detached.settled).toBe('answered');
    const cancelled = slow({ onAbort: 'cancel' });
    await expect(cancelled).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect(await cancelled.settled).toBe('lost');
  });

  test.each(['gzip', 'deflate'] as const)('%s: what is sent is small, and the answer is whole', async (compression) => {
    const { port, sent } = await counted(Number(new URL(sharedTriton().grpcUrl).port));
    const own = connect(`grpc://127.0.0.1:${port}`);
    const data = new Float32Array(500_000);
    data[499_999] = 7;
    const request = { inputs: { INPUT0: tensor('FP32', [1, 500_000], data) } };
    const { connectionEpoch } = own;
    const prepared = own.prepare('identity', request);
    // Several: grpc-js by itself would compress the first alone.
    for (let index = 0; index < 3; index += 1) {
      expect((await prepared.infer({ compression })).output('OUTPUT0').data.at(-1)).toBe(7);
    }
    // Its own connection counts: a restart between two readings would be seen.
    expect(own.connectionEpoch).toBeGreaterThan(connectionEpoch);
    for await (const result of own.stream('identity', [request, request, request], {
      compression,
      maxOutstanding: 1,
    })) {
      expect(result.output('OUTPUT0').data.at(-1)).toBe(7);
    }
    expect(sent()).toBeLessThan(100_000);
    await own.infer('identity', request);
    expect(sent()).toBeGreaterThan(2_000_000);
    expect(own.stats.unary).toEqual({ headers: 0, compression: 3, trace: 0, forbidden: 0 });
  });
});

describeTier('triton', 'a real server that keeps inference to those with a key', () => {
  const KEY = { 'triton-grpc-protocol-infra-key': 'infra-value' };

  test('the key as a header of the client, of a call, and missing', async () => {
    const triton = await startTriton({
      models: ['identity'],
      args: ['--grpc-restricted-protocol=inference:infra-key=infra-value'],
    });
    const value = async (options: { client?: typeof KEY; call?: typeof KEY }) => {
      const client = connect(triton.grpcUrl, { headers: options.client ?? {} });
      const call = client.infer('identity', ONE_FLOAT, { headers: options.call ?? {} });
      const result = await call.then(
        (answer) => answer.output('OUTPUT0').data[0],
        (error: unknown) => error,
      );
      return { result, settled: await call.settled, client };
    };
    const ofClient = await value({ client: KEY });
    expect(ofClient).toMatchObject({ result: 3, settled: 'answered' });
    expect(ofClient.client.stats).toMatchObject({ lanesOpened: 1, unary: { headers: 0, forbidden: 0 } });
    const ofCall = await value({ call: KEY });
    expect(ofCall).toMatchObject({ result: 3, settled: 'answered' });
    expect(ofCall.client.stats).toMatchObject({ lanesOpened: 0, unary: { headers: 1 } });

    const without = await value({});
    const details = "This protocol is restricted, expecting header 'triton-grpc-protocol-infra-key'";
    expect(without).toMatchObject({ result: { code: 'TRITON_UNAVAILABLE', details }, settled: 'answered' });
    expect(without.client.stats).toMatchObject({ streamsForbidden: details, unary: { forbidden: 1 }, lost: 0 });
    await expect(without.client.stream('identity', [ONE_FLOAT]).next()).rejects.toMatchObject({
      code: 'TRITON_UNAVAILABLE',
      details,
    });
  });
});

describeTier('triton', 'a real server on a unix socket', () => {
  describe.each([
    ['unix:', ''],
    ['unix:', '//'],
  ])('as %s%s/path', (scheme, slashes) => {
    test('lanes, unary calls, streams and control', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'zerohop-unix-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const path = join(folder, 'socket');
      const triton = await startTriton({ models: ['identity'], args: [`--grpc-address=unix:${path}`] });
      const client = connect(`${scheme}${slashes}${path}:${triton.ports.grpc}`);
      expect((await client.infer('identity', ONE_FLOAT)).output('OUTPUT0').data[0]).toBe(3);
      expect((await client.infer('identity', ONE_FLOAT, { headers: HEADERS })).output('OUTPUT0').data[0]).toBe(3);
      expect((await client.stream('identity', [ONE_FLOAT]).next()).value?.output('OUTPUT0').data[0]).toBe(3);
      expect([client.isLocal, client.peer]).toEqual([true, `${path}:${triton.ports.grpc}`]);
      expect(await client.isReady()).toBe(true);
    });
  });
});
