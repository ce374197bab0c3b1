import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { errorReply, type Reply, reasonOf } from './reply.js';

/** What a handler gets of a request. */
export interface HttpRequest {
  readonly method: string;
  /** As it came, without the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names in the client's spelling, each followed by its value. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** Beyond it a body's length is not believed before its bytes are there. */
const LARGEST_PREALLOCATED = 2 ** 30;

/**
 * Collects a request's body: with a length given each byte is copied once, into its place.
 *
 * @returns undefined when the connection ended first
 */
export async function readBody(message: IncomingMessage): Promise<Buffer | undefined> {
  const length = Number(message.headers['content-length'] ?? 0);
  const whole = length <= LARGEST_PREALLOCATED ? Buffer.allocUnsafeSlow(length) : undefined;
  const chunks: Buffer[] = [];
  let at = 0;
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      if (whole !== undefined && at + chunk.byteLength <= whole.byteLength) whole.set(chunk, at);
      else chunks.push(chunk);
      at += chunk.byteLength;
    }
  } catch {
    return undefined;
  }
  if (!message.complete) return undefined;
  return chunks.length === 0 ? (whole ?? Buffer.alloc(0)) : Buffer.concat(chunks);
}

/** The path as it came: nothing is decoded but the bytes of UTF-8, and a query is left out. */
export function pathOf(url: string): string {
  const path = url.replace(/^https?:\/\/[^/]*/i, '').replace(/\?.*$/s, '');
  return Buffer.from(path, 'latin1').toString('utf8');
}

type Headers = (readonly [string, string])[];

/** Where an answer goes: headers as the real server writes them, and in its order. */
export class Exchange {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.sendDate = false;
    // Of keeping a connection the real server does not speak.
    response.removeHeader('connection');
    // A client that is gone must not be the end of the process.
    response.on('error', () => response.destroy());
  }

  /** Sends a whole answer. */
  send({ status, contentType, headers = [], body }: Reply): void {
    const length = body.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const sized = [...headers, ['Content-Length', String(length)] as const];
    // libevhtp's own additions: the end of the connection comes first when there is no body, the default type last.
    const framed = length === 0 ? [...this.#closing(), ...sized] : [...sized, ...this.#closing()];
    const all: Headers =
      contentType === undefined
        ? [...framed, ['Content-Type', 'text/plain']]
        : [['Content-Type', contentType], ...framed];
    this.#head(status, all);
    for (const part of body) this.#response.write(part);
    this.#response.end();
    // An error's text follows also when only the headers were asked for, which no client expects (seen on 2.51).
    const { req } = this.#response;
    if (req.method === 'HEAD') for (const part of body) req.socket.write(part);
  }

  /** Begins an answer in chunks. */
  begin(status: number, contentType: string): void {
    const headers: Headers = [
      ['Content-Type', contentType],
      ['Transfer-Encoding', 'chunked'],
    ];
    this.#head(status, [...headers, ...this.#closing()]);
    this.#response.flushHeaders();
  }

  chunk(bytes: Uint8Array): void {
    this.#response.write(bytes);
  }

  end(): void {
    this.#response.end();
  }

  /** Answers with an error, or ends the connection when an answer has begun. @param reply how the error is written */
  fail(error: unknown, reply: (error: unknown) => Reply = errorReply): void {
    if (this.#response.headersSent) this.#response.destroy();
    else this.send(reply(error));
  }

  #closing(): Headers {
    return this.#response.shouldKeepAlive ? [] : [['Connection', 'close']];
  }

  #head(status: number, headers: Headers): void {
    this.#response.writeHead(status, reasonOf(status), headers.flat());
  }
}
