import { abortSignal, integer, milliseconds, typeError } from './check.js';
import type { EncodedRequest } from './encode.js';
import { TritonError } from './errors.js';
import type { FifoEntry } from './fifo.js';
import type { Lane } from './lane.js';
import type { CallOptions, InferCall, InferResult, Settlement } from './types.js';

const DEFAULT_DETACH_LIMIT_MS = 60_000;

/**
 * One request from `infer()` until the server is done with it. The caller's promise and `settled` are two things: a
 * caller that stops waiting does not free the memory that the request names.
 */
export class PendingRequest implements FifoEntry<PendingRequest> {
  readonly encoded: EncodedRequest;
  readonly onAbort: 'detach' | 'cancel';
  readonly detachLimitMs: number;
  readonly call: InferCall;
  /** Set while the request is on its way. */
  lane: Lane | undefined;
  /** Cancels a detached request that stays open too long. */
  detachTimer: NodeJS.Timeout | undefined;
  next: PendingRequest | undefined;
  previous: PendingRequest | undefined;
  #resolve!: (result: InferResult) => void;
  #reject!: (reason: unknown) => void;
  #settle!: (settlement: Settlement) => void;
  #timer: NodeJS.Timeout | undefined;
  #signal: AbortSignal | undefined;
  #onSignal: (() => void) | undefined;

  /** @throws TypeError or RangeError for wrong options */
  constructor(encoded: EncodedRequest, options: CallOptions | undefined) {
    this.encoded = encoded;
    this.onAbort = options?.onAbort ?? (encoded.namesRegion ? 'detach' : 'cancel');
    if (this.onAbort !== 'detach' && this.onAbort !== 'cancel') {
      throw typeError("'detach' or 'cancel'", 'onAbort', this.onAbort);
    }
    this.detachLimitMs =
      options?.detachLimitMs === undefined
        ? DEFAULT_DETACH_LIMIT_MS
        : milliseconds(options.detachLimitMs, 'detachLimitMs');
    if (options?.timeoutMs !== undefined) integer(milliseconds(options.timeoutMs, 'timeoutMs'), 'timeoutMs', 1);
    if (options?.signal !== undefined) abortSignal(options.signal, 'signal');
    const answer = new Promise<InferResult>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const settled = new Promise<Settlement>((resolve) => {
      this.#settle = resolve;
    });
    this.call = Object.assign(answer, { settled });
  }

  /** Calls `stop` once, with the reason, when the caller's patience or its signal ends. */
  watch(options: CallOptions, stop: (reason: unknown) => void): void {
    const { signal, timeoutMs } = options;
    if (timeoutMs !== undefined) {
      this.#timer = setTimeout(() => stop(this.#timeout(timeoutMs)), timeoutMs);
    }
    if (signal !== undefined) {
      this.#signal = signal;
      this.#onSignal = () => stop(signal.reason);
      signal.addEventListener('abort', this.#onSignal, { once: true });
    }
  }

  resolve(result: InferResult): void {
    this.#unwatch();
    this.#resolve(result);
  }

  /** Does nothing when the caller has its answer or its error already. */
  reject(reason: unknown): void {
    this.#unwatch();
    this.#reject(reason);
  }

  settle(settlement: Settlement): void {
    if (this.detachTimer !== undefined) clearTimeout(this.detachTimer);
    this.#settle(settlement);
  }

  #unwatch(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    if (this.#onSignal !== undefined) this.#signal?.removeEventListener('abort', this.#onSignal);
    this.#timer = undefined;
    this.#onSignal = undefined;
  }

  #timeout(timeoutMs: number): TritonError {
    const details = `No answer to ModelInfer of '${this.encoded.model}' within ${timeoutMs} ms`;
    return new TritonError(details, {
      code: 'TRITON_TIMEOUT',
      method: 'ModelInfer',
      details,
      model: this.encoded.model,
      requestId: this.encoded.id === '' ? undefined : this.encoded.id,
    });
  }
}
