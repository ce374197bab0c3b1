/** The pool of registered slots. */
import { channel } from 'node:diagnostics_channel';
import { EventEmitter, setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Datatype, TensorSpec } from '@zerohop/cuda-native/tensor';
import type { TensorClient } from './client.js';
import { Dispenser, type TakeOptions } from './dispenser.js';
import { checkedInteger, messageOf, PoolError, wrongType } from './errors.js';
import { type SlotPlan, type TensorPlan, unknownTensor } from './layout.js';
import type { Lease } from './lease.js';
import { type CheckedOptions, checkOptions, type PoolOptions, planFor } from './options.js';
import type { RegionCounters, SharedRegion } from './region.js';
import { isUnreachable } from './server-texts.js';
import { within } from './settle.js';
import { Slot, type SlotOwner } from './slot.js';
import type { SlotMemory, SlotMemoryFactory, Transport } from './slot-memory.js';
import { type Chosen, discard, openTransport } from './transports.js';
import { warn } from './warnings.js';

/** How long the last steps of a close may wait for the server after the drain, in milliseconds. */
const FINAL_STEPS_MS = 2000;

/** Between two attempts to register with a server that is away, in milliseconds. */
const RETRY_MS = 250;

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

export interface PoolEvents {
  /** The server had lost our regions (a restart, someone's unregister-all); idle slots are registered anew. */
  restart: [{ readonly region: string }];
  /** A connection was lost with a request unanswered. */
  quarantine: [{ readonly region: string }];
  /** A region was given up for good. */
  retire: [{ readonly region: string; readonly reason: string }];
}

export interface CloseReport {
  /** Regions that were not proven free, and why; their memory stays until the process ends. */
  readonly unproven: readonly { readonly region: string; readonly reason: string }[];
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
  readonly #client: TensorClient;
  readonly #plan: SlotPlan;
  readonly #factory: SlotMemoryFactory;
  readonly #counters: RegionCounters;
  readonly #slots = new Set<Slot>();
  readonly #dispenser: Dispenser<Slot, Lease>;
  readonly #retiredLimit: number;
  readonly #unproven: { region: string; reason: string }[] = [];
  /** Aborted when nobody waits for the server any longer. */
  readonly #lastCall = new AbortController();
  readonly #repairs = new Set<Promise<void>>();
  #restoring: Promise<void> | undefined;
  #retired = 0;
  #closing: Promise<CloseReport> | undefined;
  #finishing = false;
  #endDrain: (() => void) | undefined;

  private constructor(
    client: TensorClient,
    options: CheckedOptions,
    plan: SlotPlan,
    chosen: Chosen,
    counters: RegionCounters,
  ) {
    super();
    this.name = options.name;
    this.model = options.model;
    this.transport = chosen.factory.transport;
    this.reason = chosen.reason;
    this.#client = client;
    this.#plan = plan;
    this.#factory = chosen.factory;
    this.#counters = counters;
    this.#retiredLimit = options.slots;
    this.#dispenser = new Dispenser((slot: Slot) => slot.lend(), options.queueLimit, `pool '${options.name}'`);
    setMaxListeners(0, this.#lastCall.signal);
    for (const memory of chosen.memories) this.#addSlot(options, memory);
  }

  /**
   * Reads the model's metadata, allocates `slots` regions and registers each once. Nothing is left behind when it
   * fails.
   * @throws PoolError ERR_SHM_…, ERR_CUDA_UNAVAILABLE, ERR_GPU_MISMATCH for a transport asked for by name;
   * ERR_DECOUPLED_OUTPUTS, ERR_TENSOR_SIZE, ERR_UNKNOWN_TENSOR; the client's errors; TypeError, RangeError
   */
  static async open(client: TensorClient, options: PoolOptions): Promise<TensorPool> {
    const checked = checkOptions(options);
    const plan = await planFor(client, checked);
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

  #addSlot({ model, version }: CheckedOptions, memory: SlotMemory): void {
    const slotModel = { client: this.#client, model, version, plan: this.#plan };
    const slot = new Slot(this.#owner, slotModel, this.#factory, memory);
    this.#slots.add(slot);
    this.#dispenser.put(slot);
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  get stats(): PoolStats {
    const count = { idle: 0, leased: 0, detached: 0, quarantined: 0 };
    for (const slot of this.#slots) count[slot.state] += 1;
    return {
      size: this.#slots.size,
      ...count,
      waiting: this.#dispenser.waiting,
      retired: this.#retired,
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
    return { name, datatype: plan.datatype satisfies Datatype, shape: plan.shape, kind, device };
  }

  /**
   * Lends a slot, first come, first served.
   * @throws PoolError ERR_POOL_TIMEOUT, ERR_POOL_QUEUE_FULL, ERR_POOL_CLOSED, ERR_POOL_EXHAUSTED, ERR_DISPOSED;
   * `signal.reason`
   */
  acquire(options?: TakeOptions): Promise<Lease> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.#dispenser.take(options);
  }

  /** Lends a slot when one is idle. */
  tryAcquire(): Lease | undefined {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    return this.#dispenser.tryTake();
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

  #refusal(): PoolError | undefined {
    if (this.closed) return new PoolError('ERR_DISPOSED', `Pool '${this.name}' is closed`);
    if (this.#slots.size > 0) return undefined;
    return new PoolError(
      'ERR_POOL_EXHAUSTED',
      `Every slot of pool '${this.name}' had to be retired: close it and open a new one`,
    );
  }

  readonly #owner: SlotOwner = {
    slotFree: (slot) => {
      if (this.closed) this.#checkDrained();
      else this.#dispenser.put(slot);
    },
    slotLost: (slot) => {
      // The last steps of a close prove or retire every region themselves.
      if (!this.#finishing) this.#repair(this.#quarantine(slot));
    },
    slotFailed: (slot, cause) => this.#repair(this.#giveUpFailed(slot, cause)),
    regionMissing: (slot) => {
      this.#announce('restart', { region: slot.memory.region?.name ?? '' });
      this.#restoring ??= this.#restoreIdle().finally(() => {
        this.#restoring = undefined;
      });
    },
  };

  #repair(work: Promise<void>): void {
    this.#repairs.add(work);
    void work.then(() => {
      this.#repairs.delete(work);
      this.#checkDrained();
    });
  }

  /** Registers the idle slots that the server has lost too; those in use find out by themselves. */
  async #restoreIdle(): Promise<void> {
    const idle = this.#dispenser.drain();
    for (const slot of idle) {
      try {
        if (!this.closed && !(await slot.memory.region?.isListed())) await slot.restore();
      } catch {
        // The slot's next request registers it, and reports why it can't.
      }
      this.#owner.slotFree(slot);
    }
  }

  async #quarantine(slot: Slot): Promise<void> {
    const { region } = slot.memory;
    if (region === undefined) return;
    this.#announce('quarantine', { region: region.name });
    await this.#proveAndFree(slot, region);
    await this.#replace(slot);
  }

  /** For a region whose request was not answered. */
  async #proveAndFree(slot: Slot, region: SharedRegion): Promise<void> {
    const proof = await region.proveReleased(this.#lastCall.signal);
    // Our own work on the blocks may still run; how it ends does not matter any more.
    await slot.quiet().catch(() => undefined);
    const outcome = proof.proven ? await region.free() : proof;
    if (!outcome.proven) this.#retire(region, outcome.reason);
  }

  async #giveUpFailed(slot: Slot, cause: unknown): Promise<void> {
    const { region } = slot.memory;
    if (region !== undefined) this.#retire(region, `its device failed: ${messageOf(cause)}`);
    await this.#replace(slot);
  }

  #retire(region: SharedRegion, reason: string): void {
    region.retire();
    this.#retired += 1;
    this.#unproven.push({ region: region.name, reason });
    this.#announce('retire', { region: region.name, reason });
    warn(
      'ZEROHOP_RETIRED',
      `Pool '${this.name}' gave up ${region.byteLength} bytes of region ${region.name} until the process ends: ${reason}`,
    );
  }

  /** Gives a slot whose region is gone fresh memory, or takes it out of service. */
  async #replace(slot: Slot): Promise<void> {
    await closeStream(slot);
    const memory = this.#retired > this.#retiredLimit ? undefined : await this.#freshMemory();
    if (memory !== undefined && this.#revive(slot, memory)) return;
    this.#slots.delete(slot);
    const refusal = this.#refusal();
    if (refusal !== undefined) this.#dispenser.failAll(refusal);
  }

  /** False when the client, closed meanwhile, can't prepare the request. */
  #revive(slot: Slot, memory: SlotMemory): boolean {
    try {
      slot.revive(memory);
    } catch {
      this.#repair(discard(memory));
      return false;
    }
    this.#owner.slotFree(slot);
    return true;
  }

  /** Waits for a server that is away. Undefined when the pool closes, or when the memory can't be had. */
  async #freshMemory(): Promise<SlotMemory | undefined> {
    while (!this.closed) {
      try {
        return await this.#factory.create();
      } catch (error) {
        if (!isUnreachable(error)) {
          warn('ZEROHOP_SLOT_LOST', `Pool '${this.name}' is one slot smaller: ${messageOf(error)}`);
          return undefined;
        }
        await sleep(RETRY_MS, undefined, { signal: this.#lastCall.signal }).catch(() => undefined);
      }
    }
    return undefined;
  }

  #announce<E extends keyof PoolEvents>(event: E, payload: PoolEvents[E][0]): void {
    if (events.hasSubscribers) events.publish({ pool: this.name, event, ...payload });
    // The listener's type can't be resolved for a generic event name.
    (this as EventEmitter).emit(event, payload);
  }

  /**
   * Rejects those who wait (ERR_POOL_CLOSED), waits up to `timeoutMs` for leases, detached and quarantined slots, then
   * unregisters every region until the server no longer lists it and frees it. Leases still out then are revoked. What
   * can't be proven free is reported, not freed. Closing twice gives the same promise.
   */
  close({ timeoutMs }: { readonly timeoutMs?: number } = {}): Promise<CloseReport> {
    const drainMs = checkedInteger('timeoutMs', timeoutMs, 0, 30_000);
    this.#closing ??= this.#shutDown(
      drainMs,
      new PoolError('ERR_POOL_CLOSED', `Pool '${this.name}' was closed while this caller waited for a slot`),
    );
    return this.#closing;
  }

  /** As `close()`, without waiting for leases: rejects those who wait with `reason`. */
  destroy(reason: Error = new PoolError('ERR_POOL_CLOSED', `Pool '${this.name}' was destroyed`)): Promise<CloseReport> {
    this.#endDrain?.();
    this.#closing ??= this.#shutDown(0, reason);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #shutDown(drainMs: number, reason: Error): Promise<CloseReport> {
    this.#dispenser.failAll(reason);
    await this.#restoring;
    if (drainMs > 0) await this.#drain(drainMs);
    this.#finishing = true;
    const timer = setTimeout(() => this.#lastCall.abort(), FINAL_STEPS_MS);
    await Promise.all([...this.#slots].map((slot) => this.#finish(slot)));
    await Promise.all(this.#repairs);
    clearTimeout(timer);
    this.#slots.clear();
    this.#dispenser.drain();
    return { unproven: this.#unproven };
  }

  #drain(drainMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#endDrain?.(), drainMs);
      this.#endDrain = () => {
        clearTimeout(timer);
        this.#endDrain = undefined;
        resolve();
      };
      this.#checkDrained();
    });
  }

  #checkDrained(): void {
    if (this.#endDrain === undefined || this.#repairs.size > 0) return;
    for (const slot of this.#slots) if (slot.state !== 'idle') return;
    this.#endDrain();
  }

  /** Releases one slot's region for good. Quarantined slots are seen to by their own repair. */
  async #finish(slot: Slot): Promise<void> {
    slot.revoke();
    const { region } = slot.memory;
    if (region === undefined || slot.state === 'quarantined') return;
    const { signal } = this.#lastCall;
    if (slot.inFlight) {
      await this.#proveAndFree(slot, region);
      await closeStream(slot);
      return;
    }
    try {
      await within(slot.quiet(), { signal });
    } catch (error) {
      this.#retire(region, `work on its blocks did not end: ${messageOf(error)}`);
      return;
    }
    const release = await region.release(signal);
    if (release.proven) await closeStream(slot);
    else if (release.freed) this.#unproven.push({ region: region.name, reason: release.reason });
    else this.#retire(region, release.reason);
  }
}

/** A stream that the driver refuses to close is lost with its device; there is nothing left to do about it. */
async function closeStream(slot: Slot): Promise<void> {
  await slot.stream?.close().catch(() => undefined);
}
