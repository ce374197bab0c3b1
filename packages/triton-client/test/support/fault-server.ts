import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Metadata, Server, ServerCredentials, type ServerDuplexStream, status as Status } from '@grpc/grpc-js';
import {
  type InferParameter,
  ModelInferRequest,
  ModelStreamInferResponse,
  GRPCInferenceServiceService as Service,
} from '../../src/gen/grpc_service.js';

type Stream = ServerDuplexStream<Buffer, Buffer>;

const raw = (bytes: Buffer): Buffer => bytes;

/** Only what the tests of faults need; the bytes of the stream are the test's own. */
const DEFINITION = {
  serverLive: Service.serverLive,
  serverReady: Service.serverReady,
  modelStreamInfer: {
    path: Service.modelStreamInfer.path,
    requestStream: true,
    responseStream: true,
    requestSerialize: raw,
    requestDeserialize: raw,
    responseSerialize: raw,
    responseDeserialize: raw,
  },
} as const;

/** One request that arrived, and the ways to treat it. */
export class Exchange {
  readonly bytes: Buffer;
  readonly request: ModelInferRequest;
  /** A number for each stream, from 0. */
  readonly lane: number;
  readonly metadata: Metadata;
  readonly #stream: Stream;

  constructor(stream: Stream, lane: number, bytes: Buffer) {
    this.#stream = stream;
    this.lane = lane;
    this.bytes = bytes;
    this.metadata = stream.metadata;
    this.request = ModelInferRequest.decode(bytes);
  }

  /** As Triton does: the request's id, and the mark of the last answer. */
  answer(options: { final?: boolean; error?: string } = {}): void {
    const value: InferParameter = { parameterChoice: { $case: 'boolParam', value: options.final ?? true } };
    this.write(
      ModelStreamInferResponse.encode({
        errorMessage: options.error ?? '',
        inferResponse: {
          modelName: this.request.modelName,
          modelVersion: '1',
          id: this.request.id,
          parameters: { triton_final_response: value },
          outputs: [],
          rawOutputContents: [],
        },
      }).finish(),
    );
  }

  write(message: Uint8Array): void {
    this.#stream.write(Buffer.from(message));
  }

  /** Ends the stream with status OK. */
  end(): void {
    this.#stream.end();
  }

  /** Ends the stream with another status. */
  destroy(code: Status, details: string): void {
    this.#stream.emit('error', { code, details });
  }

  get cancelled(): boolean {
    return this.#stream.cancelled;
  }

  async whenCancelled(): Promise<void> {
    if (!this.cancelled) await once(this.#stream, 'cancelled');
  }
}

/**
 * A server double whose answers are the test's: what a real server does only by accident, or never, is what a client
 * must be ready for. How real servers answer is the triton tier's subject.
 */
export class FaultServer {
  /** False while the server says "Server exiting". */
  ready = true;
  /** Every request is answered at once. */
  autoAnswer = false;
  /** Requests so far. */
  readonly seen: Exchange[] = [];
  /** Streams that the client has not ended yet. */
  openStreams = 0;
  streams = 0;
  readonly #server = new Server();
  // Sockets of its own, so that a connection can break without a word, as no server of grpc-js would let it.
  readonly #listener = createServer();
  readonly #sockets = new Set<Socket>();
  readonly #waiting: ((exchange: Exchange) => void)[] = [];
  readonly #unread: Exchange[] = [];
  #port = 0;
  #path: string | undefined;

  /** @param at - a port of 127.0.0.1, 0 for a free one, or the path of a unix socket */
  static async start(at: number | string = 0): Promise<FaultServer> {
    const server = new FaultServer();
    await server.#listen(at);
    return server;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return this.#path === undefined ? `grpc://127.0.0.1:${this.#port}` : `unix:${this.#path}`;
  }

  /** The next request that no other call of this took. */
  next(): Promise<Exchange> {
    const exchange = this.#unread.shift();
    if (exchange !== undefined) return Promise.resolve(exchange);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** GOAWAY, then waits for the streams, as a server on its way out does. */
  shutdown(): Promise<void> {
    this.#listener.close();
    return new Promise((resolve, reject) => {
      this.#server.tryShutdown((error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /** Breaks the connections, as the end of the process does. */
  kill(): void {
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#server.forceShutdown();
  }

  async #listen(at: number | string): Promise<void> {
    this.#server.addService(DEFINITION, {
      serverLive: (_: unknown, reply: (error: null, answer: object) => void) => reply(null, { live: true }),
      serverReady: (_: unknown, reply: (error: object | null, answer?: object) => void) => {
        if (this.ready) reply(null, { ready: true });
        else reply({ code: Status.UNAVAILABLE, details: 'Server exiting' });
      },
      modelStreamInfer: (stream: Stream) => this.#onStream(stream),
    });
    const injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    this.#listener.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      injector.injectConnection(socket);
    });
    if (typeof at === 'string') this.#listener.listen(at);
    else this.#listener.listen(at, '127.0.0.1');
    await once(this.#listener, 'listening');
    if (typeof at === 'string') this.#path = at;
    else this.#port = (this.#listener.address() as AddressInfo).port;
  }

  #onStream(stream: Stream): void {
    const lane = this.streams;
    this.streams += 1;
    this.openStreams += 1;
    let open = true;
    const close = () => {
      if (open) this.openStreams -= 1;
      open = false;
    };
    stream.on('data', (bytes: Buffer) => {
      const exchange = new Exchange(stream, lane, bytes);
      this.seen.push(exchange);
      if (this.autoAnswer) exchange.answer();
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#unread.push(exchange);
      else waiting(exchange);
    });
    stream.on('end', () => {
      close();
      stream.end();
    });
    stream.on('cancelled', close);
    stream.on('error', close);
  }
}
