import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** One request that arrived, and the ways to treat it. */
export class HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;

  constructor(request: IncomingMessage, response: ServerResponse, body: Buffer) {
    this.request = request;
    this.response = response;
    this.body = body;
  }

  /** As Triton answers an inference request without outputs, or with the JSON given. */
  answer(json: object = { model_name: 'm', model_version: '1', outputs: [] }): void {
    this.send(200, JSON.stringify(json), { 'content-type': 'application/json' });
  }

  /** As Triton answers an error. */
  fail(status: number, error: string): void {
    this.send(status, JSON.stringify({ error }));
  }

  send(status: number, body: string | Uint8Array, headers: Record<string, string> = {}): void {
    const bytes = Buffer.from(body);
    this.response.writeHead(status, { ...headers, 'content-length': bytes.byteLength });
    this.response.end(bytes);
  }

  get socket(): Socket {
    return this.request.socket;
  }

  /** Ends the connection without a word. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  async whenClosed(): Promise<void> {
    if (!this.socket.closed) await once(this.socket, 'close');
  }
}

/**
 * A server double for HTTP whose answers are the test's: what a real server does only by accident, or never. How real
 * servers answer is the triton tier's subject.
 */
export class FaultHttpServer {
  /** Requests so far. */
  readonly seen: HttpExchange[] = [];
  /** Treats every request instead of `next`. */
  handler: ((exchange: HttpExchange) => void) | undefined;
  /** Connections so far. */
  connections = 0;
  readonly #server = createServer({ keepAliveTimeout: 0 });
  readonly #sockets = new Set<Socket>();
  readonly #waiting: ((exchange: HttpExchange) => void)[] = [];
  readonly #unread: HttpExchange[] = [];

  static async start(port = 0): Promise<FaultHttpServer> {
    const server = new FaultHttpServer();
    await server.#listen(port);
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  /** The next request that nobody has taken. */
  next(): Promise<HttpExchange> {
    const exchange = this.#unread.shift();
    if (exchange !== undefined) return Promise.resolve(exchange);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Closes every connection at once. */
  closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.closeConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #listen(port: number): Promise<void> {
    this.#server.on('connection', (socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => {});
    });
    this.#server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => {});
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => this.#take(new HttpExchange(request, response, Buffer.concat(chunks))));
    });
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  #take(exchange: HttpExchange): void {
    this.seen.push(exchange);
    if (this.handler !== undefined) this.handler(exchange);
    else {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#unread.push(exchange);
      else waiting(exchange);
    }
  }
}
