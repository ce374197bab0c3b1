import { availability } from '@zerohop/cuda-native';
import { Detector } from '@zerohop/gpu-postproc';
import { type Image, Preprocessor } from '@zerohop/gpu-preproc';
import { reap, TensorPool } from '@zerohop/shm-pool';
import { type ServerMetadata, TritonClient } from '@zerohop/triton-client';
import { findFault, findImplausible } from './answer.js';
import { Cleanup } from './cleanup.js';
import { CliError } from './errors.js';
import { answerUnusable, modelUnread, noServer, poolUnopened, requestFailed } from './explain.js';
import { resolveLabels } from './labels.js';
import { type DetectorModel, readDetectorModel } from './model.js';
import { type DetectResult, type ReportedDetection, rounded, type Timings } from './report.js';
import { selfCheck } from './self-check.js';
import type { Transport } from './transport.js';

export interface PipelineOptions {
  /** gRPC address of the server. */
  readonly url: string;
  readonly metricsUrl?: string | undefined;
  readonly model: string;
  /** A file of class names. */
  readonly labels?: string | undefined;
  readonly transport: Transport;
  /** What one request may take, in milliseconds. */
  readonly timeoutMs: number;
  readonly scoreThreshold: number;
  readonly iouThreshold: number;
  /** Ends the opening and every request. */
  readonly signal: AbortSignal;
  /** Where to find the server's log, as part of a sentence. */
  readonly serverLog: () => string;
  /** Told what is going on while it takes seconds. */
  readonly onProgress: (line: string) => void;
}

/** What one picture gave. */
export interface Detected {
  readonly detections: readonly ReportedDetection[];
  /** There were more objects than the detector keeps. */
  readonly truncated: boolean;
  readonly timings: Omit<Timings, 'decode' | 'total'>;
}

/** How long connecting, and each call but inference, may take. */
const controlLimitMs = 10_000;
/** How long closing waits for a request that the server is still at: a 4K picture takes seconds on a CPU. */
const drainLimitMs = 10_000;
/** How long the connection then waits for what the pool gave up. */
const closeLimitMs = 1_000;

/**
 * Fails when `cuda` can't work on this machine, whatever the server.
 * @throws CliError ERR_CUDA_UNAVAILABLE
 */
export function requireTransport(transport: Transport): void {
  if (transport !== 'cuda') return;
  const state = availability();
  if (state.available) return;
  throw new CliError(
    'ERR_CUDA_UNAVAILABLE',
    `--transport cuda needs a GPU that this process can use: ${state.message}`,
  );
}

/** Picture in, objects out, over one slot of shared memory. Owns client, pool, preprocessor and detector. */
export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #model: DetectorModel;
  readonly #pool: TensorPool;
  readonly #preprocessor: Preprocessor;
  readonly #detector: Detector;
  readonly #cleanup: Cleanup;
  /** Who answers, and over what. */
  readonly origin: Pick<DetectResult, 'server' | 'model' | 'transport' | 'reason'>;

  private constructor(
    options: PipelineOptions,
    parts: {
      server: { name: string; version: string };
      model: DetectorModel;
      pool: TensorPool;
      preprocessor: Preprocessor;
      detector: Detector;
      cleanup: Cleanup;
    },
  ) {
    this.#options = options;
    this.#model = parts.model;
    this.#pool = parts.pool;
    this.#preprocessor = parts.preprocessor;
    this.#detector = parts.detector;
    this.#cleanup = parts.cleanup;
    this.origin = {
      transport: parts.pool.transport,
      reason: parts.pool.reason,
      server: { name: parts.server.name, version: parts.server.version },
      model: parts.model.name,
    };
  }

  /** Connects, registers the memory and runs the self-check. Whatever fails, nothing stays open. */
  static async open(options: PipelineOptions): Promise<Pipeline> {
    const cleanup = new Cleanup();
    try {
      const { url, metricsUrl, transport, signal } = options;
      const client = new TritonClient(url, {
        ...(metricsUrl === undefined ? {} : { metricsUrl }),
        connectTimeoutMs: controlLimitMs,
        controlTimeoutMs: controlLimitMs,
        closeTimeoutMs: closeLimitMs,
      });
      cleanup.defer(() => client.close());
      const { server, model } = await closedOnAbort(client, signal, async () => ({
        server: await readServer(client, url),
        model: await readDetectorModel(client, options.model, url).catch((cause: unknown) => {
          throw modelUnread(url, cause);
        }),
      }));
      const labels = await resolveLabels({
        file: options.labels,
        model: model.name,
        parameters: model.parameters,
        classCount: model.output.classCount,
      });
      // Memory of a run that was killed would be missing now. What can't be proven free, or asked about, stays.
      await reap(client).catch(() => undefined);
      const { input, output } = model;
      const pool = await TensorPool.open(client, {
        model: model.name,
        slots: 1,
        transport,
        shapes: {
          [input.name]: [1, 3, input.height, input.width],
          [output.name]: [1, 4 + output.classCount, output.anchors],
        },
      }).catch((cause: unknown) => {
        throw poolUnopened(cause, options);
      });
      cleanup.defer(() => closePool(pool, client));
      const preprocessor = await Preprocessor.create({ target: pool.input(input.name), resize: 'letterbox' });
      cleanup.defer(() => preprocessor.close());
      const detector = await Detector.create({
        source: pool.output(output.name),
        head: 'yolov8',
        labels,
        scoreThreshold: options.scoreThreshold,
        iouThreshold: options.iouThreshold,
      });
      cleanup.defer(() => detector.close());
      signal.throwIfAborted();
      options.onProgress('Checking the pipeline with a known picture');
      await selfCheck(model, pool, preprocessor, options).catch((cause: unknown) => {
        throw requestFailed(cause, options);
      });
      return new Pipeline(options, { server, model, pool, preprocessor, detector, cleanup });
    } catch (error) {
      await cleanup.run();
      throw error;
    }
  }

  /** Finds the objects in one decoded picture; boxes come in its own pixels. */
  async detect(image: Image): Promise<Detected> {
    const { signal, timeoutMs } = this.#options;
    const lease = await this.#pool.acquire({ signal });
    try {
      const start = performance.now();
      const geometry = await this.#preprocessor.run(image, lease.input(this.#model.input.name));
      const sent = performance.now();
      const reply = await lease.infer({ signal, timeoutMs }).catch((cause: unknown) => {
        throw requestFailed(cause, this.#options);
      });
      const answered = performance.now();
      const answer = reply.output<'FP32'>(this.#model.output.name);
      const fault = findFault(this.#model, answer.shape, await answer.read());
      if (fault !== undefined) throw answerUnusable(this.#options, fault);
      const read = performance.now();
      const found = await this.#detector.run(answer, { geometry });
      const end = performance.now();
      // Below a hundredth of a pixel, as an enlarged tiny picture can have them, a box is no object.
      const detections = Array.from(found, ({ label, classId, score, box }) => ({
        label,
        classId,
        score: rounded(score, 6),
        box: box.map((v) => rounded(v, 2)) as [number, number, number, number],
      })).filter(({ box: [x1, y1, x2, y2] }) => x1 !== x2 && y1 !== y2);
      const implausible = findImplausible(detections);
      if (implausible !== undefined) throw answerUnusable(this.#options, implausible);
      return {
        detections,
        truncated: found.truncated,
        timings: { preprocess: sent - start, infer: answered - sent, postprocess: end - read },
      };
    } finally {
      lease[Symbol.dispose]();
    }
  }

  /** Unregisters and frees the memory and ends the connection. @returns what went wrong on the way */
  async close(): Promise<unknown[]> {
    return this.#cleanup.run();
  }
}

/** Who answers. Anything that is no Triton server is told apart here, before it is asked about a model. */
async function readServer(client: TritonClient, url: string): Promise<ServerMetadata> {
  const server = await client.serverMetadata().catch((cause: unknown) => {
    throw noServer(url, cause);
  });
  if (server.name === '') throw noServer(url);
  return server;
}

/** Lets `signal` end calls that take none: closing the client does, and nothing is registered yet. */
async function closedOnAbort<T>(client: TritonClient, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const close = (): void => void client.close();
  signal.addEventListener('abort', close);
  try {
    return await work();
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', close);
  }
}

async function closePool(pool: TensorPool, client: TritonClient): Promise<void> {
  // A server that is gone finishes nothing.
  const live = await client.isLive().catch(() => false);
  const { unproven } = await pool.close({ timeoutMs: live ? drainLimitMs : 0 });
  if (unproven.length === 0) return;
  const regions = unproven.map(({ region, reason }) => `${region} (${reason})`).join(', ');
  throw new CliError('ERR_REGION_LEFT', `The server may still have shared memory of this run registered: ${regions}.`);
}
