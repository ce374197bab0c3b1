import { describeTier, sharedTriton } from '@zerohop/test-support';
import { expect, test } from 'vitest';
import { TritonClient } from '../../src/index.js';
import { connect, startTriton } from '../support/for-one-test.js';
import { ONE_FLOAT } from '../support/requests.js';

describeTier('triton', 'the life of a real server', () => {
  test('SIGTERM with idle lanes: the server exits by itself, and requests then say that nothing answers', async () => {
    const exitTimeoutSeconds = 60;
    const triton = await startTriton({ models: ['identity', 'slow'], exitTimeoutSeconds });
    const client = connect(triton.grpcUrl);
    await Promise.all(Array.from({ length: 8 }, () => client.infer('identity', ONE_FLOAT)));
    expect(client.stats.lanes.idle).toBe(8);
    const { connectionEpoch } = client;

    triton.kill('SIGTERM');
    // With a lane left open it would stay for exitTimeoutSeconds and longer.
    await triton.whenEnded();
    expect(client.stats.lanes.open).toBe(0);
    expect(client.stats.lost).toBe(0);
    expect(client.connectionEpoch).toBeGreaterThan(connectionEpoch);
    const call = client.infer('identity', ONE_FLOAT);
    await expect(call).rejects.toMatchObject({
      code: 'TRITON_UNAVAILABLE',
      message: expect.stringContaining(triton.grpcUrl),
    });
    expect(await call.settled).toBe('not-sent');
  }, 100_000);

  test('SIGTERM with requests under way: they are answered, later ones refused, and the server exits', async () => {
    const triton = await startTriton({ models: ['identity', 'slow'], exitTimeoutSeconds: 60 });
    const client = connect(triton.grpcUrl);
    await client.infer('slow', { ...ONE_FLOAT, parameters: { ms: 0 } });
    const running = client.infer('slow', { ...ONE_FLOAT, parameters: { ms: 1500 } });
    await new Promise((resolve) => setTimeout(resolve, 200));
    triton.kill('SIGTERM');
    expect((await running).output('OUTPUT0').data[0]).toBe(3);
    await expect
      .poll(
        () =>
          client.infer('identity', ONE_FLOAT).then(
            () => 'answered',
            (error: { code: string }) => error.code,
          ),
        { timeout: 30_000 },
      )
      .toMatch(/^TRITON_(NOT_FOUND|UNAVAILABLE)$/);
    await triton.whenEnded();
    expect(client.stats.lost).toBe(0);
  }, 100_000);

  test('SIGKILL: what is under way is lost, and a server on the same port is found again', async () => {
    const triton = await startTriton({ models: ['identity', 'slow'] });
    const client = connect(triton.grpcUrl);
    await client.infer('identity', ONE_FLOAT);
    const call = client.infer('slow', { ...ONE_FLOAT, parameters: { ms: 60_000 } });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const { connectionEpoch } = client;
    triton.kill('SIGKILL');
    await expect(call).rejects.toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(await call.settled).toBe('lost');
    await triton.whenEnded();
    expect(await client.isLive()).toBe(false);

    await startTriton({ models: ['identity'], ports: triton.ports });
    await expect.poll(() => client.isReady(), { timeout: 30_000 }).toBe(true);
    expect((await client.infer('identity', ONE_FLOAT)).output('OUTPUT0').data[0]).toBe(3);
    expect(client.connectionEpoch).toBeGreaterThanOrEqual(connectionEpoch + 2);
  });

  test('close: requests under way are answered first', async () => {
    const client = new TritonClient(sharedTriton().grpcUrl);
    await client.infer('slow', { ...ONE_FLOAT, parameters: { ms: 0 } });
    const running = client.infer('slow', { ...ONE_FLOAT, parameters: { ms: 2000 } });
    const gone = client.infer(
      'slow',
      { ...ONE_FLOAT, parameters: { ms: 2000 } },
      { timeoutMs: 500, onAbort: 'detach' },
    );
    await expect(gone).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    await client.close();
    expect((await running).output('OUTPUT0').data[0]).toBe(3);
    expect(await gone.settled).toBe('answered');
  });
});
