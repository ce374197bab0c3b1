import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DevServer } from '../dev-server.js';
import { ACTION_NAMES, act } from './actions.js';
import type { ActiveFault, Fault } from './fault.js';

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

const HELP =
  `There are GET, POST and DELETE /faults, DELETE /faults/ID, GET and DELETE /requests, GET /, ` +
  `and by POST ${ACTION_NAMES.map((name) => `/${name}`).join(', ')}`;

/** The largest body that it reads. */
const LARGEST_BODY = 1024 * 1024;

/**
 * Faults by HTTP, on 127.0.0.1 whatever the server's own host: bodies and answers are JSON as the API has it. A fault of the
 * server's connections does not meet it, and it lives until the server is stopped.
 */
export class ControlEndpoint {
  readonly #devServer: DevServer;
  readonly #server: Server;

  private constructor(devServer: DevServer) {
    this.#devServer = devServer;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** @param port 0 takes a free one. @throws Error when it is taken */
  static async start(devServer: DevServer, port: number): Promise<ControlEndpoint> {
    const endpoint = new ControlEndpoint(devServer);
    endpoint.#server.listen(port, '127.0.0.1');
    await once(endpoint.#server, 'listening');
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let reply: Reply;
    try {
      refuseForeign(request);
      reply = await this.#reply(request.method ?? '', request.url ?? '', await bodyOf(request));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      reply = { status: error instanceof TypeError ? 400 : 500, body: { error: text } };
    }
    response.on('error', () => undefined);
    response.writeHead(reply.status, { 'content-type': 'application/json' });
    response.end(`${jsonOf(reply.body)}\n`);
  }

  async #reply(method: string, url: string, body: unknown): Promise<Reply> {
    const server = this.#devServer;
    const [, name = '', id, ...more] = url.split('/');
    if (more.length > 0) throw new TypeError(`There is no ${url}. ${HELP}`);
    switch (`${method} /${name}${id === undefined ? '' : '/'}`) {
      case 'GET /':
        return { status: 200, body: state(server) };
      case 'GET /faults':
        return { status: 200, body: server.faults.map(shown) };
      case 'POST /faults':
        return { status: 200, body: shown(server.addFault(body as Fault)) };
      case 'DELETE /faults':
        server.clearFaults();
        return { status: 200, body: [] };
      case 'GET /requests':
        return { status: 200, body: server.requests };
      case 'DELETE /requests':
        server.clearRequests();
        return { status: 200, body: [] };
      case 'DELETE /faults/': {
        const fault = server.faults.find((each) => String(each.id) === id);
        if (fault === undefined) throw new TypeError(`There is no fault ${id} in effect`);
        fault.remove();
        return { status: 200, body: shown(fault) };
      }
      default:
        if (method !== 'POST' || !ACTION_NAMES.includes(name) || id !== undefined) {
          throw new TypeError(`There is no ${method} ${url}. ${HELP}`);
        }
        await act(server, name, body ?? {});
        return { status: 200, body: state(server) };
    }
  }
}

const OWN_NAMES = ['127.0.0.1', 'localhost'];

/**
 * A page in a browser may send a request to any address of the machine, but not without saying where it is from, or, when
 * its own name has come to mean this machine, by which name it came.
 */
function refuseForeign({ headers }: IncomingMessage): void {
  const name = headers.host?.replace(/:\d*$/, '').toLowerCase();
  const foreign = name !== undefined && !OWN_NAMES.includes(name);
  if (foreign || headers.origin !== undefined || (headers['sec-fetch-site'] ?? 'none') !== 'none') {
    throw new TypeError(
      'Requests of web pages, and those to another name than 127.0.0.1 and localhost, are not taken here',
    );
  }
}

/** @returns undefined when there is none */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let byteLength = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    byteLength += chunk.byteLength;
    if (byteLength > LARGEST_BODY) throw new TypeError('The body is larger than a mebibyte');
    chunks.push(chunk);
  }
  if (byteLength === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new TypeError('The body has to be JSON');
  }
}

function shown({ id, fault, met }: ActiveFault) {
  return { id, fault, met };
}

function state(server: DevServer) {
  const { grpcUrl, httpUrl, metricsUrl, frozen, faults } = server;
  return { grpcUrl, httpUrl, metricsUrl, frozen, inFlight: server.inFlight(), faults: faults.map(shown) };
}

/** JSON has no integers of 64 bits: they are written as JavaScript's numbers, as near as those come. */
function jsonOf(body: unknown): string {
  return JSON.stringify(body, (_name, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
}
