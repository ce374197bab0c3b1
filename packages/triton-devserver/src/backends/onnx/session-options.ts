import type { ModelConfig } from '../../grpc/gen/model_config.js';
import { invalid } from '../../status.js';

/** What onnxruntime-node is told of how to run a model. */
export interface SessionOptions {
  readonly graphOptimizationLevel: 'disabled' | 'basic' | 'extended' | 'all';
  readonly executionMode: 'sequential' | 'parallel';
  readonly intraOpNumThreads?: number;
  readonly interOpNumThreads?: number;
  readonly enableCpuMemArena?: boolean;
  readonly enableMemPattern?: boolean;
}

/** By `optimization { graph { level } }`; any other level is all there is. */
const LEVELS: Readonly<Record<number, SessionOptions['graphOptimizationLevel']>> = {
  [-1]: 'basic',
  1: 'extended',
  2: 'disabled',
};

/**
 * What a configuration says of the session, by the parameters of the real ONNX Runtime backend (its onnxruntime.cc). Others
 * of its parameters concern GPUs, or memory that onnxruntime-node has no say in.
 *
 * @throws ServerError in that backend's words
 */
export function sessionOptions({ parameters, optimization }: ModelConfig): SessionOptions {
  const text = (name: string) => parameters[name]?.string_value;
  const mode = integer(text('execution_mode')) ?? 0;
  if (mode !== 0 && mode !== 1) {
    throw invalid(
      `Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got ${mode} .`,
    );
  }
  const intra = integer(text('intra_op_thread_count')) ?? 0;
  const inter = integer(text('inter_op_thread_count')) ?? 0;
  const arena = boolean(text('enable_mem_arena'));
  const pattern = boolean(text('enable_mem_pattern'));
  return {
    graphOptimizationLevel: LEVELS[optimization?.graph?.level ?? 0] ?? 'all',
    executionMode: mode === 0 ? 'sequential' : 'parallel',
    ...(intra > 0 ? { intraOpNumThreads: intra } : {}),
    ...(inter > 0 ? { interOpNumThreads: inter } : {}),
    ...(arena === undefined ? {} : { enableCpuMemArena: arena }),
    ...(pattern === undefined ? {} : { enableMemPattern: pattern }),
  };
}

/** As C++'s stoi: what follows the digits is nothing. */
function integer(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number.parseInt(text, 10);
  if (!Number.isSafeInteger(value)) throw invalid(`failed to convert '${text}' to integral number`);
  return value;
}

function boolean(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  const lower = text.toLowerCase();
  if (!['true', 'on', '1', 'false', 'off', '0'].includes(lower)) {
    throw invalid(`failed to convert '${text}' to boolean`);
  }
  return ['true', 'on', '1'].includes(lower);
}
