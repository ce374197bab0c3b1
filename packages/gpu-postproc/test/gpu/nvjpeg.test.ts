import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Device } from '@zerohop/cuda-native';
import { type DecodeOptions, decodeImage, Preprocessor } from '@zerohop/gpu-preproc';
import { TensorPool } from '@zerohop/shm-pool';
import { describeTier, repositoryRoot, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { expect, test } from 'vitest';
import { Detector } from '../../src/index.js';
import { withoutPartner } from '../boxes.js';

const samples = join(repositoryRoot, 'samples');
const files = readdirSync(samples).filter((name) => name.endsWith('.jpg'));

describeTier('gpu', 'pixels that nvJPEG decoded', () => {
  test.each(['cuda', 'system'] as const)(
    'give the detections of those that sharp decoded, in %s slots',
    async (transport) => {
      const { grpcUrl, metricsUrl } = sharedTriton();
      const labels = readFileSync(join(repositoryRoot, 'models/defects/labels.txt'), 'utf8').trim().split('\n');
      const onDevice: DecodeOptions & { readonly device: Device } = { device: await Device.open(0) };
      await using client = new TritonClient(grpcUrl, { metricsUrl });
      await using pool = await TensorPool.open(client, { model: 'defects', slots: 1, transport });
      await using pre = await Preprocessor.create({ target: pool.input('images') });
      await using post = await Detector.create({ source: pool.output('output0'), head: 'yolov8', labels });

      const detect = async (bytes: Uint8Array, options: DecodeOptions, decoder: string) => {
        using image = await decodeImage(bytes, options);
        expect(image.decoder).toBe(decoder);
        using lease = await pool.acquire();
        const geometry = await pre.run(image, lease.input('images'));
        const reply = await lease.infer();
        return [...(await post.run(reply.output('output0'), { geometry }))];
      };

      expect(files).toHaveLength(4);
      for (const file of files) {
        const bytes = readFileSync(join(samples, file));
        const [ours, theirs] = [await detect(bytes, onDevice, 'nvjpeg'), await detect(bytes, {}, 'sharp')];
        expect(theirs.length).toBeGreaterThan(0);
        const alone = [...withoutPartner(ours, theirs), ...withoutPartner(theirs, ours)];
        expect({ file, count: ours.length, alone }).toEqual({ file, count: theirs.length, alone: [] });
      }
    },
  );
});
