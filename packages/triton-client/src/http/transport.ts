import type { Address } from '../address.js';
import type { ControlTransport } from '../control.js';
import { DisposedError } from '../errors.js';
import type { ResolvedOptions } from '../options.js';
import type { CheckedRequest } from '../request.js';
import type { RequestRecorder } from '../request-recorder.js';
import type { TransportStats } from '../stats.js';
import type { SubmitOptions, Transport } from '../transport.js';
import type { StreamOptions } from '../types/request.js';
import type { InferCall, InferStream, PreparedRequest } from '../types/result.js';
import { CallStream } from './call-stream.js';
import { HttpConnection } from './connection.js';
import { HttpControl } from './control.js';
import { type EncodedHttpRequest, encodeHttpRequest, encodeRawRequest } from './encode.js';
import { HttpRequestPool } from './request-pool.js';

/** KServe v2 over HTTP/1.1, with tensors in binary. */
export class HttpTransport implements Transport {
  readonly address: Address;
  readonly control: ControlTransport;
  readonly connection: HttpConnection;
  readonly #pool: HttpRequestPool;
  readonly #streams = new Set<CallStream>();
  #opened = 0;

  constructor(address: Address, options: ResolvedOptions, recorder: RequestRecorder) {
    this.address = address;
    this.connection = new HttpConnection(address, options);
    this.control = new HttpControl(this.connection);
    this.#pool = new HttpRequestPool(this.connection, options, recorder);
  }

  get epoch(): number {
    return this.connection.epoch;
  }

  get peer(): string | undefined {
    return this.connection.peer;
  }

  get stats(): TransportStats {
    return { ...this.#pool.stats, streams: { opened: this.#opened, open: this.#streams.size } };
  }

  /** The arrays of the inputs are borrowed until `settled`. */
  submit(request: CheckedRequest, options?: SubmitOptions): InferCall {
    return this.#pool.submit(encodeHttpRequest(request), options);
  }

  /** `bytes`, borrowed until `settled`, are the model's only input. */
  submitRaw(model: string, version: string, bytes: Uint8Array, options?: SubmitOptions): InferCall {
    return this.#pool.submit(encodeRawRequest(model, version, bytes), options);
  }

  /** The tensors are copied, once, so that their arrays may be changed. */
  prepare(request: CheckedRequest): PreparedRequest {
    const encoded = encodeHttpRequest(request);
    const once: EncodedHttpRequest = { ...encoded, chunks: [Buffer.concat(encoded.chunks)] };
    return { byteLength: once.byteLength, infer: (options) => this.#pool.submit(once, options) };
  }

  /** HTTP has no streams: the requests go one after the other, each when the one before it is answered. */
  stream(
    model: string,
    source: AsyncIterator<CheckedRequest>,
    options: StreamOptions & SubmitOptions = {},
  ): InferStream {
    const stream = new CallStream(
      model,
      source,
      options,
      (request, call) => this.submit(request, call),
      () => this.#streams.delete(stream),
    );
    this.#opened += 1;
    this.#streams.add(stream);
    return stream;
  }

  async close(timeoutMs: number): Promise<void> {
    const until = performance.now() + timeoutMs;
    for (const stream of this.#streams) stream.leave(new DisposedError('The TritonClient'));
    await this.#pool.close(timeoutMs);
    // Their requests are over, and so are they.
    await Promise.all(Array.from(this.#streams, ({ settled }) => settled));
    await this.connection.close(Math.max(0, until - performance.now()));
  }
}
