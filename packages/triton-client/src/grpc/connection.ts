import { channel } from 'node:diagnostics_channel';
import {
  type ChannelInterface,
  Client,
  type ClientUnaryCall,
  Metadata,
  type ServiceError,
  connectivityState as State,
} from '@grpc/grpc-js';
import { offAbort, onAbort } from '../abort-listeners.js';
import { type Address, authorityOf } from '../address.js';
import type { ControlCall } from '../control.js';
import { publishConnection } from '../diagnostics.js';
import { DisposedError, errorOfStatus, TritonError } from '../errors.js';
import { Payload } from '../payload.js';
import { warnIfSeveralAddresses } from '../peer.js';
import type { CallHeaders } from '../types/request.js';
import { readAcceptedEncodings } from './accepted-encodings.js';
import { type ChannelSettings, channelCredentials, channelOptions } from './channel-options.js';
import { GRPCInferenceServiceService as Service } from './gen/grpc_service.js';

/** A call on the channel itself, below grpc-js's client: raw messages in and out, no stream objects. */
export type RawCall = ReturnType<ChannelInterface['createCall']>;

/** What the generated service definition says of a unary RPC. */
export interface UnaryMethod<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

/** Told `{ url, before, after }` when a reconnect reached another address than before. */
const PEER_CHANGED = channel('zerohop:triton-client:peer-changed');

interface ConnectionOptions extends ChannelSettings {
  readonly connectTimeoutMs: number;
  /** Sent with every call. */
  readonly headers: CallHeaders;
}

/** One channel to one server: unary calls, raw streams, and the state of the connection. */
export class Connection {
  readonly address: Address;
  /** Of the inference requests on it. */
  readonly payload = new Payload();
  readonly #client: Client;
  readonly #channel: ChannelInterface;
  readonly #options: ConnectionOptions;
  readonly #onDown: () => void;
  readonly #target: string;
  #epoch = 0;
  #peer: string | undefined;
  #connecting: Promise<void> | undefined;
  #onReady: (() => void) | undefined;
  readonly #closed = new AbortController();

  /** @param onDown - called, synchronously, whenever the connection goes away or the server asks to end it (GOAWAY) */
  constructor(address: Address, options: ConnectionOptions, onDown: () => void) {
    this.address = address;
    this.#options = options;
    const target = address.scheme === 'unix' ? `unix:${address.host}` : `dns:${authorityOf(address)}`;
    this.#target = target;
    this.#client = new Client(target, channelCredentials(address, options.tls), channelOptions(address, options));
    this.#channel = this.#client.getChannel();
    if (options.compression !== undefined) readAcceptedEncodings(this.#channel);
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

  /** The address that answered last, `host:port` or the path of a socket. */
  get peer(): string | undefined {
    return this.#peer;
  }

  /**
   * Connects. Requests wait for this instead of being written to a channel that is not there, so that one that got no
   * connection is known never to have left. Callers at the same time share one attempt.
   *
   * @throws TritonError `TRITON_UNAVAILABLE` when nothing answers, `TRITON_TLS` when no handshake succeeds,
   *   `TRITON_TIMEOUT` when it takes too long
   */
  connect(): Promise<void> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
      this.#onReady = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<void> {
    warnIfSeveralAddresses(this.address);
    // A server may be slow to answer this RPC, or keep it to itself, and still serve requests.
    const ready = new Promise<void>((resolve) => {
      this.#onReady = resolve;
    });
    await Promise.race([ready, this.#knock(this.#options.connectTimeoutMs)]);
    // No second attempt from here: a server that ends each connection would get one after the other.
    if (!this.ready) throw this.#connectError('TRITON_UNAVAILABLE', 'ended the connection as soon as it was made');
  }

  /** A call is what makes grpc-js connect at once, and its failure is the only place where the cause is told. */
  async #knock(timeoutMs: number): Promise<void> {
    try {
      await this.unary('ServerLive', Service.serverLive, {}, { timeoutMs, signal: this.#closed.signal });
    } catch (error) {
      if (this.ready) return;
      if (!(error instanceof TritonError) || error.code !== 'TRITON_TIMEOUT') throw error;
      throw this.#connectError('TRITON_TIMEOUT', `took no connection within ${this.#options.connectTimeoutMs} ms`);
    }
  }

  #connectError(code: 'TRITON_UNAVAILABLE' | 'TRITON_TIMEOUT', details: string): TritonError {
    const message = `Triton at ${this.address.url} ${details}`;
    return new TritonError(message, { code, method: 'ServerLive', details, didNotRun: true });
  }

  /**
   * A unary call with a gRPC deadline; nothing that uses shared memory goes this way.
   *
   * @throws TritonError, or the signal's reason
   */
  unary<Request, Response>(
    name: string,
    method: UnaryMethod<Request, Response>,
    request: Request,
    call: ControlCall,
    of: { readonly model?: string | undefined; readonly region?: string | undefined } = {},
  ): Promise<Response> {
    const { signal, timeoutMs, headers } = call;
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      let running: ClientUnaryCall | undefined;
      const stop = () => {
        reject(signal?.reason as Error);
        running?.cancel();
      };
      if (signal !== undefined) onAbort(signal, stop);
      const done = (error: ServiceError | null, response?: Response): void => {
        if (signal !== undefined) offAbort(signal, stop);
        this.#notePeer(running?.getPeer());
        if (error === null && response !== undefined) resolve(response);
        else if (error !== null) {
          reject(errorOfStatus(error, { ...of, method: name, address: this.address.url, cause: error }));
        }
      };
      const { path, requestSerialize, responseDeserialize } = method;
      const options = { deadline: Date.now() + timeoutMs };
      const metadata = this.metadata(headers);
      running = this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        options,
        done,
      );
    });
  }

  /** The metadata of a call: the client's headers and its own. */
  metadata(headers: CallHeaders = {}): Metadata {
    const metadata = new Metadata();
    for (const list of [this.#options.headers, headers]) {
      for (const [name, value] of Object.entries(list)) metadata.set(name, value);
    }
    return metadata;
  }

  /** A call without a deadline, not yet started. */
  createCall(path: string): RawCall {
    return this.#channel.createCall(path, Number.POSITIVE_INFINITY, null, null, null);
  }

  /** Calls that run may finish; new ones fail. */
  close(): void {
    this.#closed.abort(new DisposedError('The TritonClient'));
    this.#client.close();
  }

  #watch(seen: State): void {
    this.#channel.watchConnectivityState(seen, Number.POSITIVE_INFINITY, () => {
      const state = this.#channel.getConnectivityState(false);
      if (seen === State.READY || state === State.READY) {
        this.#epoch += 1;
        publishConnection(this.address.url, state === State.READY ? 'up' : 'down', this.#epoch);
      }
      if (state === State.SHUTDOWN) return;
      this.#watch(state);
      if (state === State.READY) this.#onReady?.();
      if (seen === State.READY) this.#onDown();
    });
  }

  /** grpc-js tells the address of a call that reached a server, and the target of others. */
  #notePeer(peer: string | undefined): void {
    if (peer === undefined || peer === this.#peer || peer === 'unknown' || peer === this.#target) return;
    const before = this.#peer;
    this.#peer = peer;
    if (before !== undefined) PEER_CHANGED.publish({ url: this.address.url, before, after: peer });
  }
}
