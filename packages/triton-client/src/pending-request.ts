import { offAbort, onAbort } from './abort-listeners.js';
import { abortSignal, integer, milliseconds, object, typeError } from './check.js';
import type { RequestMessage } from './diagnostics.js';
import { TritonError } from './errors.js';
import type { FifoEntry } from './fifo.js';
import type { RequestNames } from './request.js';
import type { RequestRecorder } from './request-recorder.js';
import type { CallOptions } from './types/request.js';
import type { InferCall, InferResult, Settlement } from './types/result.js';

const DEFAULT_DETACH_LIMIT_MS = 60_000;

/** @throws TypeError or RangeError for wrong options */
export function checkCallOptions(options: CallOptions): void {
  const { onAbort, detachLimitMs, timeoutMs, signal } = object(options, 'options');
  if (onAbort !== undefined && onAbort !== 'detach' && onAbort !== 'cancel') {
    throw typeError("'detach' or 'cancel'", 'onAbort', onAbort);
  }
  if (detachLimitMs !== undefined) milliseconds(detachLimitMs, 'detachLimitMs');
  if (timeoutMs !== undefined) integer(milliseconds(timeoutMs, 'timeoutMs'), 'timeoutMs', 1);
  if (signal !== undefined) abortSignal(signal, 'signal');
}

/** What both transports' encoded requests tell. */
interface Encoded extends RequestNames {
  readonly namesRegion: boolean;
}

/**
 * One request from `infer()` until the server is done with it; `Carrier` is what it travels on. The caller's promise and
 * `settled` are two things: a caller that stops waiting does not free the memory that the request names.
 */
export class PendingRequest<Message extends Encoded, Carrier> implements FifoEntry<PendingRequest<Message, Carrier>> {
  readonly encoded: Message;
  readonly onAbort: 'detach' | 'cancel';
  readonly detachLimitMs: number;
  readonly call: InferCall;
  /** Set while the request is on its way. */
  carrier: Carrier | undefined;
  /** Cancels a detached request that stays open too long. */
  detachTimer: NodeJS.Timeout | undefined;
  next: PendingRequest<Message, Carrier> | undefined;
  previous: PendingRequest<Message, Carrier> | undefined;
  #resolve!: (result: InferResult) => void;
  #reject!: (reason: unknown) => void;
  #settle!: (settlement: Settlement) => void;
  readonly #signal: AbortSignal | undefined;
  /** Undefined for a request that was not taken. */
  #recorder: RequestRecorder | undefined;
  #startedAt = 0;
  #message: RequestMessage | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The caller has its answer or its error. */
  #done = false;
  #onSignal: (() => void) | undefined;

  /** @throws TypeError or RangeError for wrong options */
  constructor(encoded: Message, options: CallOptions | undefined) {
    this.encoded = encoded;
    if (options !== undefined) checkCallOptions(options);
    this.onAbort = options?.onAbort ?? (encoded.namesRegion ? 'detach' : 'cancel');
    this.detachLimitMs = options?.detachLimitMs ?? DEFAULT_DETACH_LIMIT_MS;
    this.#signal = options?.signal;
    const answer = new Promise<InferResult>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const settled = new Promise<Settlement>((resolve) => {
      this.#settle = resolve;
    });
    this.call = Object.assign(answer, { settled });
  }

  /** The request is taken: from here on it counts. */
  start(recorder: RequestRecorder): void {
    this.#recorder = recorder;
    this.#startedAt = performance.now();
    this.#message = recorder.start(this.encoded);
  }

  /** Calls `stop` once, with the reason, when the caller's patience or its signal ends. */
  watch(options: CallOptions, stop: (reason: unknown) => void): void {
    const { signal, timeoutMs } = options;
    if (timeoutMs !== undefined) {
      this.#timer = setTimeout(() => stop(this.#timeout(timeoutMs)), timeoutMs);
    }
    if (signal !== undefined) {
      this.#onSignal = () => stop(signal.reason);
      onAbort(signal, this.#onSignal);
    }
  }

  resolve(result: InferResult): void {
    this.#unwatch();
    if (!this.#done) this.#recorder?.succeed(this.#startedAt, result, this.#message);
    this.#done = true;
    this.#resolve(result);
  }

  /** Does nothing when the caller has its answer or its error already. */
  reject(reason: unknown): void {
    if (this.#done) return;
    this.#done = true;
    this.#unwatch();
    const aborted = this.#signal?.aborted === true && reason === this.#signal.reason;
    this.#recorder?.fail(this.#startedAt, reason, aborted, this.#message);
    this.#reject(reason);
  }

  settle(settlement: Settlement): void {
    if (this.detachTimer !== undefined) clearTimeout(this.detachTimer);
    this.#recorder?.settle(settlement);
    this.#settle(settlement);
  }

  /** True where it is known that nothing of the request can have left. */
  protected get unsent(): boolean {
    return false;
  }

  #unwatch(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    if (this.#onSignal !== undefined && this.#signal !== undefined) offAbort(this.#signal, this.#onSignal);
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
      didNotRun: this.unsent || undefined,
    });
  }
}

/** The call of a request that is not sent. */
export function refusedCall(reason: Error): InferCall {
  const settled: Promise<Settlement> = Promise.resolve('not-sent');
  return Object.assign(Promise.reject<InferResult>(reason), { settled });
}
