import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RawTriton } from '../../../triton-client/test/support/raw-triton.js';
import { metricsText } from '../../src/core/metrics.js';
import type { Runner } from '../../src/core/runner.js';
import { StatisticsRecorder } from '../../src/core/statistics.js';
import { ModelInferRequest, GRPCInferenceServiceService as Service } from '../../src/grpc/gen/grpc_service.js';

/** Every number of a text as 0, but for those that count requests. */
const shape = (text: string) =>
  text.replace(/^(nv_(?!inference_(count|exec|request_(success|failure))).*) \S+$/gm, '$1 0');

describeTier('triton', 'statistics and metrics are those of a real 2.51', () => {
  let triton: LocalTriton;
  let raw: RawTriton;

  beforeAll(async () => {
    triton = await privateTriton({ models: ['identity'] });
    raw = new RawTriton(triton.grpcUrl, triton.httpUrl);
  });

  afterAll(async () => {
    raw.close();
    await triton.stop();
  });

  test('the same after the same requests: refused ones are not counted', async () => {
    const recorder = new StatisticsRecorder();
    const infer = async (elements: bigint) => {
      const input = { name: 'INPUT0', datatype: 'FP32', shape: [1n, elements], parameters: {} };
      const base = ModelInferRequest.decode(new Uint8Array());
      const request = { ...base, model_name: 'identity', inputs: [input], raw_input_contents: [Buffer.alloc(4)] };
      return (await raw.call(Service.modelInfer, request)).code;
    };
    const times = { queueNs: 1_000n, computeInputNs: 1_000n, computeInferNs: 1_000n, computeOutputNs: 1_000n };
    for (let request = 0; request < 3; request += 1) {
      expect(await infer(1n)).toBe(0);
      recorder.succeeded(1, times);
      recorder.executed(1, times);
    }
    expect(await infer(2n)).toBe(3);

    const ours = metricsText([{ config: { name: 'identity' }, version: 1, pending: 0, recorder } as unknown as Runner]);
    // The counters follow an answer by a moment.
    await expect.poll(async () => shape(await (await fetch(triton.metricsUrl)).text())).toBe(shape(ours));

    const got = await raw.call(Service.modelStatistics, { name: 'identity', version: '' });
    const real = 'answer' in got ? got.answer.model_stats[0] : expect.fail(got.details);
    const { inference, batches, inferenceCount, executionCount, lastInference } = recorder.snapshot('identity', '1');
    expect([real?.inference_count, real?.execution_count]).toEqual([inferenceCount, executionCount]);
    expect(Math.abs(Number((real?.last_inference ?? 0n) - lastInference))).toBeLessThan(60_000);
    const counts = (durations: object) =>
      Object.fromEntries(
        Object.entries(durations).map(([name, duration]) => [name, (duration as { count: bigint }).count]),
      );
    expect(counts(real?.inference_stats ?? {})).toEqual(counts(inference));
    expect(real?.batch_stats.map(({ batch_size, compute_infer }) => [batch_size, compute_infer?.count])).toEqual(
      batches.map(({ batchSize, computeInfer }) => [batchSize, computeInfer.count]),
    );
  });
});
