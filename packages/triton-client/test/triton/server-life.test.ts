import { describeTier, privateTriton, sharedTriton } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { type InferRequest, TritonClient, tensor } from '../../src/index.js';

const REQUEST: InferRequest = { inputs: { INPUT0: tensor('FP32', [1, 1], Float32Array.of(1)) } };

describeTier('triton', 'the life of a real server', () => {
  test('SIGTERM with idle lanes: the server exits by itself, and requests then say that nothing answers', async () => {
    const exitTimeoutSeconds = 60;
    const triton = await privateTriton({ models: ['identity', 'slow'], exitTimeoutSeconds });
    onTestFinished(() => triton.stop());
    const client = new TritonClient(triton.grpcUrl);
    onTestFinished(() => client.close());
    await Promise.all(Array.from({ length: 8 }, () => client.infer('identity', REQUEST)));
    expect(client.stats.lanes.idle).toBe(8);
    const { connectionEpoch } = client;

    triton.kill('SIGTERM');
    // With a lane left open it would stay for exitTimeoutSeconds and longer.
    await triton.whenEnded();
    expect(client.stats.lanes.open).toBe(0);
    expect(client.stats.lost).toBe(0);
    expect(client.connectionEpoch).toBeGreaterThan(connectionEpoch);
    const call = client.infer('identity', REQUEST);
    await expect(call).rejects.toMatchObject({
      code: 'TRITON_UNAVAILABLE',
      message: expect.stringContaining(triton.grpcUrl),
    });
    expect(await call.settled).toBe('not-sent');
  }, 100_000);

  test('SIGTERM with requests under way: they are answered, later ones refused, and the server exits', async () => {
    const triton = await privateTriton({ models: ['identity', 'slow'], exitTimeoutSeconds: 60 });
    onTestFinished(() => triton.stop());
    const client = new TritonClient(triton.grpcUrl);
    onTestFinished(() => client.close());
    await client.infer('slow', { ...REQUEST, parameters: { ms: 0 } });
    const running = client.infer('slow', { ...REQUEST, parameters: { ms: 1500 } });
    await new Promise((resolve) => setTimeout(resolve, 200));
    triton.kill('SIGTERM');
    expect((await running).output('OUTPUT0').data[0]).toBe(1);
    await expect
      .poll(
        () =>
          client.infer('identity', REQUEST).then(
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
    const triton = await privateTriton({ models: ['identity', 'slow'] });
    onTestFinished(() => triton.stop());
    const client = new TritonClient(triton.grpcUrl);
    onTestFinished(() => client.close());
    await client.infer('identity', REQUEST);
    const call = client.infer('slow', { ...REQUEST, parameters: { ms: 60_000 } });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const { connectionEpoch } = client;
    triton.kill('SIGKILL');
    await expect(call).rejects.toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(await call.settled).toBe('lost');
    await triton.whenEnded();
    expect(await client.isLive()).toBe(false);

    const successor = await privateTriton({ models: ['identity'], ports: triton.ports });
    onTestFinished(() => successor.stop());
    await expect.poll(() => client.isReady(), { timeout: 30_000 }).toBe(true);
    expect((await client.infer('identity', REQUEST)).output('OUTPUT0').data[0]).toBe(1);
    expect(client.connectionEpoch).toBeGreaterThanOrEqual(connectionEpoch + 2);
  });

  test('close: requests under way are answered first', async () => {
    const client = new TritonClient(sharedTriton().grpcUrl);
    await client.infer('slow', { ...REQUEST, parameters: { ms: 0 } });
    const running = client.infer('slow', { ...REQUEST, parameters: { ms: 2000 } });
    const gone = client.infer('slow', { ...REQUEST, parameters: { ms: 2000 } }, { timeoutMs: 500, onAbort: 'detach' });
    await expect(gone).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    await client.close();
    expect((await running).output('OUTPUT0').data[0]).toBe(1);
    expect(await gone.settled).toBe('answered');
  });
});
