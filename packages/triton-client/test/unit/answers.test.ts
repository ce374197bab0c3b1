import { describe, expect, test } from 'vitest';
import { toModelMetadata, toModelStatistics } from '../../src/grpc/answers.js';
import type { Connection } from '../../src/grpc/connection.js';
import { GrpcControl } from '../../src/grpc/control.js';

const HUGE = 2n ** 60n;

/** The control calls of a server that gives this answer to each. */
const answering = (answer: unknown): GrpcControl =>
  new GrpcControl({ unary: () => Promise.resolve(answer) } as unknown as Connection);

describe('answers of the control calls that cannot be right are errors of the server, not of the caller', () => {
  const metadata = (datatype: string, shape: bigint[]) => ({
    name: 'm',
    versions: ['1'],
    platform: '',
    inputs: [{ name: 'a', datatype, shape }],
    outputs: [],
  });

  test('metadata', () => {
    expect(toModelMetadata(metadata('FP32', [-1n, 3n])).inputs[0]?.shape).toEqual([-1, 3]);
    for (const wrong of [metadata('FP32', [HUGE]), metadata('FP7', [1n])]) {
      expect(() => toModelMetadata(wrong)).toThrow(
        expect.objectContaining({ code: 'TRITON_MALFORMED_RESPONSE', method: 'ModelMetadata' }),
      );
    }
  });

  test('statistics', () => {
    const statistics = { inferenceCount: 1n, executionCount: HUGE, lastInference: 0n, inferenceStats: undefined };
    expect(() => toModelStatistics(statistics as never)).toThrow(
      expect.objectContaining({ code: 'TRITON_MALFORMED_RESPONSE', details: `execution_count is ${HUGE}` }),
    );
  });

  test('regions', async () => {
    const region = { name: 'r', key: '/r', offset: 0n, byteSize: HUGE, deviceId: 0n };
    const control = answering({ regions: { r: region } });
    const call = { timeoutMs: 1000 };
    for (const status of [control.systemRegions('', call), control.cudaRegions('', call)]) {
      await expect(status).rejects.toMatchObject({
        code: 'TRITON_MALFORMED_RESPONSE',
        details: `the size of 'r' is ${HUGE}`,
      });
    }
  });
});
