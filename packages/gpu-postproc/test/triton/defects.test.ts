import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Preprocessor } from '@zerohop/gpu-preproc';
import { TensorPool } from '@zerohop/shm-pool';
import { describeTier, repositoryRoot, sharedTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { expect, test } from 'vitest';
import { type Box, Detector } from '../../src/index.js';
import { iou } from '../boxes.js';

interface GroundTruth {
  readonly images: readonly {
    readonly file: string;
    readonly width: number;
    readonly height: number;
    readonly objects: readonly { readonly label: string; readonly box: Box }[];
  }[];
}

describeTier('triton', 'detections of a real server', () => {
  test('of the sample pictures lie where the ground truth says, by each transport', async () => {
    const samples = join(repositoryRoot, 'samples');
    const truth = JSON.parse(await readFile(join(samples, 'ground-truth.json'), 'utf8')) as GroundTruth;
    const labels = (await readFile(join(repositoryRoot, 'models/defects/labels.txt'), 'utf8')).trim().split('\n');
    await using client = new TritonClient(sharedTriton().grpcUrl);
    for (const transport of ['system', 'bytes'] as const) {
      await using pool = await TensorPool.open(client, { model: 'defects', slots: 1, transport });
      await using pre = await Preprocessor.create({ target: pool.input('images') });
      await using post = await Detector.create({ source: pool.output('output0'), head: 'yolov8', labels });
      const counts = { objects: 0, found: 0, detections: 0, right: 0 };
      for (const { file, width, height, objects } of truth.images.slice(0, 2)) {
        using lease = await pool.acquire();
        const geometry = await pre.run(await readFile(join(samples, file)), lease.input('images'));
        expect(geometry).toMatchObject({ sourceWidth: width, sourceHeight: height });
        const reply = await lease.infer();
        const detections = [...(await post.run(reply.output('output0'), { geometry }))];
        const matches = (detection: { label: string; box: Box }, object: { label: string; box: Box }): boolean =>
          detection.label === object.label && iou(detection.box, object.box) >= 0.5;
        counts.objects += objects.length;
        counts.detections += detections.length;
        counts.found += objects.filter((object) => detections.some((detection) => matches(detection, object))).length;
        counts.right += detections.filter((detection) => objects.some((object) => matches(detection, object))).length;
      }
      expect(counts.found / counts.objects).toBeGreaterThan(0.7);
      expect(counts.right / counts.detections).toBeGreaterThan(0.7);
    }
  });
});
