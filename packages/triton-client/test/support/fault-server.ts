import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  status as Status,
  type sendUnaryData,
} from '@grpc/grpc-js';
import {
  type InferParameter,
  ModelInferRequest,
  ModelInferResponse,
  ModelStreamInferResponse,
  GRPCInferenceServiceService as Service,
} from '../../src/grpc/gen/grpc_service.js';

type Stream = ServerDuplexStream<Buffer, Buffer>;

type Unary = ServerUnaryCall<Buffer, Buffer>;

const raw = (bytes: Buffer): Buffer => bytes;

/** Only what the tests of faults need; the bytes of the stream are the test's own. */
const DEFINITION = {
  serverLive: Service.serverLive,
  serverReady: Service.serverReady,
  modelMetadata: Service.modelMetadata,
  modelInfer: {
    path: Service.modelInfer.path,
    requestStream: false,
    responseStream: false,
    requestSerialize: raw,
    requestDeserialize: raw,
    responseSerialize: raw,
    responseDeserialize: raw,
  },
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

const response = (fields: Partial<ModelInferResponse>): ModelInferResponse => ({
  modelName: '',
  modelVersion: '',
  id: '',
  parameters: {},
  outputs: [],
  rawOutputContents: [],
  ...fields,
});

/** One request that arrived, and the ways to treat it. */
export class Exchange {
  readonly bytes: Buffer;
  readonly request: ModelInferRequest;
  /** A number for each stream, from 0. */
  readonly lane: number;
  readonly metadata: Metadata;
  readonly #stream: Stream;
  readonly #onFinal: () => void;

  constructor(stream: Stream, lane: number, bytes: Buffer, onFinal: () => void) {
    this.#stream = stream;
    this.#onFinal = onFinal;
    this.lane = lane;
    this.bytes = bytes;
    this.metadata = stream.metadata;
    this.request = ModelInferRequest.decode(bytes);
  }

  /** As Triton does: the request's id, and the mark of the last answer. */
  answer(options: { final?: boolean; error?: string; outputs?: readonly string[]; id?: string } = {}): void {
    const { final = true, outputs = [], id = this.request.id } = options;
    const value: InferParameter = { parameterChoice: { $case: 'boolParam', value: final } };
    this.write(
      ModelStreamInferResponse.encode({
        errorMessage: options.error ?? '',
        inferResponse: {
          modelName: this.request.modelName,
          modelVersion: '1',
          id,
          parameters: { triton_final_response: value },
          outputs: outputs.map((name) => ({
            name,
            datatype: 'UINT8',
            shape: [0n],
            parameters: {},
            contents: undefined,
          })),
          rawOutputContents: outputs.map(() => new Uint8Array(0)),
        },
      }).finish(),
    );
    if (final) this.#onFinal();
  }

  /** As Triton does with an error that it finds before the model runs: the id, and no mark. */
  refuse(error: string): void {
    this.write(
      ModelStreamInferResponse.encode({
        errorMessage: error,
        inferResponse: response({ id: this.request.id }),
      }).finish(),
    );
    this.#onFinal();
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

/** One ModelInfer call that arrived, and the ways to treat it. */
export class UnaryExchange {
  readonly bytes: Buffer;
  readonly request: ModelInferRequest;
  readonly metadata: Metadata;
  readonly #call: Unary;
  readonly #reply: sendUnaryData<Buffer>;

  constructor(call: Unary, reply: sendUnaryData<Buffer>) {
    this.#call = call;
    this.#reply = reply;
    this.bytes = call.request;
    this.metadata = call.metadata;
    this.request = ModelInferRequest.decode(call.request);
  }

  answer(): void {
    const { modelName, id } = this.request;
    this.write(ModelInferResponse.encode(response({ modelName, id, modelVersion: '1' })).finish());
  }

  write(message: Uint8Array): void {
    this.#reply(null, Buffer.from(message));
  }

  /** Ends the call with an error of the server's own. */
  refuse(code: Status, details: string): void {
    this.#reply({ code, details, metadata: new Metadata() });
  }

  get cancelled(): boolean {
    return this.#call.cancelled;
  }

  async whenCancelled(): Promise<void> {
    if (!this.cancelled) await once(this.#call, 'cancelled');
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
  /** Every stream ends with it before anything is read. */
  forbidsStreams: { readonly code: Status; readonly details: string } | undefined;
  /** Of every model: datatypes by name. */
  outputs: Readonly<Record<string, string>> = {};
  /** `model/version` of each call of ModelMetadata. */
  readonly metadataCalls: string[] = [];
  /** ModelMetadata gets no answer. */
  silent = false;
  /** Requests of streams so far. */
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
  readonly #unaryWaiting: ((exchange: UnaryExchange) => void)[] = [];
  readonly #unaryUnread: UnaryExchange[] = [];
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

  /** The next unary request that no other call of this took. */
  nextUnary(): Promise<UnaryExchange> {
    const exchange = this.#unaryUnread.shift();
    if (exchange !== undefined) return Promise.resolve(exchange);
    return new Promise((resolve) => this.#unaryWaiting.push(resolve));
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
      modelMetadata: (
        call: { request: { name: string; version: string } },
        reply: (error: null, answer: object) => void,
      ) => {
        const { name, version } = call.request;
        this.metadataCalls.push(`${name}/${version}`);
        const outputs = Object.entries(this.outputs).map(([output, datatype]) => ({
          name: output,
          datatype,
          shape: [-1n],
        }));
        if (!this.silent) reply(null, { name, versions: ['1'], platform: '', inputs: [], outputs });
      },
      modelInfer: (call: Unary, reply: sendUnaryData<Buffer>) => {
        const exchange = new UnaryExchange(call, reply);
        if (this.autoAnswer) exchange.answer();
        const waiting = this.#unaryWaiting.shift();
        if (waiting === undefined) this.#unaryUnread.push(exchange);
        else waiting(exchange);
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
    if (this.forbidsStreams !== undefined) {
      stream.emit('error', this.forbidsStreams);
      return;
    }
    this.openStreams += 1;
    let open = true;
    let ended = false;
    let outstanding = 0;
    const close = () => {
      if (open) this.openStreams -= 1;
      open = false;
    };
    stream.on('data', (bytes: Buffer) => {
      outstanding += 1;
      const exchange = new Exchange(stream, lane, bytes, () => {
        outstanding -= 1;
        if (ended && outstanding === 0) stream.end();
      });
      this.seen.push(exchange);
      if (this.autoAnswer) exchange.answer();
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#unread.push(exchange);
      else waiting(exchange);
    });
    stream.on('end', () => {
      close();
      ended = true;
      // As Triton does: what is outstanding is answered first.
      if (outstanding === 0) stream.end();
    });
    stream.on('cancelled', close);
    stream.on('error', close);
  }
}
