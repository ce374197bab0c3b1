import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import {
  type CallOptions,
  type InferCall,
  type InferRequest,
  type InferResult,
  TritonClient,
  type TritonClientOptions,
  TritonError,
  type TritonErrorCode,
} from '../../src/index.js';
import { RawTriton } from '../support/raw-triton.js';
import { Block } from './block.js';
import type { ConformanceTarget, ServerKind, ServerUrls } from './target.js';

/** The texts of a run's errors, by their codes. */
export type SeenErrors = Map<TritonErrorCode, string[]>;

/** What a refusal has to be. */
export interface ExpectedError {
  readonly code: TritonErrorCode;
  /** Found in the server's own text. */
  readonly details?: string | RegExp;
  /** Found in the message: what to do. */
  readonly advice?: string;
  readonly region?: string;
  readonly output?: string;
  readonly requiredByteLength?: number;
  readonly requestId?: string;
}

/** A request that a model works on until it is told to end. */
export interface Held {
  readonly call: InferCall;
  /** Lets the model end; resolves with its answer. */
  release(): Promise<InferResult>;
}

/** The ways that an inference goes over gRPC: a call with headers of its own is unary. */
const GRPC_WAYS: readonly CallOptions[] = [{}, { headers: { 'x-way': 'unary' } }];
const HTTP_WAYS: readonly CallOptions[] = [{}];

/** What a case has at hand: the target, a client of its main server, and the checks that note errors. */
export class Context {
  readonly target: ConformanceTarget;
  readonly client: TritonClient;
  readonly #seen: SeenErrors;

  constructor(target: ConformanceTarget, client: TritonClient, seen: SeenErrors) {
    this.target = target;
    this.client = client;
    this.#seen = seen;
  }

  get overHttp(): boolean {
    return this.target.transport === 'http';
  }

  get servers(): ServerUrls {
    return this.target.servers('main');
  }

  /** The address of a server for this target's transport. */
  urlOf(kind: ServerKind): string {
    const { grpcUrl, httpUrl } = this.target.servers(kind);
    return this.overHttp ? httpUrl : grpcUrl;
  }

  /** Another client, closed when the test is over. */
  open(options: TritonClientOptions = {}, url = this.urlOf('main')): TritonClient {
    const client = new TritonClient(url, options);
    onTestFinished(() => client.close());
    return client;
  }

  /** A client of the locked server, with what its transport asks for. */
  openLocked(options: TritonClientOptions = {}): TritonClient {
    const tls = this.overHttp ? {} : { tls: this.target.tls().options };
    return this.open({ ...tls, ...options }, this.urlOf('locked'));
  }

  /** A client of the server that `target.leave()` ends. */
  openLeaving(): TritonClient {
    return this.target.leaving === 'locked' ? this.openLocked() : this.open({}, this.urlOf(this.target.leaving));
  }

  /** The headers that the locked server's restricted APIs expect. */
  get adminHeaders(): Record<string, string> {
    return this.overHttp ? { 'admin-key': 'secret' } : { 'triton-grpc-protocol-admin-key': 'secret' };
  }

  /** Calls of the main server below the client. */
  get raw(): RawTriton {
    const { grpcUrl, httpUrl } = this.servers;
    const raw = new RawTriton(grpcUrl, httpUrl);
    onTestFinished(() => raw.close());
    return raw;
  }

  /** A block of shared memory that both sides know. */
  async block(byteLength: number, client: TritonClient = this.client): Promise<Block> {
    const block = this.unregistered(byteLength);
    await client.systemSharedMemory.register({ name: block.name, key: block.key, byteLength });
    onTestFinished(() => client.systemSharedMemory.unregister(block.name));
    return block;
  }

  /** A block of shared memory that the server has not been told of. */
  unregistered(byteLength: number): Block {
    const block = new Block(byteLength);
    onTestFinished(() => block.close());
    return block;
  }

  /** A request that the model `hold` works on until it is released; resolves once the model has begun. */
  async hold(request: InferRequest, options: CallOptions = {}, client: TritonClient = this.client): Promise<Held> {
    const path = `/dev/shm/zerohop-conformance-hold-${randomBytes(6).toString('hex')}`;
    const call = client.infer('hold', { ...request, parameters: { hold: path } }, options);
    // Whoever holds looks at it later.
    call.catch(() => undefined);
    const end = () => rmSync(path, { force: true });
    onTestFinished(end);
    await expect.poll(() => existsSync(path), { timeout: 30_000, interval: 5 }).toBe(true);
    return {
      call,
      async release() {
        end();
        return call;
      },
    };
  }

  /** Waits until so many requests to the model `hold` are in the server, the one that it works on left out. */
  async queued(count: number): Promise<void> {
    const pattern = /^nv_inference_pending_request_count\{[^}]*model="hold"[^}]*\} (\d+)/m;
    const pending = async () => {
      const text = await (await fetch(this.servers.metricsUrl)).text();
      return Number(pattern.exec(text)?.[1]);
    };
    await expect.poll(pending, { timeout: 20_000, interval: 10 }).toBeGreaterThanOrEqual(count);
  }

  /** Notes an error of the run. */
  note(error: TritonError): void {
    this.#seen.set(error.code, [...(this.#seen.get(error.code) ?? []), error.details]);
  }

  /** Waits for a call's TritonError and holds it to `expected`. */
  async refusal(call: Promise<unknown>, expected: ExpectedError): Promise<TritonError> {
    const error = await failureOf(call);
    if (!(error instanceof TritonError)) throw error;
    this.note(error);
    const { details, advice = '', ...fields } = expected;
    expect(error).toMatchObject(fields);
    if (details !== undefined) expect(error.details).toMatch(details);
    expect(error.message).toContain(advice);
    return error;
  }

  /**
   * A request that the server refuses, by every way it can go: over gRPC on a lane, where the code comes from the text
   * alone, and as a unary call; the code must be the same.
   */
  async refusedRequest(model: string, request: InferRequest, expected: ExpectedError): Promise<void> {
    for (const options of this.overHttp ? HTTP_WAYS : GRPC_WAYS) {
      await this.refusal(this.client.infer(model, request, options), expected);
    }
  }

  /** A request that the server answers, by every way it can go; `look` is called with each answer. */
  async answeredRequest(model: string, request: InferRequest, look: (result: InferResult) => void): Promise<void> {
    for (const options of this.overHttp ? HTTP_WAYS : GRPC_WAYS) look(await this.client.infer(model, request, options));
  }

  /** A use that the client itself refuses, before anything is sent: thrown or rejected. */
  async refusedByClient(
    use: () => unknown,
    kind: typeof TypeError | typeof RangeError,
    text: string | RegExp,
  ): Promise<void> {
    const error = await failureOf(Promise.resolve().then(use));
    expect(error).toBeInstanceOf(kind);
    expect((error as Error).message).toMatch(text);
  }
}

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => expect.fail('It was not refused'),
    (error: unknown) => error,
  );
}
