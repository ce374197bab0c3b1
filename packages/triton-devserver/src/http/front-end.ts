import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { RestrictedApis } from '../api-groups.js';
import type { Core } from '../core/core.js';
import type { Wire } from '../faults/wire.js';
import type { IsForwarded } from '../forwarded-headers.js';
import { InProgress } from '../in-progress.js';
import { Listener, type Place } from '../listener.js';
import { within } from '../within.js';
import { control } from './control.js';
import { Exchange, type HttpRequest, pathOf, readBody } from './exchange.js';
import { generate, infer } from './inference.js';
import { JSON_TYPE, NOT_FOUND, plainReply } from './reply.js';
import { refusalOf } from './restricted.js';
import { type Route, RULES, routeOf } from './routes.js';

export interface HttpOptions {
  readonly place: Place;
  readonly wire: Wire;
  readonly isForwarded: IsForwarded;
  readonly restricted: readonly RestrictedApis[];
}

/** One header line of more bytes makes the real server end the connection without an answer. */
const LONGEST_LINE = 8192;
const HEADERS_BYTES = 256 * 1024;

/** KServe v2 and Triton's extensions over HTTP. */
export class HttpFrontEnd {
  readonly #core: Core;
  readonly #options: HttpOptions;
  readonly #server: Server;
  #listener: Listener | undefined;
  /** Requests that have no whole answer yet. */
  readonly #running = new InProgress();

  constructor(core: Core, options: HttpOptions) {
    this.#core = core;
    this.#options = options;
    this.#server = speaker((message, response) => this.#accept(message, response));
  }

  /** Listens. Resolves with the port. */
  async start(): Promise<number> {
    const { place, wire } = this.#options;
    this.#listener = await Listener.open(place, wire, (connection) => this.#server.emit('connection', connection));
    return this.#listener.port;
  }

  /** Takes no more connections until `listen`; those that are there go on. */
  refuse(): void {
    this.#listener?.stop();
  }

  async listen(): Promise<void> {
    await this.#listener?.listen();
  }

  /** Resolves when every client has gone. */
  async left(): Promise<void> {
    await this.#listener?.left();
  }

  /** Ends every connection without a word. */
  drop(): void {
    this.#listener?.drop();
  }

  /** Ends it: at once, or when the requests in progress have their answers or `graceMs` have passed. */
  async close(graceMs = 0): Promise<void> {
    this.#listener?.stop();
    if (graceMs > 0) await within(graceMs, this.#running.over());
    await this.#listener?.close();
  }

  #accept(message: IncomingMessage, response: ServerResponse): void {
    if (message.rawHeaders.some((line) => line.length > LONGEST_LINE)) {
      message.socket.destroy();
      return;
    }
    this.#running.begin();
    response.once('close', () => this.#running.end());
    const exchange = new Exchange(response);
    this.#answer(message, exchange).catch((error: unknown) => exchange.fail(error));
  }

  async #answer(message: IncomingMessage, exchange: Exchange): Promise<void> {
    const body = await readBody(message);
    if (body === undefined) return;
    const { method = '', headers, rawHeaders } = message;
    const path = pathOf(message.url ?? '');
    const route = routeOf(path);
    if (route === undefined) {
      exchange.send(NOT_FOUND);
      return;
    }
    const { group, methods, plain } = RULES[route.name];
    const refusal = refusalOf(group, headers, this.#options.restricted);
    if (refusal !== undefined) exchange.send(refusal);
    else if (!methods.includes(method)) {
      const reply = plainReply(405, 'Method Not Allowed');
      exchange.send(plain === true ? reply : { ...reply, contentType: JSON_TYPE });
    } else await this.#run(route, { method, path, headers, rawHeaders, body }, exchange);
  }

  async #run(route: Route, request: HttpRequest, exchange: Exchange): Promise<void> {
    if (route.name === 'infer') await infer(route, request, exchange, this.#core, this.#options.isForwarded);
    else if (route.name === 'generate' || route.name === 'generate-stream') {
      generate(route, request, exchange, this.#core, route.name === 'generate-stream');
    } else {
      exchange.send(await control(route, request, this.#core));
    }
  }
}

/** node's HTTP on connections that somebody else accepts, without its timeouts: the real server has none. */
export function speaker(answer: (message: IncomingMessage, response: ServerResponse) => void): Server {
  const server = createServer({
    maxHeaderSize: HEADERS_BYTES,
    requestTimeout: 0,
    headersTimeout: 0,
    keepAliveTimeout: 0,
    requireHostHeader: false,
  });
  server.on('request', answer);
  // What is no HTTP ends the connection without an answer.
  server.on('clientError', (_error, socket) => socket.destroy());
  return server;
}
