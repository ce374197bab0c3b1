import { isHttp, parseAddress, parseHttpAddress } from './address.js';
import { typeError } from './check.js';
import { GrpcTransport } from './grpc/transport.js';
import { HttpTransport } from './http/transport.js';
import type { ResolvedOptions } from './options.js';
import { RequestRecorder } from './request-recorder.js';
import { addStats, type TransportStats } from './stats.js';
import type { Transport } from './transport.js';

/** The ways of one client to its server: one, or beside gRPC a second one over HTTP. */
export class Transports {
  readonly main: Transport;
  /** `main` where that is HTTP, else the one of `httpUrl`. */
  readonly http: HttpTransport | undefined;
  readonly recorder: RequestRecorder;

  /** @throws TypeError or RangeError for a wrong url */
  constructor(url: string, options: ResolvedOptions) {
    const address = parseAddress(url);
    this.recorder = new RequestRecorder(address.url);
    const { httpUrl } = options;
    if (isHttp(address)) {
      if (httpUrl !== undefined) throw typeError('no httpUrl beside an HTTP url', 'httpUrl', httpUrl);
      this.http = new HttpTransport(address, options, this.recorder);
      this.main = this.http;
    } else {
      this.http =
        httpUrl === undefined
          ? undefined
          : new HttpTransport(parseHttpAddress(httpUrl, 'httpUrl'), options, this.recorder);
      this.main = new GrpcTransport(address, options, this.recorder);
    }
  }

  get stats(): TransportStats {
    const { stats } = this.main;
    return this.http === undefined || this.http === this.main ? stats : addStats(stats, this.http.stats);
  }

  async close(timeoutMs: number): Promise<void> {
    const all = new Set<Transport>([this.main, this.http ?? this.main]);
    await Promise.all(Array.from(all, (transport) => transport.close(timeoutMs)));
  }
}
