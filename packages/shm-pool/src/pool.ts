/** The pool of registered slots. */
import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import type { TensorSpec } from '@zerohop/cuda-native/tensor';
import { checkedMs, checkOptional } from './check.js';
import type { TensorClient } from './client.js';
import type { TakeOptions } from './dispenser.js';
import { asError, PoolError, wrongType } from './errors.js';
import { type SlotPlan, type TensorPlan, unknownTensor } from './layout.js';
import type { Lease } from './lease.js';
import { type CheckedOptions, checkOptions, type PoolOptions, planFor } from './options.js';
import type { RegionCounters } from './region.js';
import { throwIfAborted, within } from './settle.js';
import { Slot } from './slot.js';
import { type CloseReport, type PoolEvents, SlotKeeper } from './slot-keeper.js';
import type { SlotMemoryFactory, Transport } from './slot-memory.js';
import { type Chosen, discard, openTransport } from './transports.js';
import { warn } from './warnings.js';

const events = channel('zerohop:shm-pool:event');

export interface PoolStats {
  /** Slots in service: idle + leased + detached + quarantined. */
  readonly size: number;
  readonly idle: number;
  readonly leased: number;
  /** Callers that wait for a slot. */
  readonly waiting: number;
  /** Slots whose caller gave up while the server may still be at the request. */
  readonly detached: number;
  /** Slots whose connection was lost, until the server is proven to be done with them. */
  readonly quarantined: number;
  /** Regions that can't be proven free: neither freed nor lent while the process lives. */
  readonly retired: number;
  /** Register calls so far: as many as slots, when nothing went wrong. */
  readonly registerCalls: number;
  readonly reregistrations: number;
}

/**
 * Slots of memory that a Triton server has opened already, lent as leases. Owns the memory; borrows the client.
 */
export class TensorPool extends EventEmitter<PoolEvents> {
  readonly name: string;
  readonly model: string;
  readonly transport: Transport;
  /** One sentence: which transport is used, on what evidence, and why no faster one. */
  readonly reason: string;
  readonly #plan: SlotPlan;
  readonly #factory: SlotMemoryFactory;
  readonly #counters: RegionCounters;
  readonly #keeper: SlotKeeper;
  #closing: Promise<CloseReport> | undefined;

  private constructor(
    client: TensorClient,
    options: CheckedOptions,
    plan: SlotPlan,
    { factory, reason, memories }: Chosen,
    counters: RegionCounters,
  ) {
    super();
    const { name, model, version, slots, queueLimit } = options;
    this.name = name;
    this.model = model;
    this.transport = factory.transport;
    this.reason = reason;
    this.#plan = plan;
    this.#factory = factory;
    this.#counters = counters;
    const announce = <E extends keyof PoolEvents>(event: E, payload: PoolEvents[E][0]) =>
      this.#announce(event, payload);
    this.#keeper = new SlotKeeper({ name, slots, queueLimit, factory, announce });
    for (const memory of memories) {
      this.#keeper.add(new Slot(this.#keeper, { client, model, version, plan }, factory, memory));
    }
  }

  /**
   * Reads the model's metadata, allocates `slots` regions and registers each once. Tensors or slots that can't all be
   * held are refused before the first is allocated. Nothing is left behind when it fails or is aborted. An abort rejects when what was made so far is released again: in milliseconds, after an
   * allocation under way, and after two seconds with a server that does not answer.
   * @throws PoolError ERR_SHM_…, ERR_CUDA_UNAVAILABLE, ERR_GPU_MISMATCH for a transport asked for by name;
   * ERR_DECOUPLED_OUTPUTS, ERR_TENSOR_SIZE, ERR_UNKNOWN_TENSOR; the client's errors; `signal.reason`; TypeError,
   * RangeError
   */
  static async open(client: TensorClient, options: PoolOptions): Promise<TensorPool> {
    const checked = checkOptions(options);
    const { signal } = checked;
    throwIfAborted(signal);
    const plan = await within(planFor(client, checked), { signal });
    const counters: RegionCounters = { registerCalls: 0, reregistrations: 0 };
    const chosen = await openTransport(checked.transport, { ...checked, client, plan, counters });
    if (chosen.fellBack) warn('ZEROHOP_TRANSPORT', `Pool '${checked.name}' uses ${chosen.reason}`);
    try {
      return new TensorPool(client, checked, plan, chosen, counters);
    } catch (error) {
      // The client refused to prepare the request.
      await Promise.all(chosen.memories.map(discard));
      throw error;
    }
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  get stats(): PoolStats {
    const keeper = this.#keeper;
    return {
      size: keeper.size,
      ...keeper.count(),
      waiting: keeper.dispenser.waiting,
      retired: keeper.retired,
      ...this.#counters,
    };
  }

  /** @throws PoolError ERR_UNKNOWN_TENSOR, which lists the known ones */
  input(name: string): TensorSpec {
    return this.#spec('input', this.#plan.inputs, name);
  }

  /** @throws PoolError ERR_UNKNOWN_TENSOR, which lists the known ones */
  output(name: string): TensorSpec {
    return this.#spec('output', this.#plan.outputs, name);
  }

  #spec(role: string, plans: readonly TensorPlan[], name: string): TensorSpec {
    const plan = plans.find((each) => each.name === name);
    if (plan === undefined)
      throw unknownTensor(
        this.model,
        role,
        name,
        plans.map((each) => each.name),
      );
    const { kind, device } = this.#factory;
    return { name, datatype: plan.datatype, shape: plan.shape, kind, device };
  }

  /**
   * Lends a slot, first come, first served.
   * @throws PoolError ERR_POOL_TIMEOUT, ERR_POOL_QUEUE_FULL, ERR_POOL_CLOSED, ERR_POOL_EXHAUSTED, ERR_DISPOSED;
   * `signal.reason`; TypeError, RangeError
   */
  acquire(options?: TakeOptions): Promise<Lease> {
    const refusal = this.#keeper.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    try {
      return this.#keeper.dispenser.take(options);
    } catch (error) {
      return Promise.reject(asError(error));
    }
  }

  /** Lends a slot when one is idle. */
  tryAcquire(): Lease | undefined {
    const refusal = this.#keeper.refusal();
    if (refusal !== undefined) throw refusal;
    return this.#keeper.dispenser.tryTake();
  }

  /** Acquires, calls `fn`, and releases however `fn` ends. */
  async run<T>(fn: (lease: Lease) => Promise<T> | T, options?: TakeOptions): Promise<T> {
    if (typeof fn !== 'function') throw wrongType('fn', 'function', fn);
    const lease = await this.acquire(options);
    try {
      return await fn(lease);
    } finally {
      lease[Symbol.dispose]();
    }
  }

  /**
   * Rejects those who wait (ERR_POOL_CLOSED), waits up to `timeoutMs` for leases, detached and quarantined slots, then
   * unregisters every region until the server no longer lists it and frees it. Leases still out then are revoked. What
   * can't be proven free is reported, not freed. Closing twice gives the same promise.
   */
  close(options?: { readonly timeoutMs?: number }): Promise<CloseReport> {
    checkOptional('options', options);
    const drainMs = checkedMs('timeoutMs', options?.timeoutMs, 0, 30_000);
    this.#closing ??= this.#keeper.close(
      drainMs,
      new PoolError('ERR_POOL_CLOSED', `Pool '${this.name}' was closed while this caller waited for a slot`),
    );
    return this.#closing;
  }

  /** As `close()`, without waiting for leases: rejects those who wait with `reason`. */
  destroy(reason: Error = new PoolError('ERR_POOL_CLOSED', `Pool '${this.name}' was destroyed`)): Promise<CloseReport> {
    this.#keeper.endDrain();
    this.#closing ??= this.#keeper.close(0, reason);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #announce<E extends keyof PoolEvents>(event: E, payload: PoolEvents[E][0]): void {
    if (events.hasSubscribers) events.publish({ pool: this.name, event, ...payload });
    // In a turn of its own: a listener that throws must not leave a slot half repaired. The listener's type can't be
    // resolved for a generic event name.
    queueMicrotask(() => (this as EventEmitter).emit(event, payload));
  }
}
