import { offAbort, onAbort } from '../abort-listeners.js';
import { TritonError } from '../errors.js';
import type { CheckedRequest } from '../request.js';
import { requestError } from '../request-error.js';
import { ResultQueue } from '../result-queue.js';
import { resolveRetry } from '../retry.js';
import { type CheckedStreamOptions, checkStreamOptions } from '../stream-options.js';
import { StreamAnswerResult } from '../stream-result.js';
import type { SubmitOptions } from '../transport.js';
import type { StreamOptions } from '../types/request.js';
import type { InferCall, InferResult, InferStream, Settlement, StreamResult } from '../types/result.js';

/** Results that may wait for the reader before no more requests are sent. */
const MAX_UNREAD = 16;
const LEFT = new Error('The reader left the stream');

/**
 * A stream of requests over a transport without streams: one call after the other, in order, so that sequences hold
 * together. Decoupled models refuse it.
 */
export class CallStream implements InferStream {
  readonly settled: Promise<Settlement>;
  readonly #model: string;
  readonly #source: AsyncIterator<CheckedRequest>;
  readonly #options: CheckedStreamOptions;
  readonly #call: SubmitOptions;
  readonly #submit: (request: CheckedRequest, options: SubmitOptions) => InferCall;
  readonly #results = new ResultQueue();
  /** Ends the call under way, if its caller may. */
  readonly #stop = new AbortController();
  /** Nothing more is asked of the source, and nothing more is sent; what was sent is waited for. */
  readonly #leave = new AbortController();
  readonly #settlements = new Set<Settlement>();
  #wake: (() => void) | undefined;

  /**
   * @param onEnd - called once, when the stream is settled
   * @throws TypeError or RangeError for wrong options
   */
  constructor(
    model: string,
    source: AsyncIterator<CheckedRequest>,
    options: StreamOptions & SubmitOptions,
    submit: (request: CheckedRequest, options: SubmitOptions) => InferCall,
    onEnd: () => void,
  ) {
    this.#options = checkStreamOptions(options, resolveRetry({}));
    this.#model = model;
    this.#source = source;
    const { timeoutMs: _whole, signal, ...call } = options;
    this.#call = call;
    this.#submit = submit;
    this.settled = this.#run(signal).finally(onEnd);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<StreamResult, undefined>> {
    const step = this.#results.next();
    this.#wake?.();
    return step;
  }

  async return(): Promise<IteratorResult<StreamResult, undefined>> {
    this.#stop.abort(LEFT);
    return { done: true, value: undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** Sends nothing more; when all that was sent is answered, the reader gets `reason`. */
  leave(reason: unknown): void {
    this.#leave.abort(reason);
  }

  /** Never rejects. */
  async #run(signal: AbortSignal | undefined): Promise<Settlement> {
    const { timeoutMs } = this.#options;
    const onSignal = () => this.#stop.abort(signal?.reason);
    if (signal?.aborted === true) onSignal();
    else if (signal !== undefined) onAbort(signal, onSignal);
    const late = () => this.#stop.abort(this.#timeout(timeoutMs));
    const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
    // The reader hears of it at once; a call under way may be waited for still.
    const onStop = () => {
      this.#end(this.#stop.signal.reason);
      this.leave(this.#stop.signal.reason);
    };
    this.#stop.signal.addEventListener('abort', onStop, { once: true });
    if (this.#stop.signal.aborted) onStop();
    try {
      await this.#sendAll();
      if (this.#leave.signal.aborted) this.#end(this.#leave.signal.reason);
      else this.#results.end();
    } catch (error) {
      this.#end(error);
    } finally {
      clearTimeout(timer);
      if (signal !== undefined) offAbort(signal, onSignal);
      // A source that waits for what never comes does not hold the stream.
      void Promise.resolve(this.#source.return?.()).catch(() => {});
    }
    return this.#settlements.has('lost') ? 'lost' : this.#settlements.has('answered') ? 'answered' : 'not-sent';
  }

  async #sendAll(): Promise<void> {
    for (let index = 0; ; index += 1) {
      await this.#room();
      const step = await this.#unlessLeft(() => this.#source.next());
      if (step === undefined || step.done === true) return;
      const call = this.#submit(step.value, { ...this.#call, signal: this.#stop.signal });
      try {
        this.#results.push(new StreamAnswerResult(index, true, await call));
      } catch (error) {
        const isYielded = this.#options.onError === 'yield' && error instanceof TritonError;
        if (!isYielded || this.#stop.signal.aborted) throw error;
        this.#results.push(new StreamAnswerResult(index, true, failedResult(step.value), error));
      } finally {
        this.#settlements.add(await call.settled);
      }
    }
  }

  async #room(): Promise<void> {
    const read = () =>
      new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    while (this.#results.size >= MAX_UNREAD && !this.#leave.signal.aborted) await this.#unlessLeft(read);
  }

  /** Undefined when the stream was left first; `begin` is called only before. */
  async #unlessLeft<T>(begin: () => Promise<T>): Promise<T | undefined> {
    const { signal } = this.#leave;
    if (signal.aborted) return undefined;
    let onLeave: (() => void) | undefined;
    const left = new Promise<undefined>((resolve) => {
      onLeave = () => resolve(undefined);
      signal.addEventListener('abort', onLeave, { once: true });
    });
    try {
      return await Promise.race([begin(), left]);
    } finally {
      if (onLeave !== undefined) signal.removeEventListener('abort', onLeave);
    }
  }

  #end(reason: unknown): void {
    if (reason === LEFT) {
      this.#results.clear();
      this.#results.end();
    } else this.#results.fail(reason);
  }

  #timeout(timeoutMs: number | undefined): TritonError {
    const names = { model: this.#model, id: '' };
    return requestError(names, 'TRITON_TIMEOUT', `the stream did not end within ${timeoutMs} ms`);
  }
}

/** What stands behind an error: the request's own names. */
function failedResult({ model, version, id }: CheckedRequest): InferResult {
  const outputs: [] = [];
  const output = () => {
    throw new RangeError('A failed request has no outputs');
  };
  return { model, version, id, parameters: {}, outputs, output };
}
