import { access, constants } from 'node:fs/promises';
import { availability } from '@zerohop/cuda-native';
import { startTriton } from '@zerohop/local-triton';
import { removeEntries } from '@zerohop/shm-pool';
import { Cleanup } from './cleanup.js';
import type { DetectOptions } from './cli.js';
import { CliError, codeOf } from './errors.js';
import { sharedMemoryClosed } from './explain.js';
import { systemWords } from './files.js';
import { findModelRepository, listModels } from './model-repository.js';
import { Pipeline } from './pipeline.js';
import { gpuVariables } from './server-gpu.js';
import { ServerLog } from './server-log.js';
import type { Transport } from './transport.js';

/** A pipeline and, when no address was given, the Triton server that was started for it. */
export interface Session {
  readonly pipeline: Pipeline;
  /** Closes the pipeline, then ends the server. @returns what went wrong on the way */
  close(): Promise<unknown[]>;
}

const MIB = 2 ** 20;

/**
 * What must be free in /dev/shm before a server is started. At 4K the model's Python process takes 101 MiB for the
 * tensor and a slot in system shared memory 104 MiB; on a GPU both stay there.
 */
function sharedMemoryNeeded(transport: Transport): number {
  if (transport === 'cuda' || (transport === 'auto' && availability().available)) return 32 * MIB;
  return (transport === 'bytes' ? 120 : 224) * MIB;
}

/**
 * Connects to the server at `--url`, or starts one on this machine and connects to that.
 * @param progress - told what is going on while it takes seconds
 */
export async function openSession(
  options: DetectOptions,
  signal: AbortSignal,
  progress: (line: string) => void,
): Promise<Session> {
  const cleanup = new Cleanup();
  try {
    const { url, metricsUrl, serverLog } =
      options.url === undefined
        ? await startLocal(options, signal, progress, cleanup)
        : { url: options.url, metricsUrl: options.metricsUrl, serverLog: () => "the server's log" };
    const pipeline = await Pipeline.open({
      url,
      metricsUrl,
      model: options.model,
      labels: options.labels,
      transport: options.transport,
      timeoutMs: options.timeout,
      scoreThreshold: options.score,
      iouThreshold: options.iou,
      signal,
      serverLog,
      onProgress: progress,
    });
    return {
      pipeline,
      close: async () => [...(await pipeline.close()), ...(await cleanup.run())],
    };
  } catch (error) {
    await cleanup.run();
    throw error;
  }
}

async function startLocal(
  { model, transport, metricsUrl }: DetectOptions,
  signal: AbortSignal,
  onProgress: (line: string) => void,
  cleanup: Cleanup,
): Promise<{ url: string; metricsUrl: string; serverLog: () => string }> {
  await requireSharedMemory();
  const triton = await startTriton({
    modelRepository: requireModel(model),
    models: [model],
    shmByteLength: sharedMemoryNeeded(transport),
    env: gpuVariables(availability()),
    signal,
    onProgress,
  });
  const log = new ServerLog();
  // No server knows this run's regions once its own has ended, which it does with this process at the latest.
  process.on('exit', removeEntries);
  cleanup.defer(() => {
    process.off('exit', removeEntries);
    removeEntries();
  });
  cleanup.defer(async () => {
    await triton.stop();
    log.keep(triton.logTail(400));
  });
  return { url: triton.grpcUrl, metricsUrl: metricsUrl ?? triton.metricsUrl, serverLog: log.name };
}

/** The server's Python backend makes its memory there, whatever the transport; its own words for it say little. */
async function requireSharedMemory(): Promise<void> {
  await access('/dev/shm', constants.W_OK | constants.X_OK).catch((cause: unknown) => {
    // What to do about a /dev/shm that is not there, the server's start says.
    if (codeOf(cause) === 'ENOENT') return;
    throw sharedMemoryClosed(systemWords(cause), cause);
  });
}

/** The repository to serve from, known to hold the model: finding that out from a server takes seconds. */
function requireModel(model: string): string {
  const repository = findModelRepository();
  const models = repository === undefined ? [] : listModels(repository);
  if (repository !== undefined && models.includes(model)) return repository;
  const has = models.length === 0 ? 'none come with this installation' : `these come with it: ${models.join(', ')}`;
  throw new CliError(
    'ERR_MODEL_NOT_FOUND',
    `There is no model "${model}" to serve here (${has}); choose one with --model, or name a server with --url.`,
  );
}
