/**
 * Keeps a pool's slots in service: hands them out, finds out when the server is done with them, registers, replaces and
 * retires them, and releases them at the end.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Dispenser } from './dispenser.js';
import { messageOf, PoolError } from './errors.js';
import type { Lease } from './lease.js';
import type { Release, SharedRegion } from './region.js';
import { isUnreachable } from './server-texts.js';
import { within } from './settle.js';
import type { Slot } from './slot.js';
import type { SlotMemory, SlotMemoryFactory } from './slot-memory.js';
import type { SlotOwner, SlotState } from './slot-owner.js';
import { discard } from './transports.js';
import { warn } from './warnings.js';

/** How long the last steps of a close may wait for the server after the drain, in milliseconds. */
const FINAL_STEPS_MS = 2000;

/** Between two attempts to register with a server that is away, in milliseconds. */
const RETRY_MS = 250;

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

export interface KeeperOptions {
  readonly name: string;
  /** How many slots the pool was opened with; also how many retired ones are replaced. */
  readonly slots: number;
  readonly queueLimit: number;
  readonly factory: SlotMemoryFactory;
  announce<E extends keyof PoolEvents>(event: E, payload: PoolEvents[E][0]): void;
}

export class SlotKeeper implements SlotOwner {
  readonly dispenser: Dispenser<Slot, Lease>;
  readonly #options: KeeperOptions;
  readonly #slots = new Set<Slot>();
  readonly #unproven: { region: string; reason: string }[] = [];
  /** Aborted when nobody waits for the server any longer. */
  readonly #lastCall = new AbortController();
  readonly #repairs = new Set<Promise<void>>();
  #restoring: Promise<void> | undefined;
  #retired = 0;
  #state: 'open' | 'draining' | 'finishing' = 'open';
  #mayDrain = true;
  #endDrain: (() => void) | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.dispenser = new Dispenser((slot: Slot) => slot.lend(), options.queueLimit, `pool '${options.name}'`);
    setMaxListeners(0, this.#lastCall.signal);
  }

  add(slot: Slot): void {
    this.#slots.add(slot);
    this.dispenser.put(slot);
  }

  get size(): number {
    return this.#slots.size;
  }

  get retired(): number {
    return this.#retired;
  }

  /** Slots in service by state. */
  count(): Record<SlotState, number> {
    const count = { idle: 0, leased: 0, detached: 0, quarantined: 0 };
    for (const slot of this.#slots) count[slot.state] += 1;
    return count;
  }

  /** Why nothing can be lent, if so. */
  refusal(): PoolError | undefined {
    const { name } = this.#options;
    if (this.#state !== 'open') return new PoolError('ERR_DISPOSED', `Pool '${name}' is closed`);
    if (this.#slots.size > 0) return undefined;
    return new PoolError(
      'ERR_POOL_EXHAUSTED',
      `Every slot of pool '${name}' had to be retired: close it and open a new one`,
    );
  }

  slotFree(slot: Slot): void {
    if (this.#state === 'open') this.dispenser.put(slot);
    else this.#checkDrained();
  }

  slotLost(slot: Slot): void {
    // The last steps of a close prove or retire every region themselves.
    if (this.#state !== 'finishing') this.#repair(this.#quarantine(slot));
  }

  slotFailed(slot: Slot, cause: unknown): void {
    this.#repair(this.#giveUpFailed(slot, cause));
  }

  regionMissing(slot: Slot): void {
    this.#options.announce('restart', { region: slot.memory.region?.name ?? '' });
    this.#restoring ??= this.#restoreIdle().finally(() => {
      this.#restoring = undefined;
    });
  }

  regionReleased(region: SharedRegion, release: Release): void {
    if (release.proven) return;
    if (release.freed) this.#unproven.push({ region: region.name, reason: release.reason });
    else this.#retire(region, release.reason);
  }

  #repair(work: Promise<void>): void {
    this.#repairs.add(work);
    void work.then(() => {
      this.#repairs.delete(work);
      this.#checkDrained();
    });
  }

  /** Registers the idle slots that the server has lost too; those in use find out by themselves. */
  async #restoreIdle(): Promise<void> {
    const idle = this.dispenser.drain();
    for (const slot of idle) {
      try {
        if (this.#state === 'open' && !(await slot.memory.region?.isListed())) await slot.restore();
      } catch {
        // The slot's next request registers it, and reports why it can't.
      }
      this.slotFree(slot);
    }
  }

  async #quarantine(slot: Slot): Promise<void> {
    const { region } = slot.memory;
    if (region === undefined) return;
    this.#options.announce('quarantine', { region: region.name });
    await this.#proveAndFree(slot, region);
    await this.#replace(slot);
  }

  /** For a region whose request was not answered. */
  async #proveAndFree(slot: Slot, region: SharedRegion): Promise<void> {
    const { signal } = this.#lastCall;
    const proof = await region.proveReleased(signal);
    let outcome = proof;
    try {
      await within(slot.quiet(), { signal });
    } catch (error) {
      // A stream that failed has ended its work as well.
      if (signal.aborted) outcome = { proven: false, reason: `work on its blocks did not end: ${messageOf(error)}` };
    }
    if (outcome.proven) outcome = await region.free();
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
    this.#options.announce('retire', { region: region.name, reason });
    warn(
      'ZEROHOP_RETIRED',
      `Pool '${this.#options.name}' gave up ${region.byteLength} bytes of region ${region.name} until the process ends: ${reason}`,
    );
  }

  /** Gives a slot whose region is gone fresh memory, or takes it out of service. */
  async #replace(slot: Slot): Promise<void> {
    await closeStream(slot);
    const memory = this.#retired > this.#options.slots ? undefined : await this.#freshMemory(slot.memory.region);
    if (memory !== undefined && this.#revive(slot, memory)) return;
    this.#slots.delete(slot);
    const refusal = this.refusal();
    if (refusal !== undefined) this.dispenser.failAll(refusal);
  }

  /** False when the client, closed meanwhile, can't prepare the request. */
  #revive(slot: Slot, memory: SlotMemory): boolean {
    try {
      slot.revive(memory);
    } catch {
      this.#repair(discard(memory));
      return false;
    }
    this.slotFree(slot);
    return true;
  }

  /** Waits for a server that is away. Undefined when the pool closes, or when the memory can't be had. */
  async #freshMemory(old: SharedRegion | undefined): Promise<SlotMemory | undefined> {
    const { signal } = this.#lastCall;
    while (this.#state === 'open') {
      try {
        // A server that does not answer is offered no memory: it could not be freed before it does.
        if (old !== undefined) await within(old.isListed(), { signal });
        return await this.#options.factory.create(signal);
      } catch (error) {
        if (signal.aborted) return undefined;
        if (!isUnreachable(error)) {
          warn('ZEROHOP_SLOT_LOST', `Pool '${this.#options.name}' is one slot smaller: ${messageOf(error)}`);
          return undefined;
        }
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    return undefined;
  }

  /** Waits for slots in use up to `drainMs`, then releases every region, with leases that are still out revoked. */
  async close(drainMs: number, reason: Error): Promise<CloseReport> {
    this.#state = 'draining';
    this.dispenser.failAll(reason);
    await this.#restoring;
    if (drainMs > 0 && this.#mayDrain) await this.#drain(drainMs);
    this.#state = 'finishing';
    const timer = setTimeout(() => this.#lastCall.abort(), FINAL_STEPS_MS);
    await Promise.all([...this.#slots].map((slot) => this.#finish(slot)));
    await Promise.all(this.#repairs);
    clearTimeout(timer);
    this.#slots.clear();
    this.dispenser.drain();
    return { unproven: this.#unproven };
  }

  /** Ends the wait of a close for slots in use, also of one that has not come to it. */
  endDrain(): void {
    this.#mayDrain = false;
    this.#endDrain?.();
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
    if (slot.memory.region === undefined || slot.state === 'quarantined') return;
    const { signal } = this.#lastCall;
    if (slot.inFlight) {
      await this.#proveAndFree(slot, slot.memory.region);
      await closeStream(slot);
      return;
    }
    try {
      await within(slot.quiet(), { signal });
    } catch (error) {
      this.#retire(slot.memory.region, `work on its blocks did not end: ${messageOf(error)}`);
      return;
    }
    // Not the region of before: part of that work may have been to replace it.
    const { region } = slot.memory;
    const release = await region.release(signal);
    if (release.proven) await closeStream(slot);
    this.regionReleased(region, release);
  }
}

/** A stream that the driver refuses to close is lost with its device; there is nothing left to do about it. */
async function closeStream(slot: Slot): Promise<void> {
  await slot.stream?.close().catch(() => undefined);
}
