import { nonEmpty, typeError } from './check.js';
import { ClassificationGuard } from './classification-guard.js';
import type { ControlTransport } from './control.js';
import { ControlClient } from './control-client.js';
import { DisposedError, TritonError } from './errors.js';
import { checkGenerateOptions, checkGenerateStreamOptions, generate, generateStream } from './http/generate.js';
import type { HttpTransport } from './http/transport.js';
import { INSPECT, type Inspect, type InspectOptions, inspected } from './inspect.js';
import { readModelFacts } from './model-facts.js';
import { type HandleHost, ModelHandle } from './model-handle.js';
import { type ResolvedOptions, resolveOptions, type TritonClientOptions } from './options.js';
import { refusedCall } from './pending-request.js';
import { type CheckedRequest, checkRequest } from './request.js';
import { checkedRequests } from './request-source.js';
import type { ClientStats } from './stats.js';
import { Tracing } from './tracing.js';
import type { Transport } from './transport.js';
import { Transports } from './transports.js';
import type {
  GenerateAnswer,
  GenerateBody,
  GenerateFailure,
  GenerateOptions,
  GenerateStreamOptions,
} from './types/generate.js';
import type { AnyModel, ModelTypes } from './types/model.js';
import type { CallOptions, ControlOptions, InferRequest, StreamOptions } from './types/request.js';
import type { InferCall, InferStream, PreparedRequest } from './types/result.js';

/**
 * A client of one Triton server, over gRPC or HTTP. Making one opens nothing: the first call connects.
 *
 * Calls reject with {@link TritonError} (its `code` says what happened), with the signal's reason after an abort, with
 * a TypeError or RangeError for arguments that can never be right, and with {@link DisposedError} after `close()`.
 *
 * @example
 * ```ts
 * const client = new TritonClient('grpc://localhost:8001');
 * const data = tensor('FP32', [3], Float32Array.of(1, 2, 3));
 * const reply = await client.infer('identity', { inputs: { INPUT: data } });
 * console.log(reply.output('OUTPUT').data);
 * await client.close();
 * ```
 */
export class TritonClient extends ControlClient implements AsyncDisposable {
  readonly #transport: Transport;
  readonly #http: HttpTransport | undefined;
  readonly #transports: Transports;
  readonly #options: ResolvedOptions;
  readonly #tracing: Tracing | undefined;
  readonly #guard: ClassificationGuard;
  #closed: Promise<void> | undefined;

  /**
   * @param url - `grpc://host:port`, `grpcs://host:port`, `unix:/path`, `http://host:port` or `https://host:port`, these
   *   two also with a path
   * @throws TypeError or RangeError for another url or wrong options
   */
  constructor(url: string, options: TritonClientOptions = {}) {
    const resolved = resolveOptions(options);
    super(resolved);
    this.#options = resolved;
    this.#transports = new Transports(url, resolved);
    this.#transport = this.#transports.main;
    this.#http = this.#transports.http;
    this.#tracing = resolved.tracing ? Tracing.of(this.#transport.address) : undefined;
    this.#guard = new ClassificationGuard({
      metadata: (of, call) => this.control().modelMetadata(of, call),
      epoch: () => this.connectionEpoch,
      controlTimeoutMs: resolved.controlTimeoutMs,
    });
  }

  /** The address given. */
  get url(): string {
    return this.#transport.address.url;
  }

  /** True when the address is this host's: loopback or a unix socket. */
  get isLocal(): boolean {
    return this.#transport.address.isLocal;
  }

  override get connectionEpoch(): number {
    return this.#transport.epoch;
  }

  /** The address that answered last, `host:port` or the path of a socket; undefined before the first answer. */
  get peer(): string | undefined {
    return this.#transport.peer;
  }

  /** True from the moment that `close()` is called. */
  get closed(): boolean {
    return this.#closed !== undefined;
  }

  get stats(): ClientStats {
    return { ...this.#transports.recorder.stats, ...this.#transports.stats };
  }

  /**
   * Runs a model once. Over gRPC the request is encoded at once, and afterwards its arrays may be changed; over HTTP
   * they are sent as they are, so leave them unchanged until `settled`. Memory in a named region belongs to the server
   * until `settled` says `'answered'` or `'not-sent'`.
   *
   * Wrong arguments throw; all else rejects. Requests of one sequence must not overtake each other: await each one, or
   * send them on one `stream()`.
   *
   * @throws TypeError or RangeError for a request that can never be right
   */
  infer(model: string, request: InferRequest, options?: CallOptions): InferCall {
    return this.#submit(checkRequest(model, request), options);
  }

  /**
   * Encodes a request once, tensors of the message included, to be sent any number of times, also several at once.
   *
   * @throws TypeError or RangeError for a request that can never be right
   */
  prepare(model: string, request: InferRequest): PreparedRequest {
    this.#checkOpen();
    return this.#prepare(checkRequest(model, request));
  }

  /**
   * Runs a model that has one input, whose bytes are `bytes`, without any description: Triton's raw binary request, over
   * HTTP. The input may have one dimension of open size; one of BYTES must have the shape [1], and `bytes` are its element.
   * Every output comes. `bytes` are borrowed until `settled`.
   *
   * @throws TypeError or RangeError for arguments that can never be right
   */
  inferRaw(model: string, bytes: Uint8Array, options: CallOptions & { readonly version?: string } = {}): InferCall {
    if (!(bytes instanceof Uint8Array)) throw typeError('Uint8Array', 'bytes', bytes);
    const { version = '', ...call } = options;
    nonEmpty(model, 'model');
    if (this.#http === undefined) return refusedCall(needsHttp('inferRaw'));
    const http = this.#http;
    if (this.#tracing === undefined) return http.submitRaw(model, version, bytes, call);
    const names = { model, version, id: '' };
    return this.#tracing.infer(names, call, (traced) => http.submitRaw(model, version, bytes, traced));
  }

  /**
   * Asks a model for one answer with values in JSON (Triton's generate extension, over HTTP).
   *
   * @throws TritonError `TRITON_UNIMPLEMENTED` when the model gives another number of answers, or the client has no
   *   `httpUrl`; the model's own error has no code, so that it is `TRITON_UNKNOWN`
   */
  async generate(model: string, body: GenerateBody, options: GenerateOptions = {}): Promise<GenerateAnswer> {
    const { connection } = this.#overHttp('generate');
    return generate(connection, nonEmpty(model, 'model'), body, checkGenerateOptions(options));
  }

  /**
   * As `generate`, for models that answer any number of times; ends after the last answer. An error ends it too, unless
   * `onError` is `'yield'`. The request is sent when the first answer is asked for; leaving the loop ends it.
   */
  generateStream(
    model: string,
    body: GenerateBody,
    options?: GenerateStreamOptions & { readonly onError?: 'throw' },
  ): AsyncGenerator<GenerateAnswer, void, undefined>;
  generateStream(
    model: string,
    body: GenerateBody,
    options: GenerateStreamOptions,
  ): AsyncGenerator<GenerateAnswer | GenerateFailure, void, undefined>;
  async *generateStream(
    model: string,
    body: GenerateBody,
    options: GenerateStreamOptions = {},
  ): AsyncGenerator<GenerateAnswer | GenerateFailure, void, undefined> {
    const { connection } = this.#overHttp('generateStream');
    yield* generateStream(connection, nonEmpty(model, 'model'), body, checkGenerateStreamOptions(options));
  }

  /**
   * Sends requests on a stream of its own, which begins at once: to decoupled models, which answer a request any number
   * of times, and in order, for sequences. At most `maxOutstanding` requests are under way; the next is asked of
   * `requests` when one is over. A reader that is slow makes the server wait.
   *
   * A request whose outputs lie in regions may get one answer: a second one, which would lie over the first, is
   * `TRITON_REGION_OVERWRITTEN`. Requests of one stream that are outstanding have different ids.
   *
   * Wrong options throw. All else the iteration throws, wrong requests too.
   *
   * @throws TypeError or RangeError for wrong options
   */
  stream(
    model: string,
    requests: Iterable<InferRequest> | AsyncIterable<InferRequest>,
    options?: StreamOptions,
  ): InferStream {
    this.#checkOpen();
    return this.#stream(nonEmpty(model, 'model'), requests, (request) => checkRequest(model, request), options);
  }

  /**
   * A handle on one model, which checks every request against the model's metadata before it is sent. Reads metadata
   * and configuration once; where the server keeps the configuration to itself, without it.
   *
   * @typeParam M - the model's tensors and their datatypes, for the compiler; the command `types` writes it
   * @throws TritonError `TRITON_NOT_FOUND` for an unknown model
   */
  async model<M extends ModelTypes = AnyModel>(
    name: string,
    options: ControlOptions & { readonly version?: string } = {},
  ): Promise<ModelHandle<M>> {
    const { version = '', ...call } = options;
    const host: HandleHost = {
      read: (of, at, again) => readModelFacts(this, of, at, again),
      submit: (request, rest) => this.#submit(request, rest),
      prepare: (request) => {
        this.#checkOpen();
        return this.#prepare(request);
      },
      stream: (of, requests, check, rest) => {
        this.#checkOpen();
        return this.#stream(of, requests, check, rest);
      },
    };
    return new ModelHandle<M>(host, name, version, await readModelFacts(this, name, version, call));
  }

  /**
   * Takes no new calls, waits for the requests under way, detached ones too, and ends the connection. After
   * `closeTimeoutMs` what is left is cancelled: it rejects with `TRITON_CANCELLED` and settles as `'lost'`.
   */
  close(): Promise<void> {
    this.#closed ??= this.#transports.close(this.#options.closeTimeoutMs);
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal */
  [INSPECT](depth: number, options: InspectOptions, inspect: Inspect): string {
    const { url, peer, closed } = this;
    return inspected('TritonClient', { url, peer, closed }, depth, options, inspect);
  }

  #submit(checked: CheckedRequest, options: CallOptions | undefined): InferCall {
    if (checked.classified.length > 0) return this.#prepare(checked).infer(options);
    const transport = this.#transportOf(checked);
    if (this.#tracing === undefined) return transport.submit(checked, options);
    return this.#tracing.infer(checked, options, (traced) => transport.submit(checked, traced));
  }

  #stream(
    model: string,
    requests: Iterable<InferRequest> | AsyncIterable<InferRequest>,
    check: (request: InferRequest) => CheckedRequest,
    options: StreamOptions | undefined,
  ): InferStream {
    const guard = (request: CheckedRequest) => this.#guard.check(request, options);
    const source = checkedRequests(requests, check, guard);
    if (this.#tracing === undefined) return this.#transport.stream(model, source, options);
    return this.#tracing.stream(model, options, (traced) => this.#transport.stream(model, source, traced));
  }

  #prepare(checked: CheckedRequest): PreparedRequest {
    const encoded = this.#transportOf(checked).prepare(checked);
    const prepared = checked.classified.length === 0 ? encoded : this.#guard.prepared(checked, encoded);
    return this.#tracing === undefined ? prepared : this.#tracing.prepare(checked, prepared);
  }

  protected control(): ControlTransport {
    this.#checkOpen();
    return this.#transport.control;
  }

  /** Requests that name a region stay with the calls that register it, so that one connection tells of both. */
  #transportOf({ tensorByteLength, namesRegion }: CheckedRequest): Transport {
    const large = tensorByteLength >= this.#options.httpFromByteLength && !namesRegion;
    return large ? (this.#http ?? this.#transport) : this.#transport;
  }

  #overHttp(method: string): HttpTransport {
    this.#checkOpen();
    if (this.#http !== undefined) return this.#http;
    throw needsHttp(method);
  }

  protected override onModelsChanged(): void {
    this.#guard.forget();
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw new DisposedError('The TritonClient');
  }
}

function needsHttp(method: string): TritonError {
  const details = `${method}() goes over HTTP alone: give the client the option httpUrl`;
  return new TritonError(details, { code: 'TRITON_UNIMPLEMENTED', method, details });
}
