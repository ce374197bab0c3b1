import type { InferRequest, ModelConfig, TritonClient } from '@zerohop/triton-client';
import { expectTypeOf, test } from 'vitest';
import type { ClientRequest, InferOptions, RegionClient, SharedRegion, TensorClient } from '../../src/index.js';

test('TritonClient is a client for a pool', () => {
  expectTypeOf<TritonClient>().toExtend<TensorClient>();
  expectTypeOf<TritonClient>().toExtend<RegionClient>();
});

test('its requests and configurations have what a pool uses of them', () => {
  expectTypeOf<ClientRequest>().toExtend<InferRequest>();
  expectTypeOf<NonNullable<InferOptions['sequence']>>().toEqualTypeOf<NonNullable<InferRequest['sequence']>>();
  expectTypeOf<ModelConfig>().toExtend<Required<Awaited<ReturnType<TensorClient['modelConfig']>>>>();
});

test('what a SharedRegion refers to is what the requests of TritonClient take', () => {
  type Request = Parameters<TritonClient['infer']>[1];
  type Ref = ReturnType<SharedRegion['ref']>;
  expectTypeOf<{ datatype: 'FP32'; shape: number[] } & Ref>().toExtend<Request['inputs'][string]>();
  expectTypeOf<Ref>().toExtend<NonNullable<Request['outputs']>[string]>();
});
