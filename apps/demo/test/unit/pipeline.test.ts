import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { Pipeline } from '../../src/pipeline.js';

it('opening ends with the reason of its signal, also while the server says nothing', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  try {
    await once(silent, 'listening');
    const controller = new AbortController();
    const opening = Pipeline.open({
      url: `grpc://127.0.0.1:${(silent.address() as AddressInfo).port}`,
      model: 'defects',
      transport: 'system',
      timeoutMs: 1000,
      scoreThreshold: 0.25,
      iouThreshold: 0.45,
      signal: controller.signal,
      serverLog: () => 'its log',
      onProgress: () => undefined,
    });
    silent.once('connection', () => controller.abort(new Error('enough')));
    await expect(opening).rejects.toThrow(/^enough$/);
  } finally {
    silent.close();
  }
});
