import { cpus, freemem, totalmem } from 'node:os';
import type { Runner } from './runner.js';
import { FAILURE_REASONS, type ModelCounters } from './statistics.js';

/** One line without the family's name: its labels, as they are printed, and the value. */
type Sample = readonly [labels: string, value: bigint | number];
type PerModel = readonly [name: string, help: string, value: (counters: ModelCounters) => bigint | number];

const COUNTERS: readonly PerModel[] = [
  [
    'nv_inference_count',
    'Number of inferences performed (does not include cached requests)',
    ({ inferences }) => inferences,
  ],
  [
    'nv_inference_exec_count',
    'Number of model executions performed (does not include cached requests)',
    ({ executions }) => executions,
  ],
  [
    'nv_inference_request_duration_us',
    'Cumulative inference request duration in microseconds (includes cached requests)',
    ({ requestUs }) => requestUs,
  ],
  [
    'nv_inference_queue_duration_us',
    'Cumulative inference queuing duration in microseconds (includes cached requests)',
    ({ queueUs }) => queueUs,
  ],
  [
    'nv_inference_compute_input_duration_us',
    'Cumulative compute input duration in microseconds (does not include cached requests)',
    ({ computeInputUs }) => computeInputUs,
  ],
  [
    'nv_inference_compute_infer_duration_us',
    'Cumulative compute inference duration in microseconds (does not include cached requests)',
    ({ computeInferUs }) => computeInferUs,
  ],
  [
    'nv_inference_compute_output_duration_us',
    'Cumulative inference compute output duration in microseconds (does not include cached requests)',
    ({ computeOutputUs }) => computeOutputUs,
  ],
];

/** Families of the GPUs (metrics.cc of Triton's core). What a real server reads from NVML is 0 here. */
const OF_GPUS: readonly (readonly [name: string, type: 'gauge' | 'counter', help: string])[] = [
  ['nv_gpu_utilization', 'gauge', 'GPU utilization rate [0.0 - 1.0)'],
  ['nv_gpu_memory_total_bytes', 'gauge', 'GPU total memory, in bytes'],
  ['nv_gpu_memory_used_bytes', 'gauge', 'GPU used memory, in bytes'],
  ['nv_gpu_power_usage', 'gauge', 'GPU power usage in watts'],
  ['nv_gpu_power_limit', 'gauge', 'GPU power management limit in watts'],
  ['nv_energy_consumption', 'counter', 'GPU energy consumption in joules since the Triton Server started'],
];

function family(name: string, type: 'counter' | 'gauge', help: string, samples: readonly Sample[]): string {
  if (samples.length === 0) return '';
  const lines = samples.map(([labels, value]) => `${name}${labels === '' ? '' : `{${labels}}`} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

/** A label's value as Prometheus quotes it. */
const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;

/**
 * The text of /metrics: the families of a real 2.51 without a GPU, in its order, and those of GPUs where `gpuUuids` names some.
 * A real server's order of models is that of a hash table; here it is that of `runners`. A family without a sample is left
 * out.
 */
export function metricsText(runners: readonly Runner[], gpuUuids: readonly string[] = []): string {
  const models = runners.map(({ config, version, pending, recorder }) => {
    const counters = recorder.counters();
    return { name: quoted(config.name), version: `version="${version}"`, pending, counters };
  });
  const each = (value: (model: (typeof models)[number]) => bigint | number) =>
    models.map((model): Sample => [`model=${model.name},${model.version}`, value(model)]);
  const failures = models.flatMap(({ name, version, counters }) =>
    FAILURE_REASONS.map((reason): Sample => [`model=${name},reason="${reason}",${version}`, counters.failures[reason]]),
  );
  const ofServer = (name: string, help: string, value: number) => family(name, 'gauge', help, [['', value]]);
  const gpus = gpuUuids.map((uuid): Sample => [`gpu_uuid=${quoted(uuid)}`, 0]);
  return [
    family(
      'nv_inference_request_success',
      'counter',
      'Number of successful inference requests, all batch sizes',
      each(({ counters }) => counters.success),
    ),
    family('nv_inference_request_failure', 'counter', 'Number of failed inference requests, all batch sizes', failures),
    ...COUNTERS.map(([name, help, value]) =>
      family(
        name,
        'counter',
        help,
        each(({ counters }) => value(counters)),
      ),
    ),
    family(
      'nv_inference_pending_request_count',
      'gauge',
      'Instantaneous number of pending requests awaiting execution per-model.',
      each(({ pending }) => pending),
    ),
    ofServer('nv_pinned_memory_pool_total_bytes', 'Pinned memory pool total memory size, in bytes', 0),
    ofServer('nv_pinned_memory_pool_used_bytes', 'Pinned memory pool used memory size, in bytes', 0),
    ...OF_GPUS.map(([name, type, help]) => family(name, type, help, gpus)),
    ofServer('nv_cpu_utilization', 'CPU utilization rate [0.0 - 1.0]', cpuUtilization()),
    ofServer('nv_cpu_memory_total_bytes', 'CPU total memory (RAM), in bytes', totalmem()),
    ofServer('nv_cpu_memory_used_bytes', 'CPU used memory (RAM), in bytes', totalmem() - freemem()),
  ].join('');
}

/** Of all processors since they were started; a real server's is that of its last two seconds. */
function cpuUtilization(): number {
  let idle = 0;
  let busy = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    busy += times.user + times.nice + times.sys + times.irq;
  }
  return busy === 0 ? 0 : busy / (busy + idle);
}
