/** Lends items first come, first served. Pure: no I/O, no knowledge of what it lends. */
import { checkedMs, checkFields, checkSignal, fieldsOf } from './check.js';
import { PoolError } from './errors.js';

export interface TakeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; absent: no limit. */
  readonly timeoutMs?: number | undefined;
}

const FIELDS = fieldsOf<TakeOptions>({ signal: true, timeoutMs: true });

interface Waiter<T> {
  serve(item: T): void;
  fail(reason: Error): void;
}

/**
 * Idle items (last in, first out, since the last one used is warm in the caches) and the queue of those who wait
 * (first in, first out). Never both non-empty.
 */
export class Dispenser<T, L> {
  readonly #lend: (item: T) => L;
  readonly #idle: T[] = [];
  readonly #waiters = new Set<Waiter<T>>();
  readonly #queueLimit: number;
  readonly #label: string;

  /** `lend` is called as an item goes out, in the same turn: an item is either idle or lent. */
  constructor(lend: (item: T) => L, queueLimit: number, label: string) {
    this.#lend = lend;
    this.#queueLimit = queueLimit;
    this.#label = label;
  }

  get idle(): number {
    return this.#idle.length;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  tryTake(): L | undefined {
    const item = this.#idle.pop();
    return item === undefined ? undefined : this.#lend(item);
  }

  /**
   * Resolves with a loan in the order of the calls. Rejects with ERR_POOL_QUEUE_FULL, ERR_POOL_TIMEOUT or
   * `signal.reason`.
   * @throws TypeError, RangeError for wrong options, before anything else
   */
  take(options?: TakeOptions): Promise<L> {
    checkFields('options', options, FIELDS);
    const signal = options?.signal;
    const timeoutMs = options?.timeoutMs;
    checkSignal('signal', signal);
    if (timeoutMs !== undefined) checkedMs('timeoutMs', timeoutMs, 0, 0);
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const item = this.#idle.pop();
    if (item !== undefined) return Promise.resolve(this.#lend(item));
    if (this.#waiters.size >= this.#queueLimit) {
      return Promise.reject(
        new PoolError(
          'ERR_POOL_QUEUE_FULL',
          `${this.#waiters.size} callers already wait for a slot of ${this.#label}: open the pool with more slots, raise queueLimit, or shed load`,
        ),
      );
    }
    return this.#wait(signal, timeoutMs);
  }

  #wait(signal: AbortSignal | undefined, timeoutMs: number | undefined): Promise<L> {
    return new Promise<L>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const leave = () => {
        this.#waiters.delete(waiter);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter<T> = {
        serve: (item) => {
          leave();
          resolve(this.#lend(item));
        },
        fail: (reason) => {
          leave();
          reject(reason);
        },
      };
      const onAbort = () => waiter.fail(signal?.reason as Error);
      if (timeoutMs !== undefined) {
        timer = setTimeout(() => {
          waiter.fail(
            new PoolError(
              'ERR_POOL_TIMEOUT',
              `No slot of ${this.#label} became free within ${timeoutMs} ms: open the pool with more slots, release leases sooner, or allow more time`,
            ),
          );
        }, timeoutMs);
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** Hands the item to the first waiter, else keeps it as idle. */
  put(item: T): void {
    const [first] = this.#waiters;
    if (first !== undefined) first.serve(item);
    else this.#idle.push(item);
  }

  /** Takes idle items out, up to `count` of those that have been idle longest. */
  drain(count = Number.POSITIVE_INFINITY): T[] {
    return this.#idle.splice(0, count);
  }

  /** Rejects everyone who waits. */
  failAll(reason: Error): void {
    for (const waiter of this.#waiters) waiter.fail(reason);
  }
}
