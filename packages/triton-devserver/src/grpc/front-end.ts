import {
  type ConnectionInjector,
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import type { ApiGroup, RestrictedApis } from '../api-groups.js';
import type { Core } from '../core/core.js';
import type { Wire } from '../faults/wire.js';
import type { IsForwarded } from '../forwarded-headers.js';
import { Listener, type Place } from '../listener.js';
import { internal, unavailable, unsupported } from '../status.js';
import { within } from '../within.js';
import { type AnyUnary, CONTROL, HEALTH_CHECK } from './control-service.js';
import { ModelInferRequest, ModelInferResponse } from './gen/grpc_service.js';
import { readInfer } from './infer-request.js';
import { inferMessage, NO_MESSAGE, withFailure } from './infer-response.js';
import { statusOf } from './status-of.js';
import { InferStream } from './stream.js';

/** PEM, as text or as a file's bytes. */
export interface GrpcTls {
  /** The server's certificate, and those between it and its authority. */
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** With it, clients must show a certificate that it signed. */
  readonly clientCa?: string | Buffer | undefined;
}

export interface GrpcOptions {
  readonly place: Place;
  readonly wire: Wire;
  readonly tls?: GrpcTls | undefined;
  readonly isForwarded: IsForwarded;
  readonly restricted: readonly RestrictedApis[];
  /** Ends all connections, as the end of the real server's process does. */
  readonly crash: (reason: string) => void;
}

/** In bytes, also when it is decompressed: MAX_GRPC_MESSAGE_SIZE of the real server. */
const LARGEST_MESSAGE = 2 ** 31 - 1;
const SERVICE = '/inference.GRPCInferenceService/';

function same(bytes: Buffer): Buffer {
  return bytes;
}

/** gRPC: messages are decoded here rather than by grpc-js, whose answer to undecodable ones is another. */
export class GrpcFrontEnd {
  readonly #core: Core;
  readonly #options: GrpcOptions;
  #listener: Listener | undefined;
  readonly #server = new Server({
    'grpc.max_receive_message_length': LARGEST_MESSAGE,
    'grpc.max_send_message_length': LARGEST_MESSAGE,
  });
  #injector: ConnectionInjector;

  constructor(core: Core, options: GrpcOptions) {
    this.#core = core;
    this.#options = options;
    this.#injector = this.#newInjector();
    for (const [name, method] of Object.entries(CONTROL)) this.#addUnary(`${SERVICE}${name}`, method);
    this.#addUnary('/grpc.health.v1.Health/Check', HEALTH_CHECK);
    // A real server has it not either, and says so without a text.
    this.#server.register(
      '/grpc.health.v1.Health/Watch',
      (call: ServerWritableStream<Buffer, Buffer>) => call.emit('error', { code: status.UNIMPLEMENTED, details: '' }),
      same,
      same,
      'serverStream',
    );
    this.#server.register(
      `${SERVICE}ModelInfer`,
      (call: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>) => this.#infer(call, respond),
      same,
      same,
      'unary',
    );
    this.#server.register(
      `${SERVICE}ModelStreamInfer`,
      (call: ServerDuplexStream<Buffer, Buffer>) => this.#stream(call),
      same,
      same,
      'bidi',
    );
  }

  /** Listens. Resolves with the port; 0 for a unix socket. */
  async start(): Promise<number> {
    const { place, wire } = this.#options;
    this.#listener = await Listener.open(
      place,
      wire,
      (connection) => this.#injector.injectConnection(connection),
      false,
    );
    return this.#listener.port;
  }

  /** Takes no more connections until `listen`; those that are there go on. */
  refuse(): void {
    this.#listener?.stop();
  }

  async listen(): Promise<void> {
    await this.#listener?.listen();
  }

  /** Tells every client to open a new connection (GOAWAY); streams that are still open after `graceMs` are cut off. */
  goAway(graceMs: number): void {
    const injector = this.#injector;
    // It cuts off whatever connections it has when the time is over: those that come from now on are another's.
    this.#injector = this.#newInjector();
    const cut = this.#listener?.cutter();
    // Before the injector's own end, which would cancel the calls: a server ends the connection.
    setTimeout(() => cut?.(), graceMs).unref();
    injector.drain(graceMs);
  }

  /** Ends every connection without a word. */
  drop(): void {
    this.#listener?.drop();
  }

  /** Resolves when every client has gone. */
  async left(): Promise<void> {
    await this.#listener?.left();
  }

  /** Ends it: at once, or when the calls in progress have ended or `graceMs` have passed. */
  async close(graceMs = 0): Promise<void> {
    const listener = this.#listener;
    if (listener === undefined) return;
    if (graceMs > 0 && listener.connections > 0) {
      listener.stop();
      await within(graceMs, new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve())));
    }
    await listener.close();
    this.#server.forceShutdown();
  }

  #newInjector(): ConnectionInjector {
    const { tls } = this.#options;
    const credentials =
      tls === undefined
        ? ServerCredentials.createInsecure()
        : ServerCredentials.createSsl(
            tls.clientCa === undefined ? null : Buffer.from(tls.clientCa),
            [{ cert_chain: Buffer.from(tls.cert), private_key: Buffer.from(tls.key) }],
            tls.clientCa !== undefined,
          );
    return this.#server.createConnectionInjector(credentials);
  }

  #addUnary(path: string, { request, response, group, run }: AnyUnary): void {
    const handle = async (call: ServerUnaryCall<Buffer, Buffer>) => {
      this.#checkRestricted(group, call.metadata);
      const answer = await run(
        parsed(() => request.decode(call.request)),
        this.#core,
      );
      return Buffer.from(response.encode(response.fromPartial(answer as object)).finish());
    };
    const handler = (call: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>) => {
      handle(call).then(
        (bytes) => respond(null, bytes),
        (error: unknown) => respond(statusOf(error)),
      );
    };
    this.#server.register(path, handler, same, same, 'unary');
  }

  #infer(call: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>): void {
    const abort = new AbortController();
    call.on('cancelled', () => abort.abort());
    try {
      this.#checkRestricted('inference', call.metadata);
      const message = parsed(() => ModelInferRequest.decode(call.request));
      const core = this.#core;
      if (core.isDecoupled(message.model_name, message.model_version)) {
        throw unsupported("ModelInfer RPC doesn't support models with decoupled transaction policy");
      }
      const forwarded = this.#forwarded(call.metadata);
      const request = readInfer(message, { regions: core.regions, forwarded, signal: abort.signal });
      core.infer(request, (given) => {
        const response = withFailure(given, request.version);
        if (response.lost === true) return;
        if (response.garbled === true) respond(null, NO_MESSAGE);
        else if (response.error !== undefined) respond(statusOf(response.error));
        else respond(null, Buffer.from(ModelInferResponse.encode(inferMessage(response)).finish()));
      });
    } catch (error) {
      respond(statusOf(error));
    }
  }

  #stream(call: ServerDuplexStream<Buffer, Buffer>): void {
    try {
      this.#checkRestricted('inference', call.metadata);
    } catch (error) {
      call.emit('error', statusOf(error));
      return;
    }
    const core = this.#core;
    const errorsEnd = core.personality.grpcErrorHeader && call.metadata.get('triton_grpc_error').includes('true');
    new InferStream(call, { core, forwarded: this.#forwarded(call.metadata), errorsEnd, crash: this.#options.crash });
  }

  #forwarded(metadata: Metadata): Record<string, string> {
    const headers = Object.entries(metadata.getMap()).filter(([name]) => this.#options.isForwarded(name));
    // Sorted by name (seen on 2.51).
    return Object.fromEntries(headers.map(([name, value]) => [name, String(value)] as const).sort());
  }

  #checkRestricted(group: ApiGroup, metadata: Metadata): void {
    for (const { apis, header, value } of this.#options.restricted) {
      if (!apis.includes(group)) continue;
      const name = `triton-grpc-protocol-${header}`;
      if (!metadata.get(name).includes(value)) {
        throw unavailable(`This protocol is restricted, expecting header '${name}'`);
      }
    }
  }
}

function parsed<T>(decode: () => T): T {
  try {
    return decode();
  } catch {
    throw internal('Unable to parse request');
  }
}
