import { constants } from 'node:os';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface InterruptOptions {
  /** Told of the first signal, at once. */
  readonly onFirst: (name: string) => void;
  /** How long closing may take after it, in milliseconds. */
  readonly limitMs: number;
  /** Told when it took longer, just before the end. */
  readonly onLate: () => void;
}

/**
 * Turns the first SIGINT, SIGTERM or SIGHUP into an aborted `signal`, so that everything is closed in order; the
 * second, or a closing that takes longer than the limit, ends the process at once.
 */
export class Interrupt implements Disposable {
  readonly #controller = new AbortController();
  readonly #options: InterruptOptions;
  #received: (typeof signals)[number] | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: InterruptOptions) {
    this.#options = options;
    for (const name of signals) process.on(name, this.#onSignal);
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** 128 + the number of the signal that came; undefined while none has. */
  get exitCode(): number | undefined {
    return this.#received === undefined ? undefined : 128 + constants.signals[this.#received];
  }

  /** Gives the signals their default meaning back. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const name of signals) process.off(name, this.#onSignal);
  }

  /**
   * By the signal itself: `process.exit` waits for the thread pool, where an operation on a file may never come back.
   */
  #end(name: NodeJS.Signals): void {
    const code = this.exitCode as number;
    process.emit('exit', code);
    this[Symbol.dispose]();
    process.kill(process.pid, name);
    // Only process 1 of a container is still here: no signal has a default meaning for it.
    process.exit(code);
  }

  readonly #onSignal = (name: NodeJS.Signals): void => {
    if (this.#received !== undefined) this.#end(name);
    this.#received = name as (typeof signals)[number];
    this.#options.onFirst(name);
    this.#timer = setTimeout(() => {
      this.#options.onLate();
      this.#end(name);
    }, this.#options.limitMs);
    this.#controller.abort(new Error(`Interrupted by ${name}`));
  };
}
