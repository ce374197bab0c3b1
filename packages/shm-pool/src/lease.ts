/** The exclusive loan of one slot. */
import type { Device, Stream } from '@zerohop/cuda-native';
import type { Datatype, MemoryKind, TensorBlock } from '@zerohop/cuda-native/tensor';
import { type BlockOwner, LeaseBlock } from './block.js';
import { checkFields } from './check.js';
import { asError, PoolError, wrongType } from './errors.js';
import type { InferOptions } from './infer-options.js';
import type { TensorPlan } from './layout.js';
import type { Reply } from './reply.js';
import { inputShape } from './request-shapes.js';
import type { Slot } from './slot.js';

const INPUT_FIELDS = new Set(['shape']);

/**
 * A slot's input and output blocks, for this holder alone. Ends with `release()` or its disposal; after a request that
 * the server did not answer (time-out, abort, lost connection) it is spent at once, and the slot comes back by itself
 * when the server is proven to be done with it.
 */
export class Lease implements BlockOwner {
  readonly #slot: Slot;
  #state: 'held' | 'released' | 'spent' = 'held';
  #released = false;

  /** @internal Made by the pool. */
  constructor(slot: Slot) {
    this.#slot = slot;
  }

  get kind(): MemoryKind {
    return this.#slot.kind;
  }

  get device(): Device | undefined {
    return this.#slot.device;
  }

  /** The slot's stream, for `cuda` and with `deviceAccess`: work enqueued on it is complete before a request leaves and before the slot goes back. */
  get stream(): Stream | undefined {
    return this.#slot.stream;
  }

  /**
   * The block of an input, of its maximum shape or of the one given: what a request with that shape
   * (`infer({ shapes })`) sends. Borrowed until the lease ends.
   * @throws PoolError ERR_UNKNOWN_TENSOR, ERR_LEASE_RELEASED, ERR_LEASE_DETACHED; TypeError for a name that is no string;
   * TypeError, RangeError for a shape that does not fit the model or the slot
   */
  input<D extends Datatype = Datatype>(name: string, options?: { readonly shape?: readonly number[] }): TensorBlock<D> {
    this.assertUsable();
    checkFields('options', options, INPUT_FIELDS);
    const tensor = this.#slot.input(name);
    const plan = tensor.plan as TensorPlan<D>;
    if (options?.shape === undefined) return new LeaseBlock<D>(this, tensor, plan);
    const { maxBatchSize } = this.#slot.memory.plan;
    const { shape, byteLength } = inputShape('shape', plan, options.shape, maxBatchSize);
    return new LeaseBlock<D>(this, tensor, { name, datatype: plan.datatype, shape, byteLength });
  }

  /**
   * The block of an output at its full capacity; what the last answer put there, in its own shape, is
   * `reply.output(name)`. Borrowed until the lease ends.
   * @throws PoolError ERR_OUTPUT_IN_MESSAGE for transport `'bytes'`, else as `input`
   */
  output<D extends Datatype = Datatype>(name: string): TensorBlock<D> {
    this.assertUsable();
    const tensor = this.#slot.output(name);
    if (tensor.memory === undefined) {
      throw new PoolError(
        'ERR_OUTPUT_IN_MESSAGE',
        `With transport 'bytes' output '${name}' arrives in the answer: use reply.output('${name}')`,
      );
    }
    return new LeaseBlock<D>(this, tensor, tensor.plan as TensorPlan<D>);
  }

  /**
   * Sends the slot's request once its stream and every hold are done, and resolves with the answer. A time-out or an
   * abort rejects at once and spends the lease; the server is left to finish. A refusal because the server no longer
   * knows the region (a restart, someone's unregister-all) registers the slot anew and repeats the request once: it had
   * not run. When an output of unknown size turns out larger than its block, the slot gets more memory and the request is
   * repeated; then the model has run `reply.runs` times. Views taken from blocks before either may be of memory that is
   * gone: take them again. The options are read until the request has left.
   * @throws the client's error as it is; `signal.reason`; PoolError ERR_LEASE_RELEASED, ERR_LEASE_DETACHED,
   * ERR_LEASE_BUSY, ERR_UNKNOWN_TENSOR, ERR_POOL_TIMEOUT, ERR_POOL_CLOSED, ERR_OUTPUT_TOO_LARGE, ERR_ANSWER_MISMATCH;
   * TypeError, RangeError for wrong options, before anything is sent
   */
  infer(options?: InferOptions): Promise<Reply> {
    const over = this.#over();
    if (over !== undefined) return Promise.reject(over);
    try {
      return this.#slot.infer(this, options);
    } catch (error) {
      return Promise.reject(asError(error));
    }
  }

  /** Keeps the slot out of circulation until `work` has settled, however it settles. */
  hold(work: Promise<unknown>): void {
    this.assertUsable();
    if (typeof work?.then !== 'function') throw wrongType('work', 'promise', work);
    this.#slot.hold(work);
  }

  /**
   * Gives the slot back. It is lent again once all work that holds it, and a request still in flight, are done.
   * @throws PoolError ERR_LEASE_RELEASED the second time
   */
  release(): void {
    if (this.#released) throw new PoolError('ERR_LEASE_RELEASED', 'The lease was released already');
    this[Symbol.dispose]();
  }

  /** As `release()`, and does nothing when the lease was released. */
  [Symbol.dispose](): void {
    this.#released = true;
    if (this.#state !== 'held') return;
    this.#state = 'released';
    this.#slot.leaseEnded(this);
  }

  /** @internal The slot's request was not answered, or the pool was closed: nothing more may go through this lease. */
  spend(): void {
    if (this.#state === 'held') this.#state = 'spent';
  }

  /** Throws when the lease is over. */
  assertUsable(): void {
    const over = this.#over();
    if (over !== undefined) throw over;
  }

  #over(): PoolError | undefined {
    if (this.#state === 'held') return undefined;
    return this.#state === 'spent' && !this.#released
      ? new PoolError(
          'ERR_LEASE_DETACHED',
          'The lease is spent: its last request was not answered, and the server may still use the blocks, or the pool was closed. Acquire a new lease',
        )
      : new PoolError('ERR_LEASE_RELEASED', 'The lease was released: acquire a new one');
  }
}
