import type { Availability } from '@zerohop/cuda-native';
import { expect, test } from 'vitest';
import { gpuVariables } from '../../src/server-gpu.js';

const UUIDS = ['GPU-00000000-0000-0000-0000-000000000001', 'GPU-00000000-0000-0000-0000-000000000002'];
const withGpus = (count: number) =>
  ({ available: true, devices: UUIDS.slice(0, count).map((uuid) => ({ uuid })) }) as unknown as Availability;

test('a server of our own sees the first of several GPUs, and else what there is', () => {
  expect(gpuVariables(withGpus(2))).toEqual({ CUDA_VISIBLE_DEVICES: UUIDS[0] });
  expect(gpuVariables(withGpus(1))).toEqual({});
  expect(gpuVariables({ available: false } as Availability)).toEqual({});
});
