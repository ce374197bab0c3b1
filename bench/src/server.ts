import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startTriton } from '@zerohop/local-triton';
import { removeEntries } from '@zerohop/shm-pool';
import type { ServerTimes } from './results.js';

/** The top of the clone (or of an unpacked bundle), from src/ and from dist/. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** The bench's model repository. */
export const MODELS = join(ROOT, 'bench', 'models');

/** A Python model grows to about 101 MB of /dev/shm once a 4K tensor has passed. */
const PYTHON_MODEL_BYTES = 110 * 2 ** 20;

/** Builds the native backend where that is not done, and gives its folder. */
export async function buildFolder(): Promise<string> {
  const { buildBackend } = (await import(new URL('../backend/build.mjs', import.meta.url).href)) as {
    buildBackend(): Promise<string>;
  };
  return buildBackend();
}

export interface BenchServer {
  readonly grpcUrl: string;
  readonly httpUrl: string;
  /** Undefined when the server is not ours. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

/**
 * Starts a server with the models named, on the native backend and the wheel's Python backend.
 *
 * @param socket - gRPC on this unix socket (the server appends its port) instead of TCP
 */
export async function startBenchServer(
  models: readonly string[],
  onProgress?: (message: string) => void,
  socket?: string,
): Promise<BenchServer> {
  const backend = await buildFolder();
  // No server knows this process's regions once its own has ended, which it does with the process at the latest.
  process.on('exit', removeEntries);
  const server = await startTriton({
    modelRepository: MODELS,
    models,
    backendDirectories: [backend],
    shmByteLength: 64 * 2 ** 20 + models.filter((model) => model.startsWith('py_')).length * PYTHON_MODEL_BYTES,
    ...(onProgress && { onProgress }),
    // What is measured is one GPU: of several, a model would have an instance on each.
    env: { CUDA_VISIBLE_DEVICES: process.env.CUDA_VISIBLE_DEVICES?.split(',')[0] ?? '0' },
    // The last one counts.
    ...(socket !== undefined && { args: [`--grpc-address=unix:${socket}`] }),
  });
  return {
    grpcUrl: socket === undefined ? server.grpcUrl : `unix:${socket}:${new URL(server.grpcUrl).port}`,
    httpUrl: server.httpUrl,
    pid: server.pid,
    stop: async () => {
      await server.stop();
      process.off('exit', removeEntries);
      removeEntries();
    },
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
