import { EmulatedCrash } from '../crash.js';
import { datatypeOfConfig } from '../datatype.js';
import type { ModelEnsembling_Step } from '../grpc/gen/model_config.js';
import { InProgress } from '../in-progress.js';
import type { ParameterValue } from '../model.js';
import { ServerError, textOf } from '../status.js';
import { type CheckedInput, type CheckedRequest, checkRequest } from './checks.js';
import type { ModelStatistics } from './core.js';
import type { InferenceRequest, InferenceResponse, RequestInput, Responder, TensorSource } from './inference.js';
import { inMapOrder } from './map-order.js';
import { releaseRegions } from './model-runner.js';
import { type GivenOutput, placeOutputs } from './outputs.js';
import { type RegionUse, regionWith } from './regions.js';
import type { OpenedModel, Runner, RunnerHost } from './runner.js';
import { StatisticsRecorder } from './statistics.js';

/** Finds the version of another model that a step runs. @throws ServerError */
export type FindRunner = (model: string, version: string) => Runner;

/** What every answer of an ensemble says besides, once for each output that has bytes (seen on 2.51 and 2.48). */
function sequenceParameters(
  { sequence: { id, start, end } }: InferenceRequest,
  outputs: readonly GivenOutput[],
): (readonly [string, ParameterValue])[] {
  // Parameters are signed, where ids are not.
  const signed = typeof id === 'bigint' ? BigInt.asIntN(64, id) : id;
  return outputs
    .filter(({ bytes }) => bytes.byteLength > 0)
    .flatMap(() => [
      ['sequence_id', signed] as const,
      ['sequence_start', start] as const,
      ['sequence_end', end] as const,
    ]);
}

interface Tensor {
  readonly datatype: CheckedInput['datatype'];
  readonly shape: readonly number[];
  /** Of the request that it comes with or from; 0 where that has no batches. */
  readonly batchSize: number;
  readonly source: TensorSource;
}

/**
 * A tensor's shape for a model that has batches where the tensor comes from one that has none, or the other way round: with
 * a batch of one more, or less, where what the configuration asks for is left then (`ReshapeTensorDims` of the server).
 */
function shapeFor(dims: readonly bigint[] | undefined, hasBatches: boolean, { shape, batchSize }: Tensor) {
  if (dims === undefined || hasBatches === batchSize > 0) return shape;
  const fits = (rest: readonly number[]) =>
    rest.length === dims.length && dims.every((dim, axis) => dim === -1n || dim === BigInt(rest[axis] as number));
  if (hasBatches) return fits(shape) ? [1, ...shape] : shape;
  return batchSize === 1 && fits(shape.slice(1)) ? shape.slice(1) : shape;
}

/** An ensemble: each step runs as soon as all tensors that it takes are there. */
export class EnsembleRunner implements Runner {
  readonly config: OpenedModel['config'];
  readonly version: number;
  readonly pending = 0;
  readonly recorder = new StatisticsRecorder();
  readonly #labels: OpenedModel['labels'];
  readonly #find: FindRunner;
  readonly #host: RunnerHost;
  readonly #active = new InProgress();

  constructor({ config, labels }: OpenedModel, version: number, find: FindRunner, host: RunnerHost) {
    this.config = config;
    this.#labels = labels;
    this.version = version;
    this.#find = find;
    this.#host = host;
  }

  /** An ensemble's configuration may have no samples. */
  async warmUp(): Promise<void> {}

  infer(request: InferenceRequest, respond: Responder): void {
    const checked = checkRequest(request, this.config, this.#host.personality);
    const began = process.hrtime.bigint();
    this.#active.begin();
    this.#flow(request, checked)
      .then(({ outputs, parameters }) => {
        const ns = process.hrtime.bigint() - began;
        const times = { queueNs: 0n, computeInputNs: 0n, computeInferNs: ns, computeOutputNs: 0n };
        this.recorder.succeeded(checked.batchSize, times);
        this.recorder.executed(checked.batchSize, times);
        this.#finish(request, respond, { version: String(this.version), outputs, parameters });
      })
      .catch((error: unknown) => {
        // The answer of a process that died reaches nobody, but it ends the request.
        if (error instanceof EmulatedCrash) this.#host.crash(error.message);
        this.recorder.failed('OTHER', process.hrtime.bigint() - began);
        const known = error instanceof ServerError ? error : new ServerError('INTERNAL', textOf(error, true));
        this.#finish(request, respond, { version: request.version, outputs: [], parameters: [], error: known });
      });
  }

  /** Its own, or those of the model that the output comes from. */
  labelsOf(output: string): readonly string[] {
    const own = this.#labels.get(output);
    if (own !== undefined) return own;
    for (const { model_name, model_version, output_map } of this.#steps) {
      const [inner] = Object.entries(output_map).find(([, tensor]) => tensor === output) ?? [];
      if (inner !== undefined) return this.#find(model_name, versionText(model_version)).labelsOf(inner);
    }
    return [];
  }

  statistics(): ModelStatistics {
    return this.recorder.snapshot(this.config.name, String(this.version));
  }

  drained(): Promise<void> {
    return this.#active.over();
  }

  #finish(
    request: InferenceRequest,
    respond: Responder,
    part: Pick<InferenceResponse, 'version' | 'outputs' | 'parameters' | 'error'>,
  ): void {
    const { id, model } = request;
    respond({ id, model, final: true, empty: false, ...part });
    releaseRegions(request);
    this.#active.end();
  }

  async #flow(
    request: InferenceRequest,
    { inputs, outputs }: CheckedRequest,
  ): Promise<Pick<InferenceResponse, 'outputs' | 'parameters'>> {
    const tensors = new Map<string, Tensor>();
    const batchSize = this.#hasBatches ? (inputs[0]?.shape[0] ?? 0) : 0;
    for (const { name, datatype, shape, source } of inputs) {
      // Read by the step that takes it; the ensemble gives the reference back.
      const kept = 'bytes' in source ? source : { region: lent(source.region) };
      tensors.set(name, { datatype, shape, batchSize, source: kept });
    }
    let steps = this.#steps;
    while (steps.length > 0) {
      const ready = steps.filter(({ input_map }) => Object.values(input_map).every((name) => tensors.has(name)));
      if (ready.length === 0) break;
      steps = steps.filter((step) => !ready.includes(step));
      const results = await Promise.all(ready.map((step) => this.#step(request, step, tensors)));
      for (const result of results) for (const [name, tensor] of result) tensors.set(name, tensor);
    }
    // The server keeps them in a map.
    const wanted = inMapOrder(this.config.output).filter(({ name }) => outputs.includes(name));
    const given = await Promise.all(wanted.map(({ name }) => this.#output(name, tensors)));
    try {
      const placed = await placeOutputs(given, request, this);
      return { outputs: placed, parameters: sequenceParameters(request, given) };
    } catch (error) {
      throw error instanceof ServerError ? this.#failed(error) : error;
    }
  }

  /** What goes wrong in a step, or with an output's region. */
  #failed({ code, message }: ServerError): ServerError {
    return new ServerError(code, `in ensemble '${this.config.name}', ${message}`);
  }

  #step(
    request: InferenceRequest,
    step: ModelEnsembling_Step,
    tensors: Map<string, Tensor>,
  ): Promise<Map<string, Tensor>> {
    const version = versionText(step.model_version);
    const runner = this.#find(step.model_name, version);
    const { config } = runner;
    const hasBatches = config.max_batch_size > 0;
    // From the map of a step, in an order of protobuf's that differs from start to start, into another.
    const entries = Object.entries(step.input_map).map(([name, from]) => ({ name, from }));
    const names = inMapOrder(entries);
    const inputs = names.map(({ name, from }): RequestInput => {
      const tensor = tensors.get(from) as Tensor;
      const dims = config.input.find((input) => input.name === name)?.dims;
      return { name, datatype: tensor.datatype, shape: shapeFor(dims, hasBatches, tensor), source: tensor.source };
    });
    const inner: InferenceRequest = {
      ...request,
      rawInput: undefined,
      model: step.model_name,
      version,
      inputs,
      outputs: [],
    };
    const batchSize = hasBatches ? (inputs[0]?.shape[0] ?? 0) : 0;
    return new Promise((resolve, reject) => {
      const respond: Responder = ({ error, outputs, final }) => {
        if (error !== undefined) reject(this.#failed(error));
        const produced = new Map<string, Tensor>();
        for (const { name, datatype, shape, bytes } of outputs) {
          const to = step.output_map[name];
          if (to !== undefined && bytes !== undefined)
            produced.set(to, { datatype, shape, batchSize, source: { bytes } });
        }
        if (final) resolve(produced);
      };
      try {
        runner.infer(inner, respond);
      } catch (error) {
        throw error instanceof ServerError ? this.#failed(error) : error;
      }
    });
  }

  async #output(name: string, tensors: ReadonlyMap<string, Tensor>): Promise<GivenOutput> {
    const declared = this.config.output.find((output) => output.name === name);
    const tensor = tensors.get(name);
    if (tensor === undefined || declared === undefined) {
      throw new ServerError('INVALID_ARG', `in ensemble '${this.config.name}', no step produced '${name}'`);
    }
    const { source } = tensor;
    const shape = shapeFor(declared.dims, this.#hasBatches, tensor);
    const bytes = 'bytes' in source ? source.bytes : await source.region.read();
    return { name, datatype: datatypeOfConfig(declared.data_type), shape, bytes };
  }

  get #hasBatches(): boolean {
    return this.config.max_batch_size > 0;
  }

  get #steps(): readonly ModelEnsembling_Step[] {
    return this.config.ensemble_scheduling?.step ?? [];
  }
}

/** '' lets the server choose. */
const versionText = (version: bigint) => (version > 0n ? String(version) : '');

function lent(region: RegionUse): RegionUse {
  return regionWith(region, { release: () => undefined });
}
