import { Device } from '@zerohop/cuda-native';
import { type PoolOptions, TensorPool } from '@zerohop/shm-pool';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { Preprocessor } from '../../src/index.js';
import { noise } from '../noise.js';

const png = async (seed: number, width: number, height: number) =>
  sharp(noise(seed, 3 * width * height), { raw: { width, height, channels: 3 } })
    .png({ compressionLevel: 1 })
    .toBuffer();

/** Every cell of the table of kernels and transports: who writes, and what the slot is. */
const CELLS: Record<string, { kernels: 'GPU' | 'CPU'; pool: Partial<PoolOptions>; kind: 'cuda' | 'host' }> = {
  'GPU kernels, cuda slot': { kernels: 'GPU', pool: { transport: 'cuda' }, kind: 'cuda' },
  'GPU kernels, system slot that the GPU reaches': {
    kernels: 'GPU',
    pool: { transport: 'system', deviceAccess: true },
    kind: 'host',
  },
  'GPU kernels, system slot': { kernels: 'GPU', pool: { transport: 'system' }, kind: 'host' },
  'GPU kernels, bytes': { kernels: 'GPU', pool: { transport: 'bytes' }, kind: 'host' },
  'CPU, cuda slot': { kernels: 'CPU', pool: { transport: 'cuda' }, kind: 'cuda' },
  'CPU, system slot': { kernels: 'CPU', pool: { transport: 'system' }, kind: 'host' },
  'CPU, bytes': { kernels: 'CPU', pool: { transport: 'bytes' }, kind: 'host' },
};

describeTier('gpu', 'a slot of every kind, by the GPU and the CPU', () => {
  test('gets the same bytes, and a real server gives the same answer', async () => {
    const { grpcUrl, httpUrl, metricsUrl } = sharedTriton();
    await using client = new TritonClient(grpcUrl, { metricsUrl, httpUrl });
    const device = await Device.open(0);
    const pictures = await Promise.all([png(0, 3840, 2160), png(1, 1280, 900)]);
    const found: Record<string, Buffer[]> = {};
    for (const [name, { kernels, pool: options, kind }] of Object.entries(CELLS)) {
      await using pool = await TensorPool.open(client, { ...options, model: 'defects', slots: 1 });
      await using pre = await Preprocessor.create({
        target: pool.input('images'),
        device: kernels === 'GPU' ? device : 'cpu',
      });
      using lease = await pool.acquire();
      const block = lease.input<'FP32'>('images');
      expect(block.kind).toBe(kind);
      const results: Buffer[] = [];
      for (const picture of pictures) {
        await pre.run(picture, block);
        results.push(Buffer.from((await block.read()).buffer.slice(0)));
      }
      const reply = await lease.infer();
      results.push(Buffer.from((await reply.output<'FP32'>('output0').read()).buffer.slice(0)));
      expect(pre.kernels === undefined).toBe(kernels === 'CPU');
      found[name] = results;
    }
    const [first, ...others] = Object.keys(CELLS) as [string, ...string[]];
    const same = others.map((name) => found[name]?.map((bytes, i) => bytes.equals(found[first]?.[i] as Buffer)));
    expect(same).toEqual(others.map(() => [true, true, true]));
  });
});
