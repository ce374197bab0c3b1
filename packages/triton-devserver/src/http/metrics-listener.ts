import type { Server } from 'node:http';
import type { Wire } from '../faults/wire.js';
import { Listener, type Place } from '../listener.js';
import { Exchange, pathOf } from './exchange.js';
import { speaker } from './front-end.js';
import { plainReply } from './reply.js';

/** The port of the metrics. Every path answers; only `/metrics` has something to say. */
export class MetricsListener {
  readonly #place: Place;
  readonly #wire: Wire;
  readonly #server: Server;
  #listener: Listener | undefined;

  /** @param text called for each request */
  constructor(text: () => string, place: Place, wire: Wire) {
    this.#place = place;
    this.#wire = wire;
    this.#server = speaker((message, response) => {
      message.resume();
      const exchange = new Exchange(response);
      if (message.method !== 'GET') {
        exchange.send(plainReply(405, 'Method Not Allowed'));
        return;
      }
      const body = pathOf(message.url ?? '') === '/metrics' ? [Buffer.from(text(), 'utf8')] : [];
      exchange.send({ status: 200, contentType: 'text/plain; charset=utf-8', body });
    });
  }

  /** Listens. Resolves with the port. */
  async start(): Promise<number> {
    this.#listener = await Listener.open(this.#place, this.#wire, (connection) =>
      this.#server.emit('connection', connection),
    );
    return this.#listener.port;
  }

  /** Takes no more connections until `listen`. */
  refuse(): void {
    this.#listener?.stop();
  }

  async listen(): Promise<void> {
    await this.#listener?.listen();
  }

  /** Ends every connection without a word. */
  drop(): void {
    this.#listener?.drop();
  }

  /** Ends it at once. */
  async close(): Promise<void> {
    await this.#listener?.close();
  }
}
