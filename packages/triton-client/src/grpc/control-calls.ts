import { offAbort, onAbort } from '../abort-listeners.js';
import type { ControlCall } from '../control.js';
import { Drain } from '../drain.js';
import { callError } from '../request-error.js';
import type { Connection, UnaryMethod } from './connection.js';

/** What a call is about. */
interface Subject {
  readonly model: string | undefined;
  readonly region: string | undefined;
}

interface Running extends Subject {
  readonly method: string;
  readonly ending: AbortController;
}

/** The control calls under way on one connection. */
export class ControlCalls {
  readonly #connection: Connection;
  readonly #running = new Set<Running>();
  readonly #drain = new Drain(() => this.#running.size === 0);

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** @throws TritonError, or the signal's reason */
  async unary<Request, Response>(
    name: string,
    method: UnaryMethod<Request, Response>,
    request: Request,
    call: ControlCall,
    of: Subject,
  ): Promise<Response> {
    const { signal } = call;
    signal?.throwIfAborted();
    const ending = new AbortController();
    const onSignal = () => ending.abort(signal?.reason);
    if (signal !== undefined) onAbort(signal, onSignal);
    const running = { ...of, method: name, ending };
    this.#running.add(running);
    try {
      return await this.#connection.unary(name, method, request, { ...call, signal: ending.signal }, of);
    } finally {
      if (signal !== undefined) offAbort(signal, onSignal);
      this.#running.delete(running);
      this.#drain.check();
    }
  }

  /** Waits for those under way at most `timeoutMs`, and then cancels them. */
  close(timeoutMs: number): Promise<void> {
    return this.#drain.wait(timeoutMs, (details) => {
      for (const { ending, ...names } of this.#running) {
        ending.abort(callError(names, 'TRITON_CANCELLED', details));
      }
    });
  }
}
