import type { LaneStats } from './grpc/carriers.js';
import type { StreamStats } from './grpc/streams.js';
import type { UnaryStats } from './grpc/unary-calls.js';
import { addPayloads, type PayloadBytes } from './payload.js';
import type { RequestStats } from './request-recorder.js';

/** Counters since the client was made, and what is there now; a snapshot. */
export interface ClientStats extends RequestStats, TransportStats {}

/** What a transport alone knows. */
export interface TransportStats {
  /** Requests that wait for a lane (over HTTP a connection takes one request at a time, and is one). */
  readonly queued: number;
  /** How often a request that did not run was sent again. */
  readonly retried: number;
  /** Streams opened since the start; over HTTP connections. */
  readonly lanesOpened: number;
  readonly lanes: LaneStats;
  readonly unary: UnaryStats;
  /** The text by which the server, or a proxy, refused streams: since then every request goes as a unary call. */
  readonly streamsForbidden: string | undefined;
  /** Those that `stream()` opened. */
  readonly streams: StreamStats;
  /**
   * What inference requests and their answers carry: messages of gRPC, bodies of HTTP, before compression. A request
   * that was sent again counts again. Without tensors in regions, headers, control calls, generate, and the bodies of
   * HTTP answers that nobody waits for any more.
   */
  readonly bytes: { readonly grpc: PayloadBytes; readonly http: PayloadBytes };
}

/** Of a client with two transports. */
export function addStats(a: TransportStats, b: TransportStats): TransportStats {
  return {
    queued: a.queued + b.queued,
    retried: a.retried + b.retried,
    lanesOpened: a.lanesOpened + b.lanesOpened,
    lanes: addCounts(a.lanes, b.lanes),
    unary: addCounts(a.unary, b.unary),
    streamsForbidden: a.streamsForbidden ?? b.streamsForbidden,
    streams: addCounts(a.streams, b.streams),
    bytes: { grpc: addPayloads(a.bytes.grpc, b.bytes.grpc), http: addPayloads(a.bytes.http, b.bytes.http) },
  };
}

function addCounts<T extends object>(a: T, b: T): T {
  return Object.fromEntries(Object.entries(a).map(([key, count]) => [key, count + (b[key as keyof T] as number)])) as T;
}
