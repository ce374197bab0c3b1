/** Those who want to hear of one signal, by one listener on it. */
class AbortListeners {
  readonly #signal: AbortSignal;
  readonly #listeners = new Set<() => void>();
  readonly #onAbort = () => {
    const all = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of all) listener();
  };

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(listener: () => void): void {
    if (this.#listeners.size === 0) this.#signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#listeners.add(listener);
  }

  remove(listener: () => void): void {
    if (!this.#listeners.delete(listener)) return;
    if (this.#listeners.size === 0) this.#signal.removeEventListener('abort', this.#onAbort);
  }
}

const LISTENERS = new WeakMap<AbortSignal, AbortListeners>();

/**
 * Calls `listener` once, when `signal` aborts. Any number of calls may share a signal: from the eleventh listener on
 * Node warns of a leak.
 */
export function onAbort(signal: AbortSignal, listener: () => void): void {
  let listeners = LISTENERS.get(signal);
  if (listeners === undefined) {
    listeners = new AbortListeners(signal);
    LISTENERS.set(signal, listeners);
  }
  listeners.add(listener);
}

/** Takes back `onAbort`; does nothing when the listener was called. */
export function offAbort(signal: AbortSignal, listener: () => void): void {
  LISTENERS.get(signal)?.remove(listener);
}
