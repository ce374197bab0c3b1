import { expect, test } from 'vitest';
import { metricsText } from '../../src/core/metrics.js';
import type { Runner } from '../../src/core/runner.js';
import { StatisticsRecorder } from '../../src/core/statistics.js';

const times = { queueNs: 1_999n, computeInputNs: 1_000n, computeInferNs: 5_500n, computeOutputNs: 999n };

function recorded(): StatisticsRecorder {
  const recorder = new StatisticsRecorder();
  for (const batchSize of [2, 1]) recorder.succeeded(batchSize, times);
  recorder.executed(3, times);
  recorder.executed(1, times);
  recorder.executed(3, times);
  recorder.failed('REJECTED', 70n);
  recorder.failed('BACKEND', 30n);
  return recorder;
}

test('what ModelStatistics tells: sums in nanoseconds, batches by their size', () => {
  const before = BigInt(Date.now());
  const statistics = recorded().snapshot('m', '3');
  const twice = (ns: bigint) => ({ count: 2n, ns: 2n * ns });
  const nothing = { count: 0n, ns: 0n };
  expect(statistics).toEqual({
    name: 'm',
    version: '3',
    lastInference: expect.any(BigInt) as unknown,
    inferenceCount: 3n,
    executionCount: 3n,
    inference: {
      success: twice(9_498n),
      fail: { count: 2n, ns: 100n },
      queue: twice(1_999n),
      compute_input: twice(1_000n),
      compute_infer: twice(5_500n),
      compute_output: twice(999n),
      cache_hit: nothing,
      cache_miss: nothing,
    },
    batches: [
      {
        batchSize: 1n,
        computeInput: { count: 1n, ns: 1_000n },
        computeInfer: { count: 1n, ns: 5_500n },
        computeOutput: { count: 1n, ns: 999n },
      },
      { batchSize: 3n, computeInput: twice(1_000n), computeInfer: twice(5_500n), computeOutput: twice(999n) },
    ],
  });
  expect(statistics.lastInference).toBeGreaterThanOrEqual(before);
});

test('nothing happened: zeros', () => {
  const { lastInference, inference, batches } = new StatisticsRecorder().snapshot('m', '1');
  expect([lastInference, batches]).toEqual([0n, []]);
  expect(Object.values(inference)).toEqual(Array(8).fill({ count: 0n, ns: 0n }));
});

/** The lines of a text, by what stands before their value. */
function values(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .split('\n')
      .flatMap((line) => (line.startsWith('#') || line === '' ? [] : [line.split(/ (?=[^ ]*$)/) as [string, string]])),
  );
}

const runner = (name: string, version: number, recorder: StatisticsRecorder, pending = 0) =>
  ({ config: { name }, version, recorder, pending }) as Runner;

test('the metrics of a model: each request counts its whole microseconds', () => {
  const text = metricsText([runner('m', 3, recorded(), 4), runner('a"\\\nb', 1, new StatisticsRecorder())]);
  expect(values(text)).toMatchObject({
    'nv_inference_request_success{model="m",version="3"}': '2',
    'nv_inference_request_failure{model="m",reason="REJECTED",version="3"}': '1',
    'nv_inference_request_failure{model="m",reason="BACKEND",version="3"}': '1',
    'nv_inference_request_failure{model="m",reason="CANCELED",version="3"}': '0',
    'nv_inference_request_failure{model="m",reason="OTHER",version="3"}': '0',
    'nv_inference_count{model="m",version="3"}': '3',
    'nv_inference_exec_count{model="m",version="3"}': '3',
    'nv_inference_request_duration_us{model="m",version="3"}': '18',
    'nv_inference_queue_duration_us{model="m",version="3"}': '2',
    'nv_inference_compute_input_duration_us{model="m",version="3"}': '2',
    'nv_inference_compute_infer_duration_us{model="m",version="3"}': '10',
    'nv_inference_compute_output_duration_us{model="m",version="3"}': '0',
    'nv_inference_pending_request_count{model="m",version="3"}': '4',
    'nv_inference_count{model="a\\"\\\\\\nb",version="1"}': '0',
  });
  expect(text).not.toContain('gpu');
});

test('the metrics of GPUs, which clients find by their UUIDs', () => {
  const text = metricsText([], ['GPU-a', 'GPU-b']);
  expect(text).not.toContain('nv_inference');
  const uuids = [...text.matchAll(/^nv_gpu_utilization\{gpu_uuid="(GPU-\w)"\} 0$/gm)].map(([, uuid]) => uuid);
  expect(uuids).toEqual(['GPU-a', 'GPU-b']);
  for (const name of ['memory_total_bytes', 'memory_used_bytes', 'power_usage', 'power_limit']) {
    expect(text).toContain(`# TYPE nv_gpu_${name} gauge\nnv_gpu_${name}{gpu_uuid="GPU-a"} 0\n`);
  }
  expect(text).toContain('# TYPE nv_energy_consumption counter\nnv_energy_consumption{gpu_uuid="GPU-a"} 0\n');
});

test('the metrics of the machine', () => {
  const found = values(metricsText([]));
  expect(Number(found.nv_cpu_memory_total_bytes)).toBeGreaterThan(Number(found.nv_cpu_memory_used_bytes));
  expect(Number(found.nv_cpu_utilization)).toBeGreaterThanOrEqual(0);
  expect(Number(found.nv_cpu_utilization)).toBeLessThanOrEqual(1);
});
