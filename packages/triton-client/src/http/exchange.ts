import type { Dispatcher } from 'undici';
import { type HttpResponse, ResponseBody, type ResponseHeaders } from './response.js';

/** A request as it is written to a connection. */
export interface WireRequest {
  readonly method: 'GET' | 'POST';
  /** With the address's base path. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, written piece by piece without being copied. */
  readonly chunks: readonly Uint8Array[];
  readonly byteLength: number;
}

/** Why there is no answer. */
export class HttpFailure extends Error {
  /** False: the request provably never left. */
  readonly sent: boolean;

  constructor(sent: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.sent = sent;
  }

  static {
    Object.defineProperty(HttpFailure.prototype, 'name', { value: 'HttpFailure' });
  }
}

/** Takes the body of an answer with status 200 as it comes, instead of `HttpResponse.body`. */
export type ChunkSink = (chunk: Buffer) => void;

/** One request and its answer. undici calls its `on…` methods. */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Rejects with HttpFailure. */
  readonly answer: Promise<HttpResponse>;
  readonly #sink: ChunkSink | undefined;
  readonly #onSent: (() => void) | undefined;
  #resolve!: (response: HttpResponse) => void;
  #reject!: (failure: HttpFailure) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #aborted: Error | undefined;
  #sent = false;
  #unwanted = false;
  #status = 0;
  #headers: ResponseHeaders = {};
  #body: ResponseBody | undefined;

  /** @param onSent - called when the request begins to leave */
  constructor(sink?: ChunkSink, onSent?: () => void) {
    this.#sink = sink;
    this.#onSent = onSent;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** True from the moment that the request may have begun to leave. */
  get sent(): boolean {
    return this.#sent;
  }

  get aborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** Ends the exchange, and its connection when the request is on it; `answer` rejects with `reason`. */
  abort(reason: Error): void {
    this.#aborted ??= reason;
    this.#controller?.abort(reason);
    if (!this.#sent) this.fail(reason);
  }

  /** The answer is awaited as a sign only: the tensors it holds are not kept. */
  dropBody(): void {
    this.#unwanted = true;
    if (this.#status === 200) this.#body = undefined;
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  fail(reason: unknown): void {
    this.#reject(new HttpFailure(this.#sent, reason));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Aborted before anything is written.
    if (this.#aborted !== undefined) {
      controller.abort(this.#aborted);
      return;
    }
    this.#controller = controller;
    this.#sent = true;
    this.#onSent?.();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    // Not the answer yet.
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (!this.#unwanted || status !== 200) this.#body = new ResponseBody(headers);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#sink !== undefined && this.#status === 200) this.#sink(chunk);
    else this.#body?.write(chunk);
  }

  onResponseEnd(): void {
    const body = this.#body;
    const streamed = this.#sink !== undefined && this.#status === 200;
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: body === undefined || streamed ? Buffer.alloc(0) : body.finish(),
      jsonByteLength: body?.jsonByteLength,
    });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }
}
