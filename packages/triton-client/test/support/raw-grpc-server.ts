import { once } from 'node:events';
import { constants, createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** The service's method of a stream, such as `ServerLive`. */
export type Handler = (stream: ServerHttp2Stream, method: string) => void;

/** A server that speaks HTTP/2 by hand: for what no gRPC library would let a server do. */
export class RawGrpcServer {
  readonly #server: Http2Server;
  readonly sessions = new Set<ServerHttp2Session>();
  /** Calls so far, by their method. */
  readonly calls: string[] = [];
  connections = 0;
  #port = 0;

  private constructor(handler: Handler, onSession: (session: ServerHttp2Session) => void) {
    this.#server = createServer();
    this.#server.on('session', (session) => {
      this.connections += 1;
      onSession(session);
      this.sessions.add(session);
      session.on('close', () => this.sessions.delete(session));
      session.on('error', () => {});
    });
    this.#server.on('stream', (stream, headers) => {
      const method = String(headers[':path']).split('/').at(-1) ?? '';
      this.calls.push(method);
      stream.on('error', () => {});
      handler(stream, method);
    });
  }

  static async start(
    handler: Handler,
    at: { port?: number; host?: string; onSession?: (session: ServerHttp2Session) => void } = {},
  ): Promise<RawGrpcServer> {
    const server = new RawGrpcServer(handler, at.onSession ?? (() => {}));
    server.#server.listen(at.port ?? 0, at.host ?? '127.0.0.1');
    await once(server.#server, 'listening');
    server.#port = (server.#server.address() as AddressInfo).port;
    return server;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `grpc://127.0.0.1:${this.port}`;
  }

  stop(): void {
    for (const session of this.sessions) session.destroy();
    this.#server.close();
  }
}

/** Answers a call with one message and status OK. */
export function answer(stream: ServerHttp2Stream, message: Uint8Array): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.byteLength, 1);
  stream.end(Buffer.concat([prefix, message]));
}

/** Says that nothing of the stream was read. */
export function refuse(stream: ServerHttp2Stream): void {
  stream.close(constants.NGHTTP2_REFUSED_STREAM);
}
