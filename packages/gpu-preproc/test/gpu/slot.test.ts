import { type Lease, TensorPool, type Transport } from '@zerohop/shm-pool';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { Preprocessor } from '../../src/index.js';
import { noise } from '../noise.js';

/** Runs `use` with a lease of a pool of the one transport. */
async function withLease(
  client: TritonClient,
  transport: Transport,
  use: (lease: Lease, pool: TensorPool) => Promise<void>,
) {
  await using pool = await TensorPool.open(client, { model: 'defects', slots: 1, transport });
  using lease = await pool.acquire();
  await use(lease, pool);
}

describeTier('gpu', 'a slot in GPU memory', () => {
  test('gets the same bytes as a slot in host memory, twice from the same buffer', async () => {
    const { grpcUrl, metricsUrl } = sharedTriton();
    await using client = new TritonClient(grpcUrl, { metricsUrl });
    const jpegs = await Promise.all(
      [
        [3840, 2160],
        [1280, 900],
      ].map(([width = 0, height = 0], seed) =>
        sharp(noise(seed, 3 * width * height), { raw: { width, height, channels: 3 } })
          .jpeg()
          .toBuffer(),
      ),
    );
    const tensors: Record<string, Buffer[]> = { cuda: [], system: [] };
    for (const transport of ['cuda', 'system'] as const) {
      await withLease(client, transport, async (lease, pool) => {
        await using pre = await Preprocessor.create({ target: pool.input('images') });
        for (const jpeg of jpegs) {
          const block = lease.input<'FP32'>('images');
          expect(block.kind).toBe(transport === 'cuda' ? 'cuda' : 'host');
          await pre.run(jpeg, block);
          tensors[transport]?.push(Buffer.from((await block.read()).buffer));
        }
      });
    }
    const equal = jpegs.map((_, i) => tensors.cuda?.[i]?.equals(tensors.system?.[i] ?? Buffer.alloc(0)));
    expect(equal).toEqual([true, true]);
  });
});
