import { Drain } from '../drain.js';
import { DisposedError } from '../errors.js';
import { Fifo } from '../fifo.js';
import { addPayloads, NO_PAYLOAD, Payload } from '../payload.js';
import { finish, RequestEnds } from '../request-ends.js';
import { requestError } from '../request-error.js';
import type { RequestRecorder } from '../request-recorder.js';
import type { RetryPolicy } from '../retry.js';
import type { TransportStats } from '../stats.js';
import type { SubmitOptions } from '../transport.js';
import type { InferCall } from '../types/result.js';
import { decompressResponse } from './compression.js';
import type { HttpConnection } from './connection.js';
import { decodeHttpAnswer } from './decode.js';
import type { EncodedHttpRequest } from './encode.js';
import { errorOfFailure, errorOfResponse, type HttpCallNames, isTritons } from './errors.js';
import { HttpFailure } from './exchange.js';
import { HttpRequest } from './http-request.js';
import type { HttpResponse } from './response.js';

interface RequestPoolOptions {
  readonly lanes: number;
  readonly maxDetached: number;
  readonly retry: RetryPolicy;
}

/**
 * The inference requests of one connection: at most `lanes` at once that somebody waits for, others queue. The rules of
 * lanes hold: one request to a connection, and one whose caller has gone stays open until the server answers, since
 * nothing else proves that its memory is free. Closing a connection ends nothing in the server.
 */
export class HttpRequestPool {
  readonly #connection: HttpConnection;
  readonly #options: RequestPoolOptions;
  readonly #recorder: RequestRecorder;
  readonly #queue = new Fifo<HttpRequest>();
  readonly #busy = new Set<HttpRequest>();
  readonly #detached = new Set<HttpRequest>();
  readonly #ends: RequestEnds<HttpRequest>;
  readonly #payload = new Payload();
  #closing: Promise<void> | undefined;
  readonly #drain = new Drain(
    () => this.#queue.size + this.#ends.waiting + this.#busy.size + this.#detached.size === 0,
  );

  constructor(connection: HttpConnection, options: RequestPoolOptions, recorder: RequestRecorder) {
    this.#connection = connection;
    this.#options = options;
    this.#recorder = recorder;
    this.#ends = new RequestEnds(
      (request) => {
        this.#queue.push(request);
        this.#pump();
      },
      () => this.#drain.check(),
    );
  }

  get stats(): Omit<TransportStats, 'streams'> {
    const busy = this.#busy.size;
    const detached = this.#detached.size;
    const idle = Math.max(0, this.#connection.open - busy - detached);
    return {
      queued: this.#queue.size + this.#ends.waiting,
      retried: this.#ends.retried,
      lanesOpened: this.#connection.made,
      lanes: { open: idle + busy, idle, busy, detached },
      unary: { headers: 0, compression: 0, trace: 0, forbidden: 0 },
      streamsForbidden: undefined,
      bytes: { grpc: NO_PAYLOAD, http: addPayloads(this.#payload, NO_PAYLOAD) },
    };
  }

  /** @throws TypeError or RangeError for wrong options */
  submit(encoded: EncodedHttpRequest, options: SubmitOptions | undefined): InferCall {
    const request = new HttpRequest(encoded, options, this.#options.retry);
    if (this.#closing !== undefined) {
      finish(request, new DisposedError('The TritonClient'), 'not-sent');
    } else if (options?.signal?.aborted === true) {
      finish(request, options.signal.reason, 'not-sent');
    } else if (encoded.refusal !== undefined) {
      finish(request, encoded.refusal, 'not-sent');
    } else {
      request.start(this.#recorder);
      if (options !== undefined) request.watch(options, (reason) => this.#stop(request, reason));
      this.#queue.push(request);
      this.#pump();
    }
    return request.call;
  }

  /** Takes no new requests; waits for those that were taken, at most `timeoutMs`, and then gives them up. */
  close(timeoutMs: number): Promise<void> {
    if (this.#closing === undefined) {
      this.#ends.close();
      this.#closing = this.#drain.wait(timeoutMs, (details) => this.#cancelAll(details));
    }
    return this.#closing;
  }

  #cancelAll(details: string): void {
    for (const request of [...this.#ends.takeWaiting(), ...this.#queue.takeAll()]) {
      finish(request, new DisposedError('The TritonClient'), 'not-sent');
    }
    for (const request of [...this.#busy, ...this.#detached]) {
      this.#giveUp(request, requestError(request.encoded, 'TRITON_CANCELLED', details));
    }
  }

  #pump(): void {
    while (this.#busy.size < this.#options.lanes) {
      const request = this.#queue.shift();
      if (request === undefined) return;
      this.#start(request);
    }
  }

  #start(request: HttpRequest): void {
    const { path, chunks, byteLength, jsonByteLength } = request.encoded;
    const exchange = this.#connection.send({
      method: 'POST',
      path,
      chunks,
      ...request.sending,
      ownHeaders: {
        'content-type': 'application/octet-stream',
        'inference-header-content-length': String(jsonByteLength),
      },
      onSent: () => {
        this.#payload.sent += byteLength;
      },
    });
    request.carrier = exchange;
    request.attemptsLeft -= 1;
    this.#busy.add(request);
    exchange.answer
      .then((response) => this.#answered(request, response))
      .catch((error: unknown) => this.#failed(request, error));
  }

  /** @throws what makes the answer unreadable */
  async #answered(request: HttpRequest, response: HttpResponse): Promise<void> {
    if (response.status !== 200) {
      this.#payload.received += response.body.byteLength;
      const error = errorOfResponse(response, this.#connection.address, namesOf(request));
      this.#over(request, (wanted) => {
        if (isTritons(response)) this.#ends.refused(request, error, wanted);
        // Of what a proxy answers nobody knows whether the server is done, or has begun.
        else this.#ends.lose(request, error);
      });
    } else if (this.#detached.has(request)) {
      this.#over(request, () => request.settle('answered'));
    } else {
      const { body, jsonByteLength } = await decompressResponse(response);
      this.#payload.received += body.byteLength;
      const result = decodeHttpAnswer(body, jsonByteLength, request.encoded.outputs);
      this.#over(request, () => {
        request.resolve(result);
        request.settle('answered');
      });
    }
  }

  #failed(request: HttpRequest, reason: unknown): void {
    const failure = reason instanceof HttpFailure ? reason : new HttpFailure(true, reason);
    const error = errorOfFailure(failure, this.#connection.address, namesOf(request));
    this.#over(request, (wanted) => {
      if (failure.sent) this.#ends.lose(request, error);
      else this.#ends.notSent(request, error, wanted);
    });
  }

  /** The caller has gone: by time, by signal. */
  #stop(request: HttpRequest, reason: unknown): void {
    const exchange = request.carrier;
    if (exchange === undefined) {
      if (!this.#ends.stopWaiting(request)) this.#queue.remove(request);
      finish(request, reason, 'not-sent');
      this.#drain.check();
    } else if (!exchange.sent || request.onAbort === 'cancel' || this.#detached.size >= this.#options.maxDetached) {
      this.#giveUp(request, reason);
    } else {
      this.#busy.delete(request);
      this.#detached.add(request);
      request.reject(reason);
      exchange.dropBody();
      request.detachTimer = setTimeout(() => this.#giveUp(request, reason), request.detachLimitMs).unref();
      this.#pump();
    }
  }

  /** Ends a request on its way: there will be no answer that could be trusted. */
  #giveUp(request: HttpRequest, reason: unknown): void {
    const exchange = request.carrier;
    const sent = exchange?.sent === true;
    this.#over(request, () => finish(request, reason, sent ? 'lost' : 'not-sent'));
    exchange?.abort(new Error('the client gave up the request'));
  }

  /** Does nothing when the request was over already; `end` is told whether somebody waits for it. */
  #over(request: HttpRequest, end: (wanted: boolean) => void): void {
    const wanted = this.#busy.delete(request);
    if (!wanted && !this.#detached.delete(request)) return;
    end(wanted);
    this.#pump();
    this.#drain.check();
  }
}

function namesOf({ encoded: { model, id } }: HttpRequest): HttpCallNames {
  return { method: 'ModelInfer', model, requestId: id === '' ? undefined : id };
}
