import type { InFlightOptions, SeenRequest } from './request-log.js';

/** What of the log is shown. */
interface ShownLog {
  list(): readonly SeenRequest[];
  clear(): void;
  inFlight(model?: string): number;
  whenInFlight(count: number, options: InFlightOptions): Promise<void>;
}

/** What a server tells a test of the requests that came. */
export abstract class RequestObserver {
  readonly #log: ShownLog;

  protected constructor(log: ShownLog) {
    this.#log = log;
  }

  /**
   * The inference requests that came from clients to models that are there, the oldest first, as they are now; of more than
   * a thousand the last ones. Restarts don't forget them.
   */
  get requests(): readonly SeenRequest[] {
    return this.#log.list();
  }

  /** Forgets the requests so far. Those in flight still count as such. */
  clearRequests(): void {
    this.#log.clear();
  }

  /** How many inference requests have no last answer yet, of all models or of one. */
  inFlight(model?: string): number {
    return this.#log.inFlight(model);
  }

  /**
   * Resolves as soon as at least so many inference requests are in flight: what a test does to the server then meets them.
   *
   * @throws the reason of `options.signal` when that is aborted first; Error when the server is stopped
   */
  whenInFlight(count: number, options: InFlightOptions = {}): Promise<void> {
    return this.#log.whenInFlight(count, options);
  }
}
