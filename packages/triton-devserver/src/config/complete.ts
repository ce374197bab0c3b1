import type { ModelConfig, ModelInstanceGroup } from '../grpc/gen/model_config.js';

/** What a server fills in where a configuration is silent, as 2.51 does it. */
export interface CompletionContext {
  /** The model's name, which is its folder's. */
  readonly name: string;
  /** How many GPUs the server says it has: without any, instances of KIND_AUTO run on the CPU. */
  readonly gpus: number;
}

const SEQUENCE_IDLE_MICROSECONDS = 1_000_000n;

/** By backend: the platform that it adds, if any, and the file that it looks for. */
const BACKENDS: Readonly<Record<string, { readonly platform?: string; readonly filename: string }>> = {
  tensorrt: { platform: 'tensorrt_plan', filename: 'model.plan' },
  onnxruntime: { platform: 'onnxruntime_onnx', filename: 'model.onnx' },
  openvino: { filename: 'model.xml' },
  pytorch: { platform: 'pytorch_libtorch', filename: 'model.pt' },
  python: { filename: 'model.py' },
};

export function isEnsemble(config: ModelConfig): boolean {
  return config.platform === 'ensemble';
}

/**
 * Completes a configuration in place. A configuration without backend and platform is one of Python's backend: what runs
 * JavaScript here stands for that.
 */
export function completeConfig(config: ModelConfig, context: CompletionContext): void {
  if (config.name === '') config.name = context.name;
  config.version_policy ??= { latest: { num_versions: 1 } };
  if (config.ensemble_scheduling !== undefined) {
    // Namespaces are off, so a step's is dropped.
    for (const step of config.ensemble_scheduling.step) step.model_namespace = '';
  }
  completeBatching(config);
  if (isEnsemble(config)) return;
  completeBackend(config);
  config.optimization ??= {
    priority: 'PRIORITY_DEFAULT',
    gather_kernel_buffer_threshold: 0,
    eager_batching: false,
  };
  config.optimization.input_pinned_memory ??= { enable: true };
  config.optimization.output_pinned_memory ??= { enable: true };
  completeInstances(config, context);
}

function completeBatching(config: ModelConfig): void {
  const { dynamic_batching: dynamic, sequence_batching: sequence, max_batch_size: most } = config;
  if (dynamic !== undefined && dynamic.preferred_batch_size.length === 0 && most > 0)
    dynamic.preferred_batch_size = [most];
  if (sequence === undefined) return;
  if (sequence.max_sequence_idle_microseconds === 0n)
    sequence.max_sequence_idle_microseconds = SEQUENCE_IDLE_MICROSECONDS;
  const { oldest } = sequence;
  if (oldest !== undefined && oldest.preferred_batch_size.length === 0 && most > 0)
    oldest.preferred_batch_size = [most];
}

function completeBackend(config: ModelConfig): void {
  if (config.backend === '') {
    const known = Object.entries(BACKENDS).find(
      ([, { platform, filename }]) =>
        (platform !== undefined && platform === config.platform) || filename === config.default_model_filename,
    );
    if (known !== undefined) config.backend = known[0];
    else if (config.platform === '') config.backend = 'python';
  }
  const backend = Object.hasOwn(BACKENDS, config.backend) ? BACKENDS[config.backend] : undefined;
  if (backend === undefined) return;
  if (config.platform === '') config.platform = backend.platform ?? '';
  if (config.default_model_filename === '') config.default_model_filename = backend.filename;
}

function completeInstances(config: ModelConfig, { gpus }: CompletionContext): void {
  if (config.instance_group.length === 0) config.instance_group = [{ ...EMPTY_GROUP, name: config.name }];
  config.instance_group.forEach((group, index) => {
    if (group.name === '') group.name = `${config.name}_${index}`;
    if (group.count < 1) group.count = 1;
    if (group.kind === 'KIND_AUTO')
      group.kind = group.gpus.every((gpu) => gpu < gpus) && gpus > 0 ? 'KIND_GPU' : 'KIND_CPU';
    if (group.kind === 'KIND_GPU' && group.gpus.length === 0)
      group.gpus = Array.from({ length: gpus }, (_, gpu) => gpu);
  });
}

/** How many instances a completed configuration asks for, on all devices. */
export function instanceCount({ instance_group: groups }: ModelConfig): number {
  return Math.max(
    1,
    groups.reduce((sum, { count }) => sum + count, 0),
  );
}

const EMPTY_GROUP: ModelInstanceGroup = {
  name: '',
  count: 0,
  gpus: [],
  kind: 'KIND_AUTO',
  profile: [],
  passive: false,
  secondary_devices: [],
  host_policy: '',
};
