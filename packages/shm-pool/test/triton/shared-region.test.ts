import { describeTier, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SharedRegion } from '../../src/index.js';
import { describeSharedRegions, listed } from '../support/shared-region-suite.js';

describeTier('triton', 'regions of system memory on a real server', () => {
  let client: TritonClient;

  beforeAll(() => {
    client = new TritonClient(sharedTriton().grpcUrl);
  });

  afterAll(() => client.close());

  const tensors = { model: 'identity_64', input: 'INPUT0', output: 'OUTPUT0', shape: [64, 64] };
  describeSharedRegions({ name: 'a real server', kind: 'system', open: () => ({ client, ...tensors }) });

  test.for([
    ['timed out', 'detach'],
    ['was cancelled', 'cancel'],
  ] as const)('release waits for a request that %s until the server has written it', async ([, onAbort]) => {
    const byteLength = 4 * 64;
    const region = await SharedRegion.allocate(client, { kind: 'system', byteLength: 2 * byteLength });
    const { memory } = region;
    if (!(memory instanceof Uint8Array)) throw new Error('Not host memory');
    memory.fill(7, 0, byteLength);
    // What the server does to the object after this process has let go of it.
    const written = memory.subarray(byteLength);
    const call = client.infer(
      'slow',
      {
        inputs: { INPUT0: { datatype: 'FP32', shape: [1, 64], ...region.ref({ byteLength }) } },
        outputs: { OUTPUT0: region.ref({ byteOffset: byteLength }) },
        parameters: { ms: 600 },
      },
      { timeoutMs: 100, onAbort },
    );
    region.hold(call.settled);
    await expect(call).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    let last = 0;
    const watch = setInterval(() => {
      if (written.byteLength > 0) last = written[0] ?? 0;
    }, 1);
    expect(await region.release()).toEqual({ proven: true });
    clearInterval(watch);
    // The model ran to its end, and the memory was there for it.
    expect(last).toBe(7);
    expect(await listed({ client, ...tensors }, 'system')).toEqual([]);
  });
});
