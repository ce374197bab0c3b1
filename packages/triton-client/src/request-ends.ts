import type { TritonError } from './errors.js';
import { Postponed } from './postponed.js';
import type { RetryPolicy } from './retry.js';
import type { Settlement } from './types/result.js';

/** A request that may be sent again. */
interface RetriedRequest {
  readonly retry: RetryPolicy;
  /** How often it may still be sent. */
  attemptsLeft: number;
  /** What it travels on. */
  carrier: unknown;
  reject(reason: unknown): void;
  settle(settlement: Settlement): void;
}

/** The ways in which a request ends without an answer to give, or is sent once more. */
export class RequestEnds<Request extends RetriedRequest> {
  /** Sends a request once more. */
  protected readonly again: (request: Request) => void;
  readonly #onEnd: () => void;
  readonly #postponed = new Postponed<Request>();
  #retries = true;
  /** How often a request was sent again. */
  retried = 0;

  /**
   * @param again - sends a request once more
   * @param onEnd - a request that waited to be sent again has ended
   */
  constructor(again: (request: Request) => void, onEnd: () => void) {
    this.again = again;
    this.#onEnd = onEnd;
  }

  /** Requests that wait to be sent again. */
  get waiting(): number {
    return this.#postponed.size;
  }

  /** From now on none is sent again that does not wait for it already. */
  close(): void {
    this.#retries = false;
  }

  /** Those that wait to be sent again, which then wait no more. */
  takeWaiting(): Request[] {
    return this.#postponed.takeAll();
  }

  /** Ends the wait of a request; false when it does not wait here. */
  stopWaiting(request: Request): boolean {
    return this.#postponed.remove(request);
  }

  lose(request: Request, reason: unknown): void {
    finish(request, reason, 'lost');
  }

  /** It is proven that the request did not leave. */
  notSent(request: Request, error: unknown, wanted = true): void {
    if (!this.#mayRetry(request, wanted)) {
      finish(request, error, 'not-sent');
      return;
    }
    this.#postponed.wait(request, request.retry.delayMs, () => this.#retry(request));
  }

  /** The server's own word is an error. One that an unknown region caused may be mended. */
  refused(request: Request, error: TritonError, wanted: boolean): void {
    const region = error.code === 'TRITON_NOT_FOUND' && error.didNotRun === true ? error.region : undefined;
    const { onUnknownRegion } = request.retry;
    if (region === undefined || onUnknownRegion === undefined || !this.#mayRetry(request, wanted)) {
      finish(request, error, 'answered');
      return;
    }
    this.#postponed.mend(request, onUnknownRegion, region, (mended, reason) => {
      if (mended) {
        this.#retry(request);
        return;
      }
      if (reason !== undefined) error.cause = reason;
      finish(request, error, 'answered');
      this.#onEnd();
    });
  }

  /** Nobody waits for a detached request. */
  #mayRetry(request: Request, wanted: boolean): boolean {
    if (!wanted || request.attemptsLeft === 0 || !this.#retries) return false;
    request.carrier = undefined;
    return true;
  }

  #retry(request: Request): void {
    this.retried += 1;
    this.again(request);
  }
}

/** Both of a request's promises. */
export function finish(request: RetriedRequest, reason: unknown, settlement: Settlement): void {
  request.reject(reason);
  request.settle(settlement);
}
