import { boolean, fieldsOf, integer, milliseconds, object, onlyFields, typeError } from './check.js';
import { checkHeaders } from './headers.js';
import { RETRY_FIELDS, type RetryPolicy, resolveRetry } from './retry.js';
import type { CallHeaders, RetryOptions } from './types/request.js';

/** For `grpcs://` and `https://`. PEM text or its bytes. */
export interface TlsOptions {
  /** Certificates of the authorities to trust. @defaultValue those of Node */
  readonly ca?: string | Uint8Array;
  /** With `key`: this client's certificate chain, for servers that ask for one (mutual TLS). */
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  /** The name that the server's certificate must have. @defaultValue the host of the address */
  readonly serverName?: string;
}

/** HTTP/2 pings on a connection with calls under way, for networks that drop quiet connections. */
export interface KeepaliveOptions {
  /**
   * The time between two pings, in milliseconds. Triton ends connections that ping more often than every 300,000 ms:
   * less gives a warning, `ZEROHOP_KEEPALIVE`.
   */
  readonly timeMs: number;
  /** How long a ping may go unanswered before the connection counts as lost, in milliseconds. @defaultValue 20000 */
  readonly timeoutMs?: number;
}

export interface TritonClientOptions {
  /** The most lanes with a request that somebody waits for; more requests queue here. @defaultValue 64 */
  readonly lanes?: number;
  /** The most lanes kept for requests that their callers gave up; beyond it such a request is cancelled. @defaultValue 64 */
  readonly maxDetached?: number;
  /**
   * Lanes that had nothing to do for this long, at most twice this long, are ended. A server cannot exit while a
   * stream is open, and nothing tells a client that has no request under way that its server wants to.
   * @defaultValue 2000
   */
  readonly idleLaneMs?: number;
  /** How long connecting may take before the requests that wait for it fail. @defaultValue 10000 */
  readonly connectTimeoutMs?: number;
  /** The gRPC deadline of every call but inference and loading. @defaultValue 30000 */
  readonly controlTimeoutMs?: number;
  /** How long `close()` waits for requests under way, detached ones too, before it cancels them. @defaultValue 30000 */
  readonly closeTimeoutMs?: number;
  readonly tls?: TlsOptions;
  /** Over gRPC. @defaultValue no pings */
  readonly keepalive?: KeepaliveOptions;
  /** @defaultValue every request is sent once */
  readonly retry?: RetryOptions;
  /**
   * Of a client with a gRPC url: where the same server speaks HTTP, `http://host:8000`. Large tensors in the message
   * then go that way, without being copied, and so do `inferRaw()`, `generate()` and `generateStream()`.
   */
  readonly httpUrl?: string;
  /**
   * Requests that carry at least so many bytes of tensors, and name no region, go by `httpUrl`. @defaultValue 262144
   */
  readonly httpFromByteLength?: number;
  /**
   * Spans for requests, where the application has `@opentelemetry/api`. Over gRPC a sampled request is a unary call, which
   * is slower: a lane's headers are fixed when it opens.
   * @defaultValue true
   */
  readonly tracing?: boolean;
  /** Sent with every call, as gRPC metadata or HTTP headers: a token, the key of a restricted API. */
  readonly headers?: CallHeaders;
  /** The server's Prometheus metrics, `http://host:8002/metrics`; for `gpuUuids()`. */
  readonly metricsUrl?: string;
}

export type ResolvedOptions = Required<Omit<TritonClientOptions, 'metricsUrl' | 'httpUrl' | 'keepalive' | 'retry'>> & {
  readonly metricsUrl: string | undefined;
  readonly httpUrl: string | undefined;
  readonly keepalive: Required<KeepaliveOptions> | undefined;
  readonly retry: RetryPolicy;
};

/** A server gives a client a strike for each ping that comes earlier, and ends the connection at the third. */
const MIN_PING_MS = 300_000;

const FIELDS = fieldsOf<TritonClientOptions>({
  lanes: true,
  maxDetached: true,
  idleLaneMs: true,
  connectTimeoutMs: true,
  controlTimeoutMs: true,
  closeTimeoutMs: true,
  tls: true,
  keepalive: true,
  retry: true,
  httpUrl: true,
  httpFromByteLength: true,
  tracing: true,
  headers: true,
  metricsUrl: true,
});
const TLS_FIELDS = fieldsOf<TlsOptions>({ ca: true, cert: true, key: true, serverName: true });
const KEEPALIVE_FIELDS = fieldsOf<KeepaliveOptions>({ timeMs: true, timeoutMs: true });

export function resolveOptions(options: TritonClientOptions): ResolvedOptions {
  const { metricsUrl } = object(options, 'options');
  onlyFields(options, 'options', FIELDS);
  if (metricsUrl !== undefined && !/^https?:$/.test(URL.canParse(metricsUrl) ? new URL(metricsUrl).protocol : '')) {
    throw typeError("'http://host:port/metrics'", 'metricsUrl', metricsUrl);
  }
  const time = (name: 'idleLaneMs' | 'connectTimeoutMs' | 'controlTimeoutMs', fallback: number) =>
    integer(milliseconds(options[name] ?? fallback, name), name, 1);
  return {
    lanes: integer(options.lanes ?? 64, 'lanes', 1),
    maxDetached: integer(options.maxDetached ?? 64, 'maxDetached', 0),
    idleLaneMs: time('idleLaneMs', 2_000),
    connectTimeoutMs: time('connectTimeoutMs', 10_000),
    controlTimeoutMs: time('controlTimeoutMs', 30_000),
    closeTimeoutMs: milliseconds(options.closeTimeoutMs ?? 30_000, 'closeTimeoutMs'),
    metricsUrl,
    httpUrl: options.httpUrl,
    httpFromByteLength: integer(options.httpFromByteLength ?? 262_144, 'httpFromByteLength', 0),
    tls: checkTls(options.tls ?? {}),
    keepalive: options.keepalive === undefined ? undefined : checkKeepalive(options.keepalive),
    retry: checkRetry(options.retry === undefined ? {} : options.retry),
    headers: checkHeaders(options.headers ?? {}, 'headers'),
    tracing: boolean(options.tracing ?? true, 'tracing'),
  };
}

function checkRetry(retry: RetryOptions): RetryPolicy {
  onlyFields(object(retry, 'retry'), 'retry', RETRY_FIELDS);
  return resolveRetry(retry);
}

function checkTls(tls: TlsOptions): TlsOptions {
  onlyFields(object(tls, 'tls'), 'tls', TLS_FIELDS);
  for (const name of ['ca', 'cert', 'key'] as const) {
    const value: unknown = tls[name];
    if (value === undefined) continue;
    if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
      throw typeError('PEM text or Uint8Array', `tls.${name}`, value);
    }
    // OpenSSL takes text without any certificate, such as the path of a file, for an empty list of them.
    if (!Buffer.from(value).includes('-----BEGIN ')) {
      throw typeError('PEM, not the path of a file,', `tls.${name}`, typeof value === 'string' ? value : 'other bytes');
    }
  }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw typeError('cert and key together', tls.cert === undefined ? 'tls.cert' : 'tls.key', undefined);
  }
  return tls;
}

function checkKeepalive(keepalive: KeepaliveOptions): Required<KeepaliveOptions> {
  onlyFields(object(keepalive, 'keepalive'), 'keepalive', KEEPALIVE_FIELDS);
  const time = (value: unknown, name: string) => integer(milliseconds(value, name), name, 1);
  const timeMs = time(keepalive.timeMs, 'keepalive.timeMs');
  if (timeMs < MIN_PING_MS) {
    process.emitWarning(
      `keepalive.timeMs is ${timeMs}: Triton ends a connection that pings more often than every ${MIN_PING_MS} ms`,
      { code: 'ZEROHOP_KEEPALIVE' },
    );
  }
  return { timeMs, timeoutMs: time(keepalive.timeoutMs ?? 20_000, 'keepalive.timeoutMs') };
}
