import { setTimeout as delay } from 'node:timers/promises';
import { status as Status, type StatusObject } from '@grpc/grpc-js';
import { offAbort, onAbort } from '../abort-listeners.js';
import type { TritonError, TritonErrorCode } from '../errors.js';
import type { CheckedRequest } from '../request.js';
import { requestError } from '../request-error.js';
import { ResultQueue } from '../result-queue.js';
import type { CheckedStreamOptions } from '../stream-options.js';
import type { InferStream, Settlement, StreamResult } from '../types/result.js';
import type { Connection } from './connection.js';
import { decodeStreamAnswer } from './decode.js';
import { errorOfEnd } from './lane-errors.js';
import { neverLeft } from './not-sent.js';
import { StreamRequests } from './stream-requests.js';
import { StreamWire } from './stream-wire.js';

/** Results that may wait for the reader before the stream is read no further. */
const MAX_UNREAD = 16;

interface StreamHost {
  readonly connection: Connection;
  /** False when no more streams may be left open for the server's answers alone. */
  mayDetach(): boolean;
  /** Called once, when the stream is over. */
  onEnd(stream: StreamCall): void;
}

/** One stream of its own with any number of requests, for one reader. */
export class StreamCall implements InferStream {
  readonly settled: Promise<Settlement>;
  readonly #host: StreamHost;
  readonly #names: { readonly model: string; readonly id: string; readonly method: string };
  readonly #source: AsyncIterator<CheckedRequest>;
  readonly #options: CheckedStreamOptions;
  readonly #requests: StreamRequests;
  readonly #results = new ResultQueue();
  #settle!: (settlement: Settlement) => void;
  #wire: StreamWire | undefined;
  /** No more results, and nothing more is sent. */
  #stopped = false;
  /** Left open for the server's answers, which nobody reads. */
  #detached = false;
  #halfClosed = false;
  /** Why nothing more is sent, though what was sent is waited for. */
  #leaving: { readonly reason: unknown } | undefined;
  /** Wakes the sender. */
  #wake: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #onSignal = () => this.#stop({ reason: this.#options.signal?.reason }, true);

  constructor(host: StreamHost, model: string, source: AsyncIterator<CheckedRequest>, options: CheckedStreamOptions) {
    this.#host = host;
    this.#names = { model, id: '', method: 'ModelStreamInfer' };
    this.#source = source;
    this.#options = options;
    this.#requests = new StreamRequests(model);
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const { signal, timeoutMs } = options;
    if (timeoutMs !== undefined) {
      const reason = () => this.#error('TRITON_TIMEOUT', `the stream did not end within ${timeoutMs} ms`);
      this.#timer = setTimeout(() => this.#stop({ reason: reason() }, true), timeoutMs);
    }
    if (signal?.aborted === true) queueMicrotask(this.#onSignal);
    else {
      if (signal !== undefined) onAbort(signal, this.#onSignal);
      void this.#run();
    }
  }

  /** False while it waits for a connection. */
  get begun(): boolean {
    return this.#wire !== undefined;
  }

  get detached(): boolean {
    return this.#detached;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<StreamResult, undefined>> {
    const step = this.#results.next();
    if (this.#results.size < MAX_UNREAD) this.#wire?.resume();
    return step;
  }

  async return(): Promise<IteratorResult<StreamResult, undefined>> {
    this.#stop(undefined, true);
    return { done: true, value: undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** Sends nothing more; when all that was sent is answered, the reader gets `reason`. */
  leave(reason: unknown): void {
    this.#leaving ??= { reason };
    this.#wake?.();
    if (this.#requests.outstanding === 0) this.#stop(this.#leaving);
  }

  /** Ends the stream without the answers that are outstanding. */
  cancel(details: string): void {
    this.#stop({ reason: this.#error('TRITON_CANCELLED', details) }, true);
    this.#wire?.cancel(details);
  }

  async #run(): Promise<void> {
    try {
      await this.#connect();
      if (this.#stopped) return;
      const wire = new StreamWire(this.#host.connection, this.#options.headers, {
        onMessage: (message) => this.#onMessage(message),
        onEnd: (status) => this.#onEnd(status),
      });
      this.#wire = wire;
      while (await this.#mayAsk()) {
        const step = await this.#source.next();
        if (this.#stopped || this.#leaving !== undefined) return;
        if (step.done === true) {
          this.#halfClosed = true;
          wire.halfClose();
          return;
        }
        await wire.write(this.#requests.add(step.value));
      }
    } catch (reason) {
      this.#stop({ reason });
    }
  }

  async #connect(): Promise<void> {
    const { attempts, delayMs } = this.#options.retry;
    for (let attempt = 1; !this.#host.connection.ready && !this.#stopped; attempt += 1) {
      try {
        await this.#host.connection.connect();
      } catch (error) {
        if (attempt >= attempts) throw error;
        await delay(delayMs);
      }
    }
  }

  /** Whether another request is to be asked for; waits until it may be sent. */
  async #mayAsk(): Promise<boolean> {
    const full = () => this.#requests.outstanding >= this.#options.maxOutstanding;
    while (full() && !this.#stopped && this.#leaving === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return !this.#stopped && this.#leaving === undefined;
  }

  #onMessage(message: Buffer): boolean {
    let results: StreamResult[];
    try {
      results = this.#requests.accept(decodeStreamAnswer(message, this.#requests.asked));
    } catch (reason) {
      this.#stop({ reason });
      this.#wire?.cancel('an answer cannot be read');
      return true;
    }
    this.#wake?.();
    for (const result of results) {
      if (this.#stopped) break;
      if (result.error !== undefined && this.#options.onError === 'throw') this.#stop({ reason: result.error });
      else this.#results.push(result);
    }
    if (this.#leaving !== undefined && this.#requests.outstanding === 0) this.#stop(this.#leaving);
    return this.#stopped || this.#results.size < MAX_UNREAD;
  }

  #onEnd(status: StatusObject): void {
    const { outstanding, sent } = this.#requests;
    const notSent = this.#wire?.accepted === false && neverLeft(status);
    const complete = status.code === Status.OK && this.#halfClosed && outstanding === 0;
    const { url } = this.#host.connection.address;
    const reason = () => errorOfEnd(this.#names, url, status, notSent);
    this.#stop(complete ? undefined : { reason: reason() });
    if (outstanding === 0) this.#finish(sent === 0 ? 'not-sent' : 'answered');
    else this.#finish(notSent ? 'not-sent' : 'lost');
  }

  /** Nothing more for the reader but what is unread, which `drop` takes away, and then the error. */
  #stop(error: { readonly reason: unknown } | undefined, drop = false): void {
    if (drop) this.#results.clear();
    if (this.#stopped) return;
    this.#stopped = true;
    clearTimeout(this.#timer);
    if (this.#options.signal !== undefined) offAbort(this.#options.signal, this.#onSignal);
    if (error === undefined) this.#results.end();
    else this.#results.fail(error.reason);
    this.#wake?.();
    // Its own failure would come after the end.
    this.#source.return?.().catch(() => {});
    this.#letGo();
  }

  /** What becomes of the call without a reader. */
  #letGo(): void {
    const wire = this.#wire;
    if (wire === undefined) {
      this.#finish('not-sent');
      return;
    }
    if (wire.over) return;
    const { onAbort = this.#requests.namesRegion ? 'detach' : 'cancel', detachLimitMs } = this.#options;
    const nothingOpen = this.#requests.outstanding === 0;
    if (!nothingOpen && (onAbort === 'cancel' || !this.#host.mayDetach())) {
      wire.cancel('the client gave up the stream');
      return;
    }
    this.#detached = true;
    const overdue = () => wire.cancel('the client gave up the stream, and the server did not end it');
    this.#timer = setTimeout(overdue, detachLimitMs).unref();
    if (!this.#halfClosed) wire.halfClose();
    wire.resume();
  }

  #finish(settlement: Settlement): void {
    clearTimeout(this.#timer);
    this.#settle(settlement);
    this.#host.onEnd(this);
  }

  #error(code: TritonErrorCode, details: string): TritonError {
    return requestError(this.#names, code, details);
  }
}
