import {
  type ChannelInterface,
  Client,
  credentials,
  Metadata,
  type ServiceError,
  connectivityState as State,
} from '@grpc/grpc-js';
import type { Address } from './address.js';
import { errorOfStatus } from './errors.js';
import { GRPCInferenceServiceService as Service } from './gen/grpc_service.js';

/** A call on the channel itself, below grpc-js's client: raw messages in and out, no stream objects. */
export type RawCall = ReturnType<ChannelInterface['createCall']>;

/** What the generated service definition says of a unary RPC. */
export interface UnaryMethod<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

const CHANNEL_OPTIONS = {
  // grpc-js stops reading at 4 MiB otherwise; Triton's own limit is 2 GiB.
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  // With the defaults a client finds a restarted server up to 20 s late.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // A repeated inference is the caller's decision, and each of these costs time on every call.
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_http_proxy': 0,
  // A connection of its own: its epoch then tells what happened to this client's calls.
  'grpc.use_local_subchannel_pool': 1,
} as const;

/** One channel to one server: unary calls, raw streams, and the state of the connection. */
export class Connection {
  readonly address: Address;
  readonly #client: Client;
  readonly #channel: ChannelInterface;
  readonly #connectTimeoutMs: number;
  readonly #onDown: () => void;
  #epoch = 0;

  /** @param onDown - called, synchronously, whenever the connection goes away or the server asks to end it (GOAWAY) */
  constructor(address: Address, connectTimeoutMs: number, onDown: () => void) {
    this.address = address;
    this.#client = new Client(address.target, credentials.createInsecure(), CHANNEL_OPTIONS);
    this.#channel = this.#client.getChannel();
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#onDown = onDown;
    this.#watch(this.#channel.getConnectivityState(false));
  }

  /** Rises whenever the connection is made or goes away. */
  get epoch(): number {
    return this.#epoch;
  }

  get ready(): boolean {
    return this.#channel.getConnectivityState(false) === State.READY;
  }

  /**
   * Connects. Requests wait for this instead of being written to a channel that is not there, so that one that got no
   * connection is known never to have left.
   *
   * @throws TritonError `TRITON_UNAVAILABLE` when nothing answers, `TRITON_TIMEOUT` when it takes too long
   */
  async connect(): Promise<void> {
    // A call is what makes grpc-js connect at once, and its failure is the only place where the cause is told.
    try {
      await this.unary('ServerLive', Service.serverLive, {}, this.#connectTimeoutMs);
    } catch (error) {
      // A server may keep this RPC to itself and still serve requests.
      if (!this.ready) throw error;
    }
  }

  /** @param timeoutMs - a gRPC deadline; nothing that uses shared memory goes this way */
  unary<Request, Response>(
    name: string,
    method: UnaryMethod<Request, Response>,
    request: Request,
    timeoutMs: number,
    model?: string,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, response?: Response): void => {
        if (error === null && response !== undefined) resolve(response);
        else if (error !== null) {
          const context = { method: name, address: this.address.url, cause: error };
          reject(errorOfStatus(error, model === undefined ? context : { ...context, model }));
        }
      };
      const { path, requestSerialize, responseDeserialize } = method;
      const options = { deadline: Date.now() + timeoutMs };
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        new Metadata(),
        options,
        done,
      );
    });
  }

  /** A call without a deadline, not yet started. */
  createCall(path: string): RawCall {
    return this.#channel.createCall(path, Number.POSITIVE_INFINITY, null, null, null);
  }

  /** Calls that run may finish; new ones fail. */
  close(): void {
    this.#client.close();
  }

  #watch(seen: State): void {
    this.#channel.watchConnectivityState(seen, Number.POSITIVE_INFINITY, () => {
      const state = this.#channel.getConnectivityState(false);
      if (seen === State.READY || state === State.READY) this.#epoch += 1;
      if (state === State.SHUTDOWN) return;
      this.#watch(state);
      if (seen === State.READY) this.#onDown();
    });
  }
}
