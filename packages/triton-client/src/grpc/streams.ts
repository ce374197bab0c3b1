import { Drain } from '../drain.js';
import { DisposedError, TritonError } from '../errors.js';
import type { CheckedRequest } from '../request.js';
import type { CheckedStreamOptions } from '../stream-options.js';
import type { InferStream } from '../types/result.js';
import type { Connection } from './connection.js';
import { StreamCall } from './stream-call.js';

export interface StreamStats {
  readonly opened: number;
  /** Those that are not over, detached ones too. */
  readonly open: number;
}

/** The streams of a client that were asked for as such. */
export class Streams {
  readonly #maxDetached: number;
  readonly #streams = new Set<StreamCall>();
  #opened = 0;
  #closing = false;
  readonly #drain = new Drain(() => this.#streams.size === 0);

  constructor(maxDetached: number) {
    this.#maxDetached = maxDetached;
  }

  get stats(): StreamStats {
    return { opened: this.#opened, open: this.#streams.size };
  }

  /** @throws DisposedError after `close()` */
  open(
    connection: Connection,
    model: string,
    source: AsyncIterator<CheckedRequest>,
    options: CheckedStreamOptions,
  ): InferStream {
    if (this.#closing) throw new DisposedError('The TritonClient');
    const stream = new StreamCall(
      {
        connection,
        mayDetach: () => [...this.#streams].filter(({ detached }) => detached).length < this.#maxDetached,
        onEnd: (ended) => {
          this.#streams.delete(ended);
          this.#drain.check();
        },
      },
      model,
      source,
      options,
    );
    this.#opened += 1;
    this.#streams.add(stream);
    return stream;
  }

  /** The connection ends: a stream without requests under way would keep the server from exiting. */
  onDown(url: string): void {
    const details = 'the server ends the connection; the stream was ended when all that was sent was answered';
    const fields = { code: 'TRITON_UNAVAILABLE', method: 'ModelStreamInfer', details } as const;
    for (const stream of this.#streams) {
      if (stream.begun) stream.leave(new TritonError(`Triton at ${url}: ${details}`, fields));
    }
  }

  /** Sends nothing more, waits for the answers at most `timeoutMs`, and cancels the rest. */
  async close(timeoutMs: number): Promise<void> {
    this.#closing = true;
    for (const stream of this.#streams) stream.leave(new DisposedError('The TritonClient'));
    await this.#drain.wait(timeoutMs, (details) => {
      for (const stream of this.#streams) stream.cancel(details);
    });
  }
}
