import type { TritonClient } from '@zerohop/triton-client';
import { expectTypeOf, test } from 'vitest';
import type { RegionClient, TensorClient } from '../../src/index.js';

test('TritonClient is a client for a pool', () => {
  expectTypeOf<TritonClient>().toExtend<TensorClient>();
  expectTypeOf<TritonClient>().toExtend<RegionClient>();
});
