import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '@zerohop/test-support';

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
