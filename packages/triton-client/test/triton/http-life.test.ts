import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { region, tensor } from '../../src/index.js';
import { connect, startTriton } from '../support/for-one-test.js';

const input = tensor('FP32', [1, 1], Float32Array.of(1));

describeTier('triton', 'HTTP requests that are given up, and servers that go', () => {
  test('a detached request settles when the server has written its output', async () => {
    const client = connect(sharedTriton().httpUrl);
    const name = `zerohop-http-detach-${process.pid}`;
    writeFileSync(`/dev/shm/${name}`, Buffer.concat([Buffer.from(Float32Array.of(5).buffer), Buffer.alloc(4)]));
    onTestFinished(() => unlinkSync(`/dev/shm/${name}`));
    await client.systemSharedMemory.register({ name, key: `/${name}`, byteLength: 8 });
    onTestFinished(() => client.systemSharedMemory.unregister(name));
    const request = {
      inputs: { INPUT0: region(name, { datatype: 'FP32', shape: [1, 1] }) },
      outputs: { OUTPUT0: { region: name, byteOffset: 4, byteLength: 4 } },
      parameters: { ms: 400 },
    };
    const output = () => readFileSync(`/dev/shm/${name}`).readFloatLE(4);
    const call = client.infer('slow', request, { timeoutMs: 100 });
    await expect(call).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect([output(), client.stats.lanes.detached]).toEqual([0, 1]);
    expect(await call.settled).toBe('answered');
    expect(output()).toBe(5);
    // A connection that is closed stops nothing: the output is written all the same.
    writeFileSync(`/dev/shm/${name}`, Float32Array.of(6, 0), { flag: 'r+' });
    const cancelled = client.infer('slow', request, { timeoutMs: 100, onAbort: 'cancel' });
    await expect(cancelled).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect(await cancelled.settled).toBe('lost');
    await expect.poll(output, { timeout: 10_000 }).toBe(6);
  });

  test('a killed server: what ran is lost, what comes later is not sent, and the next server is found', async () => {
    const options = { models: ['identity', 'slow'], exitTimeoutSeconds: 1 };
    const first = await startTriton(options);
    const client = connect(first.httpUrl);
    await client.infer('identity', { inputs: { INPUT0: input } });
    const { connectionEpoch } = client;
    const running = client.infer('slow', { inputs: { INPUT0: input }, parameters: { ms: 10_000 } });
    const outcome = running.catch((error: unknown) => error);
    await delay(200);
    first.kill('SIGKILL');
    expect(await outcome).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(await running.settled).toBe('lost');
    await expect.poll(() => client.connectionEpoch).toBeGreaterThan(connectionEpoch);
    await first.whenEnded();
    const later = client.infer('identity', { inputs: { INPUT0: input } });
    await expect(later).rejects.toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
    expect([await later.settled, await client.isLive()]).toEqual(['not-sent', false]);
    const waiting = client.infer(
      'identity',
      { inputs: { INPUT0: input } },
      { retry: { attempts: 1000, delayMs: 100 } },
    );
    await startTriton({ ...options, ports: { http: first.ports.http } });
    expect((await waiting).output('OUTPUT0').data[0]).toBe(1);
  }, 100_000);
});
