import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startTriton } from '@zerohop/local-triton';
import type { ServerTimes } from './results.js';

/** The top of the clone (or of an unpacked bundle), from src/ and from dist/. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const BENCH = join(ROOT, 'bench');

/** A Python model grows to about 101 MB of /dev/shm once a 4K tensor has passed. */
const PYTHON_MODEL_BYTES = 110 * 2 ** 20;

export interface BenchServer {
  readonly grpcUrl: string;
  readonly httpUrl: string;
  /** Undefined when the server is not ours. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

/** Starts a server with the models named, on the native backend and the wheel's Python backend. */
export async function startBenchServer(
  models: readonly string[],
  onProgress?: (message: string) => void,
): Promise<BenchServer> {
  const { buildBackend } = (await import(new URL('../backend/build.mjs', import.meta.url).href)) as {
    buildBackend(): Promise<string>;
  };
  const backend = await buildBackend();
  const server = await startTriton({
    modelRepository: join(BENCH, 'models'),
    models,
    backendDirectories: [backend],
    shmByteLength: 64 * 2 ** 20 + models.filter((model) => model.startsWith('py_')).length * PYTHON_MODEL_BYTES,
    ...(onProgress && { onProgress }),
  });
  return {
    grpcUrl: server.grpcUrl,
    httpUrl: server.httpUrl,
    pid: server.pid,
    stop: () => server.stop(),
  };
}

interface Counter {
  readonly count: number;
  readonly ns: number;
}

/** Totals of a model since the server started, from the statistics extension over HTTP. */
export interface ModelTotals {
  readonly success: Counter;
  readonly queue: Counter;
  readonly compute_input: Counter;
  readonly compute_infer: Counter;
  readonly compute_output: Counter;
}

export async function modelTotals(httpUrl: string, model: string): Promise<ModelTotals> {
  const response = await fetch(`${httpUrl}/v2/models/${model}/stats`, { signal: AbortSignal.timeout(20_000) });
  if (!response.ok) throw new Error(`The server's statistics of ${model} answered ${response.status}`);
  const { model_stats: stats } = (await response.json()) as { model_stats: { inference_stats: ModelTotals }[] };
  const totals = stats[0]?.inference_stats;
  if (totals === undefined) throw new Error(`The server has no statistics of ${model}`);
  return totals;
}

/** Per request, between two readings; undefined when nothing was served. */
export function serverTimes(before: ModelTotals, after: ModelTotals): ServerTimes | undefined {
  const requests = after.success.count - before.success.count;
  if (requests <= 0) return undefined;
  const us = (name: 'queue' | 'compute_input' | 'compute_infer' | 'compute_output') =>
    (after[name].ns - before[name].ns) / requests / 1000;
  return {
    queueUs: us('queue'),
    inputUs: us('compute_input'),
    inferUs: us('compute_infer'),
    outputUs: us('compute_output'),
  };
}
