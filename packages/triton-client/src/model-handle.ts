import { typeError } from './check.js';
import { INSPECT, type Inspect, type InspectOptions, inspected } from './inspect.js';
import type { ModelFacts } from './model-facts.js';
import { ModelRules } from './model-rules.js';
import { type CheckedRequest, checkRequest } from './request.js';
import type {
  AnyModel,
  ModelCall,
  ModelRequest,
  ModelStream,
  ModelTypes,
  PreparedModelRequest,
} from './types/model.js';
import type { CallOptions, ControlOptions, InferRequest, StreamOptions } from './types/request.js';
import type { InferCall, InferStream, PreparedRequest } from './types/result.js';
import type { ModelConfig, ModelMetadata, TensorMetadata } from './types/server.js';

/** The client, as its handles see it. */
export interface HandleHost {
  read(model: string, version: string, options: ControlOptions | undefined): Promise<ModelFacts>;
  submit(request: CheckedRequest, options: CallOptions | undefined): InferCall;
  prepare(request: CheckedRequest): PreparedRequest;
  stream(
    model: string,
    requests: Iterable<InferRequest> | AsyncIterable<InferRequest>,
    check: (request: InferRequest) => CheckedRequest,
    options: StreamOptions | undefined,
  ): InferStream;
}

/**
 * One model, known by its metadata: every request is checked before it is sent, for names, datatypes, shapes, batch,
 * required inputs and the capacity of regions. The error names the tensor, what was expected and what came. Made by
 * `client.model()`; given the type that the command `types` writes, the compiler checks names and datatypes beforehand.
 *
 * A handle knows the model as it was when it was read. It does not notice that the model was loaded anew with other
 * tensors: `refresh()` reads it again. Until then it refuses what only the new model takes, and the server refuses what
 * it no longer takes.
 */
export class ModelHandle<M extends ModelTypes = AnyModel> {
  readonly name: string;
  /** The version asked for; `''`: the server's choice, for each request. */
  readonly version: string;
  readonly #host: HandleHost;
  #facts: ModelFacts;
  #rules: ModelRules;

  /** @internal */
  constructor(host: HandleHost, name: string, version: string, facts: ModelFacts) {
    this.#host = host;
    this.name = name;
    this.version = version;
    this.#facts = facts;
    this.#rules = new ModelRules(facts.metadata, facts.config);
  }

  /** -1 for a dimension that varies; a batch dimension is the first, and -1. */
  get inputs(): readonly TensorMetadata[] {
    return this.#facts.metadata.inputs;
  }

  /** -1 for a dimension that varies; a batch dimension is the first, and -1. */
  get outputs(): readonly TensorMetadata[] {
    return this.#facts.metadata.outputs;
  }

  get metadata(): ModelMetadata {
    return this.#facts.metadata;
  }

  /**
   * Undefined when the server keeps it to itself or has none. Then required inputs, the batch, sequences and decoupled
   * models are left to the server to check.
   */
  get config(): ModelConfig | undefined {
    return this.#facts.config;
  }

  /** As `client.infer`, checked. @throws TypeError or RangeError for a request that the model would refuse */
  infer(request: ModelRequest<M>, options?: CallOptions): ModelCall<M> {
    return this.#host.submit(this.#check(request), options) as InferCall & ModelCall<M>;
  }

  /** As `client.prepare`, checked once. @throws TypeError or RangeError for a request that the model would refuse */
  prepare(request: ModelRequest<M>): PreparedModelRequest<M> {
    return this.#host.prepare(this.#check(request)) as PreparedRequest & PreparedModelRequest<M>;
  }

  /** As `client.stream`; the iteration throws for a request that the model would refuse. */
  stream(
    requests: Iterable<ModelRequest<M>> | AsyncIterable<ModelRequest<M>>,
    options?: StreamOptions,
  ): ModelStream<M> {
    const source = requests as Iterable<InferRequest> | AsyncIterable<InferRequest>;
    const check = (request: InferRequest) => this.#check(request);
    return this.#host.stream(this.name, source, check, options) as InferStream & ModelStream<M>;
  }

  /** Reads metadata and configuration again, as after the model was loaded anew. Prepared requests stay as they are. */
  async refresh(options?: ControlOptions): Promise<void> {
    this.#facts = await this.#host.read(this.name, this.version, options);
    this.#rules = new ModelRules(this.#facts.metadata, this.#facts.config);
  }

  /** @internal */
  [INSPECT](depth: number, options: InspectOptions, inspect: Inspect): string {
    const { name, version, inputs, outputs } = this;
    return inspected('ModelHandle', { name, version, inputs, outputs }, depth, options, inspect);
  }

  #check(request: object): CheckedRequest {
    const given = request as InferRequest;
    if (given.version !== undefined) throw typeError('no version, which is the handle’s,', 'version', given.version);
    const checked = checkRequest(this.name, { ...given, version: this.version });
    this.#rules.check(checked);
    return checked;
  }
}
