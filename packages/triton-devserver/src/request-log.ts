import type { InferenceRequest, Responder } from './core/inference.js';
import { EmulatedCrash } from './crash.js';
import type { Datatype } from './datatype.js';
import type { ParameterValue } from './model.js';

/** An inference request that a client sent, as it came, and how far it is. */
export interface SeenRequest {
  readonly id: string;
  readonly model: string;
  /** As asked for; '' is the server's choice. */
  readonly version: string;
  /** `region` is the name of the region that an input lies in. */
  readonly inputs: readonly SeenInput[];
  /** Those asked for; none when the request named none. `region` is where an output goes. */
  readonly outputs: readonly { readonly name: string; readonly region?: string }[];
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  /**
   * `running` until its last answer was given, which for one under the fault `silence` is never; `failed` when that was an
   * error; `lost` when the server's process ended first.
   */
  readonly state: 'running' | 'answered' | 'failed' | 'lost';
  /** What a failed one was answered with. */
  readonly error?: string;
  /** Whether its client cancelled it, or went away. */
  readonly cancelled: boolean;
}

export interface SeenInput {
  readonly name: string;
  /** undefined: a name that the protocol does not know. */
  readonly datatype: Datatype | undefined;
  readonly shape: readonly number[];
  readonly region?: string;
}

/** Which requests are waited for. */
export interface InFlightOptions {
  /** Those to this model alone; absent: all. */
  readonly model?: string;
  /** Ends the waiting, which then rejects with its reason. */
  readonly signal?: AbortSignal;
}

interface Waiter {
  readonly count: number;
  readonly model: string | undefined;
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

/** How many requests are remembered. */
const KEPT = 1000;

class Entry {
  readonly model: string;
  /** Without the request's bytes, which are not kept. */
  readonly #came: Omit<SeenRequest, 'state' | 'error' | 'cancelled'>;
  /** Until it has ended: the client of a stream may go away later. */
  #signal: AbortSignal | undefined;
  #cancelled = false;
  #state: SeenRequest['state'] = 'running';
  #error: string | undefined;

  constructor({ id, model, version, inputs, outputs, parameters, signal }: InferenceRequest) {
    this.model = model;
    this.#came = {
      id,
      model,
      version,
      inputs: inputs.map(({ name, datatype, shape, source }) => {
        const region = 'region' in source ? { region: source.region.name } : {};
        return { name, datatype, shape, ...region };
      }),
      outputs: outputs.map(({ name, region }) => (region === undefined ? { name } : { name, region: region.name })),
      parameters,
    };
    this.#signal = signal;
  }

  get seen(): SeenRequest {
    const error = this.#error === undefined ? {} : { error: this.#error };
    return { ...this.#came, state: this.#state, ...error, cancelled: this.#signal?.aborted ?? this.#cancelled };
  }

  end(state: Exclude<SeenRequest['state'], 'running'>, error?: Error): void {
    this.#state = state;
    this.#error = error?.message;
    this.#cancelled = this.#signal?.aborted ?? false;
    this.#signal = undefined;
  }
}

/** The inference requests that came to a server, over its restarts. */
export class RequestLog {
  readonly #seen: Entry[] = [];
  /** Those that run, by the process that has them. */
  readonly #running = new Map<object, Set<Entry>>();
  readonly #waiters = new Set<Waiter>();
  #closed = false;

  /** The last thousand as they are now, the oldest first. */
  list(): readonly SeenRequest[] {
    return this.#seen.map(({ seen }) => seen);
  }

  clear(): void {
    this.#seen.length = 0;
  }

  /** How many have no last answer yet. */
  inFlight(model?: string): number {
    let count = 0;
    for (const entries of this.#running.values()) {
      if (model === undefined) count += entries.size;
      else for (const entry of entries) if (entry.model === model) count += 1;
    }
    return count;
  }

  /** Resolves as soon as so many are in flight; rejects with the signal's reason, or when the server is stopped. */
  async whenInFlight(count: number, { model, signal }: InFlightOptions): Promise<void> {
    signal?.throwIfAborted();
    if (this.#closed) throw stopped();
    if (this.inFlight(model) >= count) return;
    let waiter: Waiter | undefined;
    let stop: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        waiter = { count, model, resolve, reject };
        stop = () => reject(signal?.reason as Error);
        this.#waiters.add(waiter);
        signal?.addEventListener('abort', stop);
      });
    } finally {
      if (waiter !== undefined) this.#waiters.delete(waiter);
      if (stop !== undefined) signal?.removeEventListener('abort', stop);
    }
  }

  /** Runs a request of a process, and watches it. @throws what `run` throws */
  watch(owner: object, request: InferenceRequest, respond: Responder, run: (respond: Responder) => void): void {
    const entry = new Entry(request);
    this.#seen.push(entry);
    if (this.#seen.length > KEPT) this.#seen.shift();
    const running = this.#running.get(owner) ?? new Set<Entry>();
    this.#running.set(owner, running.add(entry));
    for (const waiter of this.#waiters) if (this.inFlight(waiter.model) >= waiter.count) waiter.resolve();
    const end = (error: Error | undefined) => {
      // A process that has ended has lost it already.
      if (running.delete(entry)) entry.end(error === undefined ? 'answered' : 'failed', error);
    };
    try {
      run((response) => {
        if (response.final) end(response.error);
        respond(response);
      });
    } catch (error) {
      // Where the process dies of it, it is lost with the others.
      if (!(error instanceof EmulatedCrash)) end(error as Error);
      throw error;
    }
  }

  /** Ends the waiting: nothing comes any more. */
  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters) waiter.reject(stopped());
  }

  /** What still runs in a process is lost with it. */
  lose(owner: object): void {
    for (const entry of this.#running.get(owner) ?? []) entry.end('lost');
    this.#running.get(owner)?.clear();
    this.#running.delete(owner);
  }
}

const stopped = () => new Error('The server was stopped');
