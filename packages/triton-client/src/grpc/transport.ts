import type { Address } from '../address.js';
import type { ResolvedOptions } from '../options.js';
import { addPayloads, NO_PAYLOAD } from '../payload.js';
import type { CheckedRequest } from '../request.js';
import type { RequestRecorder } from '../request-recorder.js';
import type { TransportStats } from '../stats.js';
import { checkStreamOptions } from '../stream-options.js';
import type { SubmitOptions, Transport } from '../transport.js';
import type { StreamOptions } from '../types/request.js';
import type { InferCall, InferStream, PreparedRequest } from '../types/result.js';
import type { Compression } from './channel-options.js';
import { Connection } from './connection.js';
import { GrpcControl } from './control.js';
import { encodeRequest } from './encode.js';
import { LanePool } from './lane-pool.js';
import { RepeatedAnswers } from './repeated-answers.js';
import { Streams } from './streams.js';

/** One channel: control calls unary, requests on lanes. Calls that are compressed have a channel for each algorithm. */
export class GrpcTransport implements Transport {
  readonly address: Address;
  readonly control: GrpcControl;
  readonly #options: ResolvedOptions;
  readonly #connection: Connection;
  readonly #compressed = new Map<Compression, Connection>();
  readonly #lanes: LanePool;
  readonly #streams: Streams;

  constructor(address: Address, options: ResolvedOptions, recorder: RequestRecorder) {
    this.address = address;
    this.#options = options;
    this.#streams = new Streams(options.maxDetached);
    this.#connection = new Connection(address, options, () => {
      this.#lanes.endIdleLanes();
      this.#streams.onDown(address.url);
    });
    this.#lanes = new LanePool(this.#connection, (compression) => this.#compress(compression), options, recorder);
    this.control = new GrpcControl(this.#connection);
  }

  get epoch(): number {
    // A request may go by any of them; each one's epoch only rises.
    let { epoch } = this.#connection;
    for (const connection of this.#compressed.values()) epoch += connection.epoch;
    return epoch;
  }

  /** The address of the server that answered last. */
  get peer(): string | undefined {
    return this.#connection.peer;
  }

  get stats(): TransportStats {
    let grpc = addPayloads(this.#connection.payload, NO_PAYLOAD);
    for (const { payload } of this.#compressed.values()) grpc = addPayloads(grpc, payload);
    return { ...this.#lanes.stats, streams: this.#streams.stats, bytes: { grpc, http: NO_PAYLOAD } };
  }

  submit(request: CheckedRequest, options?: SubmitOptions): InferCall {
    return this.#lanes.submit(encodeRequest(request), options);
  }

  prepare(request: CheckedRequest): PreparedRequest {
    const once = encodeRequest(request);
    const encoded = request.outputsInRegions ? { ...once, answers: new RepeatedAnswers(once.outputs) } : once;
    return {
      byteLength: encoded.bytes.byteLength,
      infer: (options) => this.#lanes.submit(encoded, options),
    };
  }

  stream(
    model: string,
    source: AsyncIterator<CheckedRequest>,
    options: StreamOptions & SubmitOptions = {},
  ): InferStream {
    const checked = checkStreamOptions(options, this.#options.retry);
    const { compression } = checked;
    const connection = compression === undefined ? this.#connection : this.#compress(compression);
    return this.#streams.open(connection, model, source, checked);
  }

  async close(timeoutMs: number): Promise<void> {
    await Promise.all([this.#lanes.close(timeoutMs), this.#streams.close(timeoutMs), this.control.close(timeoutMs)]);
    this.#connection.close();
    for (const connection of this.#compressed.values()) connection.close();
  }

  #compress(compression: Compression): Connection {
    let connection = this.#compressed.get(compression);
    if (connection === undefined) {
      connection = new Connection(this.address, { ...this.#options, compression }, () =>
        this.#streams.onDown(this.address.url),
      );
      this.#compressed.set(compression, connection);
    }
    return connection;
  }
}
