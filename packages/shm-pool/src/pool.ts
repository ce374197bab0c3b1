/** The pool of registered slots. */
import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import type { TensorSpec } from '@zerohop/cuda-native/tensor';
import { AutoChoice, type TransportChoice } from './auto-choice.js';
import { checkedInteger, checkedMs, checkFields, checkName } from './check.js';
import { checkTensorClient } from './check-client.js';
import type { TensorClient } from './client.js';
import type { TakeOptions } from './dispenser.js';
import { asError, PoolError, wrongType } from './errors.js';
import { explainPath, type PathExplanation } from './explain.js';
import { type TensorPlan, unknownTensor } from './layout.js';
import type { Lease } from './lease.js';
import { discard } from './memory-release.js';
import { factsOf, type ModelFacts } from './model-facts.js';
import { type CheckedOptions, checkOptions, type PoolOptions, planFor } from './options.js';
import { patientFactory } from './patient-factory.js';
import type { CloseReport, PoolEvents } from './pool-events.js';
import type { PoolPlan } from './pool-plan.js';
import { reapBeforeOpening } from './reap.js';
import { RegionCounters } from './region-counters.js';
import { throwIfAborted, within } from './settle.js';
import { Slot } from './slot.js';
import { SlotKeeper } from './slot-keeper.js';
import type { SlotMemory, SlotMemoryFactory, Transport } from './slot-memory.js';
import { type ChoiceOptions, type Chosen, openTransport } from './transports.js';
import { warn } from './warnings.js';

const events = channel('zerohop:shm-pool:event');
const CLOSE_FIELDS = new Set(['timeoutMs']);

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
  /**
   * Regions given up, since the server was not proven to be done with them. The memory stays allocated while the process
   * lives, but for `system` regions that the answering server does not know any more.
   */
  readonly retired: number;
  /** Register calls so far: as many as slots, when nothing went wrong. */
  readonly registerCalls: number;
  readonly reregistrations: number;
  /** What `'auto'` would choose, as it was last asked: by a restart of the server or by `reconsider()`. */
  readonly wouldChoose: Transport;
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
  /** Whether an answer by this transport was compared with one by messages; see the option `verify`. */
  readonly verified: boolean;
  readonly #facts: ModelFacts;
  readonly #autoChoice: AutoChoice;
  readonly #plan: PoolPlan;
  readonly #factory: SlotMemoryFactory;
  readonly #counters: RegionCounters;
  readonly #keeper: SlotKeeper;
  #closing: Promise<CloseReport> | undefined;

  private constructor(options: CheckedOptions & ChoiceOptions, chosen: Chosen) {
    super();
    const { client, name, model, version, slots, maxRetired, queueLimit, strictViews, plan, counters } = options;
    const { reason, memories, verification } = chosen;
    const factory = patientFactory(chosen.factory);
    this.name = name;
    this.model = model;
    this.transport = factory.transport;
    this.reason = reason;
    this.verified = verification.state === 'verified';
    this.#facts = options.facts;
    this.#plan = plan;
    this.#factory = factory;
    this.#counters = counters;
    const announce = <E extends keyof PoolEvents>(event: E, payload: PoolEvents[E][0]) => {
      this.#announce(event, payload);
      if (event === 'restart' && options.transport === 'auto') this.#autoChoice.askQuietly();
    };
    const slotModel = { client, model, version, strictViews };
    const makeSlot = (memory: SlotMemory): Slot => new Slot(this.#keeper, slotModel, plan, factory, memory);
    this.#keeper = new SlotKeeper({ name, slots, maxRetired, queueLimit, factory, makeSlot, announce });
    this.#autoChoice = new AutoChoice(factory.transport, options, (choice) => announce('transport', choice));
    for (const memory of memories) this.#keeper.add(makeSlot(memory));
  }

  /**
   * Reads the model's metadata, removes what crashed processes left (which may wait up to five seconds for their last
   * requests), allocates `slots` regions and registers each once. Tensors or slots that can't all be held are refused
   * before the first is allocated. Nothing is left behind when it fails or is aborted. An abort rejects when what was made
   * so far is released again: in milliseconds, after an allocation under way, and after two seconds with a server that
   * does not answer. The one slot with which an answer is verified follows when the server is done.
   * @throws PoolError ERR_SHM_…, ERR_SEVERAL_SERVERS, ERR_CUDA_UNAVAILABLE, ERR_IPC_…, ERR_PID_COLLISION,
   * ERR_GPU_MISMATCH, ERR_VERIFY_FAILED for a transport asked for by name;
   * ERR_DECOUPLED_OUTPUTS, ERR_TENSOR_SIZE, ERR_UNKNOWN_TENSOR; the client's errors; `signal.reason`; TypeError,
   * RangeError
   */
  static async open(client: TensorClient, options: PoolOptions): Promise<TensorPool> {
    const checked = checkOptions(options);
    checkTensorClient(client);
    const { signal } = checked;
    throwIfAborted(signal);
    const { plan, config } = await within(planFor(client, checked), { signal });
    const facts = factsOf(checked.model, config);
    if (checked.reap && checked.transport !== 'bytes') await reapBeforeOpening(client, signal);
    throwIfAborted(signal);
    const counters = new RegionCounters();
    const all = { ...checked, client, plan, facts, counters };
    const chosen = await openTransport(checked.transport, all);
    if (chosen.fellBack) warn('ZEROHOP_TRANSPORT', `Pool '${checked.name}' uses ${chosen.reason}`);
    if (chosen.verification.state === 'not-verified') {
      warn('ZEROHOP_NOT_VERIFIED', `Pool '${checked.name}' was not verified: ${chosen.verification.why}`);
    }
    try {
      return new TensorPool(all, chosen);
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
      registerCalls: this.#counters.registerCalls,
      reregistrations: this.#counters.reregistrations,
      wouldChoose: this.#autoChoice.last,
    };
  }

  /** Which copies remain between a caller's tensors and the model, as far as the configuration at open tells. */
  explain(): PathExplanation {
    const { transport, serverDeviceId } = this.#factory;
    return explainPath({ transport, serverDeviceId, facts: this.#facts });
  }

  /**
   * What `'auto'` would choose now, found out as at an opening, with one slot that is released again. The pool keeps its
   * transport: to change, open another. Emits `'transport'` when the answer is not the last one.
   * @throws the client's error when the server cannot be reached; PoolError ERR_DISPOSED
   */
  reconsider(): Promise<TransportChoice> {
    if (this.closed) return Promise.reject(new PoolError('ERR_DISPOSED', `Pool '${this.name}' is closed`));
    return this.#autoChoice.ask();
  }

  /** @throws PoolError ERR_UNKNOWN_TENSOR, which lists the known ones; TypeError for a name that is no string */
  input(name: string): TensorSpec {
    return this.#spec('input', this.#plan.current.inputs, name);
  }

  /**
   * Its shape is that of the present capacity, for an output of unknown size too.
   * @throws as `input`
   */
  output(name: string): TensorSpec {
    return this.#spec('output', this.#plan.current.outputs, name);
  }

  #spec(role: string, plans: readonly TensorPlan[], name: string): TensorSpec {
    checkName(name);
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
   * Changes the number of slots while they are in use. More than there is room for are refused before the first is made;
   * else they are lent as each is made, and when one can't be, those made so far stay, and the error says how many there
   * are. Fewer: idle slots leave first, then those that come back, never
   * one that is lent, so this waits for leases. Resolves when there are as many as the last call asked for, and the
   * regions of those that left are released; a call that is overtaken settles with the last.
   * @throws PoolError ERR_SHM_… and others of `open` when a slot can't be made, ERR_POOL_RESIZE when that was the client's
   * error (in `cause`), ERR_POOL_CLOSED when the pool is closed meanwhile, ERR_DISPOSED after that; TypeError, RangeError
   */
  async resize(slots: number): Promise<void> {
    if (slots === undefined) throw wrongType('slots', 'positive integer', slots);
    checkedInteger('slots', slots, 1, 1);
    if (this.closed) throw new PoolError('ERR_DISPOSED', `Pool '${this.name}' is closed`);
    const { size } = this.#keeper;
    if (slots > size) this.#factory.checkRoom(slots - size, size);
    await this.#keeper.resizer.to(slots);
  }

  /**
   * Rejects those who wait (ERR_POOL_CLOSED), waits up to `timeoutMs` for leases, detached and quarantined slots, then
   * unregisters every region until the server no longer lists it and frees it. Leases still out then are revoked. What
   * can't be proven free is reported, not freed. That takes up to two seconds more where the server, or work that holds a
   * block, does not end. Closing twice gives the same promise.
   * @throws TypeError, RangeError, and the pool stays open
   */
  close(options?: { readonly timeoutMs?: number }): Promise<CloseReport> {
    let drainMs: number;
    try {
      checkFields('options', options, CLOSE_FIELDS);
      drainMs = checkedMs('timeoutMs', options?.timeoutMs, 0, 30_000);
    } catch (error) {
      return Promise.reject(asError(error));
    }
    return this.#close(
      drainMs,
      new PoolError('ERR_POOL_CLOSED', `Pool '${this.name}' was closed while this caller waited for it`),
    );
  }

  /** As `close()`, without waiting for leases: rejects those who wait with `reason`. */
  destroy(reason: Error = new PoolError('ERR_POOL_CLOSED', `Pool '${this.name}' was destroyed`)): Promise<CloseReport> {
    this.#keeper.endDrain();
    return this.#close(0, reason);
  }

  #close(drainMs: number, reason: Error): Promise<CloseReport> {
    this.#closing ??= Promise.all([this.#keeper.close(drainMs, reason), this.#autoChoice.close(reason)]).then(
      ([{ unproven }]) => ({ unproven: [...unproven, ...this.#counters.lost] }),
    );
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
