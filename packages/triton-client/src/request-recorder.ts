import { publishEnd, publishStart, type RequestMessage, requestsAreWatched } from './diagnostics.js';
import { type LatencyHistogram, LatencyRecorder } from './latency.js';
import type { RequestNames } from './request.js';
import type { InferResult, Settlement } from './types/result.js';

/** What became of a client's inference requests. Those of `stream()` count over HTTP alone, where they are like others. */
export interface RequestStats {
  /** Inference requests made; those that threw for wrong arguments do not count. */
  readonly requests: number;
  /** Requests that resolved with a result. */
  readonly succeeded: number;
  /** Requests that rejected, by the error's code; `TRITON_TIMEOUT` counts those that ran out of time. */
  readonly failed: Readonly<Record<string, number>>;
  /** Requests that rejected with their signal's reason. */
  readonly aborted: number;
  /** Requests that settled as `'answered'`. */
  readonly answered: number;
  /** Requests that settled as `'not-sent'`. */
  readonly notSent: number;
  /** Requests that settled as `'lost'`. */
  readonly lost: number;
  readonly latency: LatencyHistogram;
}

/** Counts for one client. What it is told on the way of every request is kept to a few additions. */
export class RequestRecorder {
  readonly #url: string;
  readonly #latency = new LatencyRecorder();
  readonly #failed = new Map<string, number>();
  readonly #settled: Record<Settlement, number> = { answered: 0, 'not-sent': 0, lost: 0 };
  #requests = 0;
  #succeeded = 0;
  #aborted = 0;

  constructor(url: string) {
    this.#url = url;
  }

  get stats(): RequestStats {
    return {
      requests: this.#requests,
      succeeded: this.#succeeded,
      failed: Object.fromEntries(this.#failed),
      aborted: this.#aborted,
      answered: this.#settled.answered,
      notSent: this.#settled['not-sent'],
      lost: this.#settled.lost,
      latency: this.#latency.snapshot(),
    };
  }

  /** @returns the message to end with, when somebody listens */
  start(request: RequestNames & { readonly namesRegion: boolean }): RequestMessage | undefined {
    this.#requests += 1;
    if (!requestsAreWatched()) return undefined;
    const { model, id, namesRegion } = request;
    const message = { url: this.#url, model, id, namesRegion };
    publishStart(message);
    return message;
  }

  succeed(startedAt: number, result: InferResult, message: RequestMessage | undefined): void {
    const durationMs = performance.now() - startedAt;
    this.#succeeded += 1;
    this.#latency.record(durationMs);
    if (message !== undefined) publishEnd(Object.assign(message, { durationMs, result }));
  }

  fail(startedAt: number, error: unknown, aborted: boolean, message: RequestMessage | undefined): void {
    if (aborted) this.#aborted += 1;
    else {
      const code = codeOf(error);
      this.#failed.set(code, (this.#failed.get(code) ?? 0) + 1);
    }
    if (message !== undefined) publishEnd(Object.assign(message, { durationMs: performance.now() - startedAt, error }));
  }

  settle(settlement: Settlement): void {
    this.#settled[settlement] += 1;
  }
}

/** Of a TritonError or DisposedError. */
function codeOf(error: unknown): string {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === 'string' ? code : 'unknown';
}
