import { once } from 'node:events';
import { rmSync, statSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Valve } from './faults/valve.js';
import type { Wire } from './faults/wire.js';

/** Where a front end listens: a TCP port (0 for any), or a unix socket's path. */
export type Place = { readonly host: string; readonly port: number } | { readonly path: string };

/** A listening socket whose connections can be ended at once, whatever speaks on them. */
export class Listener {
  readonly #place: Place;
  readonly #wire: Wire;
  readonly #accept: (connection: Duplex) => void;
  readonly #mayHalfClose: boolean;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  private constructor(place: Place, wire: Wire, accept: (connection: Duplex) => void, mayHalfClose: boolean) {
    this.#place = place;
    this.#mayHalfClose = mayHalfClose;
    this.#wire = wire;
    this.#accept = accept;
  }

  /**
   * Listens; `accept` gets each connection, which it has to speak on.
   *
   * @param wire what is wrong with the connections, at any time
   * @param mayHalfClose whether a client that has ended its side still gets answers
   */
  static async open(
    place: Place,
    wire: Wire,
    accept: (connection: Duplex) => void,
    mayHalfClose = true,
  ): Promise<Listener> {
    const listener = new Listener(place, wire, accept, mayHalfClose);
    await listener.listen();
    return listener;
  }

  /** 0 for a unix socket. */
  get port(): number {
    return this.#port;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Takes connections, at the place of before; nothing when it does already. */
  async listen(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer({ noDelay: true });
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      // Whoever speaks on it looks at its errors too; one that comes before that must not end the process.
      socket.on('error', () => socket.destroy());
      const connection = new Valve(socket, this.#wire, this.#mayHalfClose);
      connection.on('error', () => connection.destroy());
      this.#accept(connection);
    });
    const place = this.#place;
    if ('path' in place) await removeAbandoned(place.path);
    server.listen('path' in place ? { path: place.path } : { host: place.host, port: this.#port || place.port });
    await once(server, 'listening');
    // Such as of a connection that could not be taken for want of a descriptor.
    server.on('error', () => undefined);
    this.#server = server;
    const address: AddressInfo | string | null = server.address();
    this.#port = address !== null && typeof address === 'object' ? address.port : 0;
  }

  /** Takes no more connections (ECONNREFUSED); those that are there go on. */
  stop(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  /** Resolves when there are no connections any more. */
  async left(): Promise<void> {
    await Promise.all(
      [...this.#sockets].map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))),
    );
  }

  /** Ends every connection without a word, as the end of a process does. */
  drop(): void {
    for (const socket of this.#sockets) {
      // A unix socket knows no reset.
      if ('path' in this.#place) socket.destroy();
      else socket.resetAndDestroy();
    }
  }

  /** A function that ends the connections that there are now, and not those that come later. */
  cutter(): () => void {
    const sockets = [...this.#sockets];
    return () => {
      for (const socket of sockets) socket.destroy();
    };
  }

  /** Takes no more connections and ends those that are there. */
  async close(): Promise<void> {
    this.stop();
    const left = this.left();
    for (const socket of this.#sockets) socket.destroy();
    await left;
  }
}

/** The socket that a killed server left, as a real server removes it; one on which somebody listens stays. */
async function removeAbandoned(path: string): Promise<void> {
  if (statSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return;
  const socket = connect(path);
  try {
    await once(socket, 'connect');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') rmSync(path, { force: true });
  } finally {
    socket.destroy();
  }
}
