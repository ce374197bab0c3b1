import type { Readable } from 'node:stream';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import type { buildConnector, Client, Pool } from 'undici';
import { type Address, authorityOf } from '../address.js';
import { publishConnection } from '../diagnostics.js';
import type { TlsOptions } from '../options.js';
import { Peer } from '../peer.js';
import type { CallHeaders } from '../types/request.js';
import { type Compression, compressRequest } from './compression.js';
import { type ChunkSink, Exchange, type WireRequest } from './exchange.js';

interface HttpConnectionOptions {
  readonly connectTimeoutMs: number;
  readonly tls: TlsOptions;
  /** Sent with every request. */
  readonly headers: CallHeaders;
}

/** A connection that was used within this time is taken to be open; servers keep them for seconds. */
const QUIET_MS = 20;

/** What a request is, apart from how it travels. */
export interface OutgoingRequest {
  readonly method: 'GET' | 'POST';
  /** From `/v2` on. */
  readonly path: string;
  readonly headers?: CallHeaders | undefined;
  /** The protocol's own, which win over the user's. */
  readonly ownHeaders?: Readonly<Record<string, string>>;
  readonly chunks?: readonly Uint8Array[];
  readonly compression?: Compression | undefined;
  readonly sink?: ChunkSink;
  /** Called when the request begins to leave. */
  readonly onSent?: () => void;
  /** A call about regions: all go over one connection, so that what they prove is true of one server process. */
  readonly ofRegions?: boolean;
}

interface Dispatchers {
  readonly pool: Pool;
  readonly regions: Client;
}

/** The connections to one server: as many as there are requests at once, and one for the calls about regions. */
export class HttpConnection {
  readonly address: Address;
  readonly #options: HttpConnectionOptions;
  readonly #peer: Peer;
  #dispatchers: Promise<Dispatchers> | undefined;
  #epoch = 0;
  #connections = 0;
  #answeredAt = Number.NEGATIVE_INFINITY;
  readonly #running = new Set<Exchange>();

  constructor(address: Address, options: HttpConnectionOptions) {
    this.address = address;
    this.#options = options;
    this.#peer = new Peer(address.host, address.port);
  }

  /**
   * Rises when the first connection is made, when the last one goes, and whenever the one of the regions' calls does
   * either.
   */
  get epoch(): number {
    return this.#epoch;
  }

  /** The address that the connections go to, `host:port`. */
  get peer(): string | undefined {
    const host = this.#peer.address;
    return host === undefined ? undefined : authorityOf({ host, port: this.address.port });
  }

  /** Connections that are open. */
  get open(): number {
    return this.#peer.open;
  }

  /** Connections made so far. */
  get made(): number {
    return this.#connections;
  }

  /** Sends a request as soon as it can; the exchange is told how it goes. */
  send(request: OutgoingRequest): Exchange {
    const exchange = new Exchange(request.sink, request.onSent);
    const over = () => {
      this.#answeredAt = performance.now();
      this.#running.delete(exchange);
    };
    this.#running.add(exchange);
    exchange.answer.then(over, over);
    this.#dispatch(request, exchange).catch((error: unknown) => exchange.fail(error));
    return exchange;
  }

  /** Waits for what is on its way, at most `timeoutMs`, and ends every connection. */
  async close(timeoutMs: number): Promise<void> {
    const timer = new AbortController();
    const answers = Promise.allSettled(Array.from(this.#running, ({ answer }) => answer));
    await Promise.race([answers, delay(timeoutMs, undefined, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
    if (this.#dispatchers === undefined) return;
    const { pool, regions } = await this.#dispatchers;
    await Promise.all([pool.destroy(), regions.destroy()]);
  }

  async #dispatch(outgoing: OutgoingRequest, exchange: Exchange): Promise<void> {
    this.#dispatchers ??= this.#create();
    const { pool, regions } = await this.#dispatchers;
    const { compression } = outgoing;
    const plain = this.#request(outgoing);
    const request =
      compression === undefined || compression === 'none' ? plain : await compressRequest(plain, compression);
    // undici uses a connection again a turn of the event loop after its last answer: asked before, it would make another.
    await turn();
    // A connection that its server has closed must be seen as closed before it is used. After a while in which it could
    // do so, or in which nothing here could run, the network is looked at first: by a whole turn, since the last one may
    // have been the rest of the caller's own.
    if (performance.now() - this.#answeredAt > QUIET_MS) await turn();
    if (exchange.aborted) return;
    const { method, path, headers } = request;
    const dispatcher = outgoing.ofRegions === true ? regions : pool;
    // With its length known, undici writes the pieces as they are.
    const length = request.chunks.length > 1 ? { 'content-length': String(request.byteLength) } : {};
    dispatcher.dispatch({ method, path, headers: { ...headers, ...length }, body: bodyOf(request) }, exchange);
  }

  #request({ method, path, headers, ownHeaders, chunks = [] }: OutgoingRequest): WireRequest {
    const all: Record<string, string> = {};
    // One spelling, or a header would go twice.
    for (const list of [this.#options.headers, headers ?? {}, ownHeaders ?? {}]) {
      for (const [name, value] of Object.entries(list)) all[keyOf(all, name)] = value;
    }
    const byteLength = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
    return { method, path: this.address.basePath + path, headers: all, chunks, byteLength };
  }

  /** undici takes longer to load than all else here, and who speaks gRPC alone never needs it. */
  async #create(): Promise<Dispatchers> {
    const undici = await import('undici');
    const { connectTimeoutMs, tls } = this.#options;
    const plain = undici.buildConnector({
      timeout: connectTimeoutMs,
      ...(this.address.scheme === 'https' && tlsOptions(tls)),
    });
    const origin = `${this.address.scheme}://${authorityOf(this.address)}`;
    // Every request has a timer of its own.
    const shared = { headersTimeout: 0, bodyTimeout: 0, allowH2: false } as const;
    return {
      pool: new undici.Pool(origin, { ...shared, connect: this.#connector(plain, false) }),
      regions: new undici.Client(origin, { ...shared, connect: this.#connector(plain, true) }),
    };
  }

  #turnEpoch(state: 'up' | 'down'): void {
    this.#epoch += 1;
    publishConnection(this.address.url, state, this.#epoch);
  }

  #connector(plain: buildConnector.connector, ofRegions: boolean): buildConnector.connector {
    type Connected = Extract<Parameters<buildConnector.Callback>, [null, unknown]>[1];
    return (options, callback) => {
      const dial = (hostname: string) =>
        new Promise<Connected>((resolve, reject) => {
          plain({ ...options, hostname }, (error, socket) => {
            if (error === null) resolve(socket);
            else reject(error);
          });
        });
      this.#peer.connect(dial).then(
        (socket) => {
          this.#connections += 1;
          if (ofRegions || this.#peer.open === 1) this.#turnEpoch('up');
          socket.once('close', () => {
            this.#peer.closed();
            if (ofRegions || this.#peer.open === 0) this.#turnEpoch('down');
          });
          callback(null, socket);
        },
        (error: unknown) => callback(error as Error, null),
      );
    };
  }
}

/** The name under which `headers` has `name` already, or `name`. */
function keyOf(headers: Readonly<Record<string, string>>, name: string): string {
  return Object.keys(headers).find((key) => key.toLowerCase() === name.toLowerCase()) ?? name;
}

/** undici takes any iterable, which its types do not say. */
function bodyOf({ chunks }: WireRequest): Uint8Array | Readable | null {
  if (chunks.length === 0) return null;
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : (chunks as Iterable<Uint8Array> as unknown as Readable);
}

function tlsOptions({ ca, cert, key, serverName }: TlsOptions) {
  const bytes = (value: string | Uint8Array) => (typeof value === 'string' ? value : Buffer.from(value));
  return {
    ...(ca !== undefined && { ca: bytes(ca) }),
    ...(cert !== undefined && { cert: bytes(cert) }),
    ...(key !== undefined && { key: bytes(key) }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}
