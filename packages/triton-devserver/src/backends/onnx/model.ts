import { instanceCount } from '../../config/complete.js';
import type { StartedModel } from '../../core/runner.js';
import type { ModelConfig } from '../../grpc/gen/model_config.js';
import type { BatchOutputs, ModelOutputData, ModelOutputs, ModelRequest, ModelTensor } from '../../model.js';
import { ServerError } from '../../status.js';
import { checkAgainst } from './check.js';
import type { Sent } from './messages.js';
import { sessionOptions } from './session-options.js';
import { gather, scatter } from './tensors.js';
import { OnnxThread } from './thread.js';

/**
 * An ONNX model: each instance of the configuration is a session of ONNX Runtime with its own copy of the weights, in a
 * thread of its own. Inputs are copied once on their way to the thread, into memory that is used again; outputs are not.
 */
export class OnnxModel implements StartedModel {
  readonly lost: Promise<string>;
  readonly #threads: readonly OnnxThread[];
  readonly #config: ModelConfig;
  readonly #scalars: ReadonlySet<string>;

  private constructor(threads: readonly OnnxThread[], config: ModelConfig) {
    this.#threads = threads;
    this.#config = config;
    this.lost = Promise.race(threads.map((thread) => thread.lost));
    const inputs = threads[0]?.tensors.inputs ?? [];
    this.#scalars = new Set(inputs.flatMap(({ name, shape }) => (shape.length === 0 ? [name] : [])));
  }

  /**
   * Rejects, and leaves nothing behind, when onnxruntime-node is not installed or can't read the file, or when the
   * configuration is one of its backend and does not fit the file.
   */
  static async open(path: string, config: ModelConfig): Promise<OnnxModel> {
    const options = sessionOptions(config);
    const opening = Array.from({ length: instanceCount(config) }, () => OnnxThread.open(path, options));
    const settled = await Promise.allSettled(opening);
    const threads = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    try {
      for (const each of settled) if (each.status === 'rejected') throw each.reason;
      const [first] = threads as [OnnxThread];
      // Another backend's name stands for other code, whose file this is: it does with it what it likes.
      if (config.backend === 'onnxruntime') checkAgainst(first.tensors, config);
      return new OnnxModel(threads, config);
    } catch (error) {
      await Promise.all(threads.map((thread) => thread.close()));
      throw error;
    }
  }

  async execute(request: ModelRequest): Promise<ModelOutputs> {
    const [result] = (await this.executeBatch([request])) as [BatchOutputs[number]];
    if (result instanceof Error) throw result;
    return result;
  }

  async executeBatch(requests: readonly ModelRequest[]): Promise<BatchOutputs> {
    const thread = this.#threads.reduce((least, each) => (each.pending < least.pending ? each : least));
    const [{ inputs }] = requests as readonly [ModelRequest];
    const batched = this.#config.max_batch_size > 0;
    const sent = Object.keys(inputs).map((name) => {
      const parts = requests.map((request) => request.inputs[name] as ModelTensor);
      const buffer = (byteLength: number) => thread.buffer(byteLength);
      return gather(name, parts, { batched, scalar: this.#scalars.has(name), buffer });
    });
    const wanted = [...new Set(requests.flatMap((request) => request.requestedOutputs))];
    const outputs = await thread.run(sent, wanted);
    const sizes = batched ? requests.map((request) => Object.values(request.inputs)[0]?.shape[0] ?? 0) : undefined;
    return resultsOf(outputs, requests, sizes, this.#config);
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }
}

function resultsOf(
  outputs: readonly Sent[],
  requests: readonly ModelRequest[],
  sizes: readonly number[] | undefined,
  config: ModelConfig,
): BatchOutputs {
  const results: (Record<string, ModelOutputData> | ServerError)[] = requests.map(() => ({}));
  for (const output of outputs) {
    const dims = config.output.find(({ name }) => name === output.name)?.dims ?? [];
    scatter(output, requests, sizes, dims.map(Number)).forEach((part, index) => {
      const result = results[index];
      if (result === undefined || result instanceof ServerError) return;
      if (part instanceof ServerError) results[index] = part;
      else result[output.name] = part;
    });
  }
  return results;
}
