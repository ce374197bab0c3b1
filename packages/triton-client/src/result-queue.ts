import type { StreamResult } from './types/result.js';

interface Reader {
  resolve(step: IteratorResult<StreamResult, undefined>): void;
  reject(reason: unknown): void;
}

const DONE: IteratorResult<StreamResult, undefined> = Object.freeze({ done: true, value: undefined });

/** Results between a stream and its reader, and the end of them: said once, as an error or as "done" for ever. */
export class ResultQueue {
  readonly #results: StreamResult[] = [];
  readonly #readers: Reader[] = [];
  #ended = false;
  #error: { readonly reason: Error } | undefined;

  /** Results that nobody has read yet. */
  get size(): number {
    return this.#results.length;
  }

  get ended(): boolean {
    return this.#ended;
  }

  push(result: StreamResult): void {
    const reader = this.#readers.shift();
    if (reader === undefined) this.#results.push(result);
    else reader.resolve({ done: false, value: result });
  }

  next(): Promise<IteratorResult<StreamResult, undefined>> {
    const value = this.#results.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) return Promise.reject(error.reason);
    if (this.#ended) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
  }

  /** No more results; those unread can still be read. */
  end(): void {
    this.#ended = true;
    for (const reader of this.#readers.splice(0)) reader.resolve(DONE);
  }

  /** As `end`, and the reader gets an error after what is unread. */
  fail(reason: unknown): void {
    if (this.#ended) return;
    const reader = this.#readers.shift();
    if (reader === undefined) this.#error = { reason: reason as Error };
    else reader.reject(reason);
    this.end();
  }

  /** Drops what is unread. */
  clear(): void {
    this.#results.length = 0;
  }
}
