import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '@zerohop/test-support';

import type { DetectReport } from '../../src/report.js';

export interface GroundTruth {
  readonly images: readonly {
    readonly file: string;
    readonly width: number;
    readonly height: number;
    readonly objects: readonly {
      readonly label: string;
      readonly classId: number;
      readonly box: readonly [number, number, number, number];
    }[];
  }[];
}

const samples = join(repositoryRoot, 'samples');

export const groundTruth = JSON.parse(readFileSync(join(samples, 'ground-truth.json'), 'utf8')) as GroundTruth;

/** Paths of the sample pictures, in the order of the ground truth. */
export const samplePaths: readonly string[] = groundTruth.images.map(({ file }) => join(samples, file));

/**
 * What a CPU found in the samples. Recorded anew after a change of the weights, from the top of the repository, by
 * `node apps/demo/dist/main.js detect samples/*.jpg --transport bytes --json=apps/demo/test/fixtures/samples-on-cpu.json`
 */
export const foundOnCpu = JSON.parse(
  readFileSync(new URL('../fixtures/samples-on-cpu.json', import.meta.url), 'utf8'),
) as DetectReport;
