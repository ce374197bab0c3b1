import type { Stream } from '@zerohop/cuda-native';
import { expect, test } from 'vitest';
import { discard } from '../../src/memory-release.js';
import { messageMemory } from '../../src/slot-memory.js';

test('a stream that the driver refuses to close does not hide why memory is discarded', async () => {
  const plan = { model: 'm', maxBatchSize: 0, inputs: [], outputs: [], inputByteLength: 0, byteLength: 0 };
  const close = () => Promise.reject(new Error('CUDA_ERROR_ILLEGAL_ADDRESS'));
  const stream = { close } as unknown as Stream;
  await expect(discard({ ...messageMemory(plan), stream })).resolves.toBeUndefined();
});
