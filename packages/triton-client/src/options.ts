import { integer, milliseconds, typeError } from './check.js';

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
  /** The server's Prometheus metrics, `http://host:8002/metrics`; for `gpuUuids()`. */
  readonly metricsUrl?: string;
}

export type ResolvedOptions = Required<Omit<TritonClientOptions, 'metricsUrl'>> & {
  readonly metricsUrl: string | undefined;
};

export function resolveOptions(options: TritonClientOptions): ResolvedOptions {
  const { metricsUrl } = options;
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
  };
}
