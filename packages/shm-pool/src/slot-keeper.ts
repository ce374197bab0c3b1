/**
 * Keeps a pool's slots in service: hands them out, finds out when the server is done with them, registers, replaces and
 * retires them, and releases them at the end.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Dispenser } from './dispenser.js';
import { Drain } from './drain.js';
import { messageOf, PoolError } from './errors.js';
import { Gathered } from './gathered.js';
import type { Lease } from './lease.js';
import { closeStream, discard } from './memory-release.js';
import type { CloseReport, PoolEvents } from './pool-events.js';
import type { RegisteredRegion } from './region.js';
import { Resizer } from './resizer.js';
import { Retirements } from './retirements.js';
import { isUnreachable } from './server-texts.js';
import { limited, throwIfAborted, within } from './settle.js';
import type { Slot } from './slot.js';
import type { SlotMemory, SlotMemoryFactory } from './slot-memory.js';
import type { SlotOwner, SlotState } from './slot-owner.js';
import { SlotRelease } from './slot-release.js';
import { warn } from './warnings.js';

/** How long the last steps of a close may wait for the server after the drain, in milliseconds. */
const FINAL_STEPS_MS = 2000;

/** How long a region that is not a slot's any more may take to be released, in milliseconds. */
const LEAVE_MS = 5000;

/** Between two attempts to register with a server that is away, in milliseconds. */
const RETRY_MS = 250;

export interface KeeperOptions {
  readonly name: string;
  /** How many slots the pool is opened with. */
  readonly slots: number;
  /** How many regions whose memory had to be kept are replaced. */
  readonly maxRetired: number;
  readonly queueLimit: number;
  readonly factory: SlotMemoryFactory;
  makeSlot(memory: SlotMemory): Slot;
  announce<E extends keyof PoolEvents>(event: E, payload: PoolEvents[E][0]): void;
}

export class SlotKeeper implements SlotOwner {
  readonly dispenser: Dispenser<Slot, Lease>;
  readonly resizer: Resizer;
  readonly #options: KeeperOptions;
  readonly #slots = new Set<Slot>();
  /** Aborted when nobody waits for the server any longer. */
  readonly #lastCall = new AbortController();
  readonly #repairs = new Set<Promise<void>>();
  readonly #retirements: Retirements;
  readonly #release: SlotRelease;
  readonly #lost: Gathered<string>;
  readonly #drain = new Drain(() => this.#isDrained());
  #restoring = false;
  /** Slots out of service whose regions are not released yet. */
  #leaving = 0;
  #state: 'open' | 'draining' | 'finishing' = 'open';

  constructor(options: KeeperOptions) {
    this.#options = options;
    const { name, slots, queueLimit } = options;
    this.dispenser = new Dispenser((slot: Slot) => slot.lend(), queueLimit, `pool '${name}'`);
    this.resizer = new Resizer(this, slots, `Pool '${name}'`);
    this.#retirements = new Retirements(name, (retirement) => options.announce('retire', retirement));
    this.#release = new SlotRelease(this.#retirements);
    this.#lost = new Gathered((reasons) => {
      const smaller = reasons.length === 1 ? 'one slot smaller' : `${reasons.length} slots smaller`;
      warn('ZEROHOP_SLOT_LOST', `Pool '${name}' is ${smaller}: ${reasons[0]}`);
    });
    setMaxListeners(0, this.#lastCall.signal);
  }

  add(slot: Slot): void {
    this.#slots.add(slot);
    this.dispenser.put(slot);
  }

  get lastCall(): AbortSignal {
    return this.#lastCall.signal;
  }

  get size(): number {
    return this.#slots.size;
  }

  get retired(): number {
    return this.#retirements.count;
  }

  get leaving(): number {
    return this.#leaving;
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
    if (this.#slots.size > 0 || this.resizer.growing) return undefined;
    return new PoolError(
      'ERR_POOL_EXHAUSTED',
      `Every slot of pool '${name}' had to be retired: open a new one, or resize it`,
    );
  }

  slotFree(slot: Slot): void {
    if (this.#state !== 'open') this.#drain.check();
    else if (this.resizer.surplus === 0) this.dispenser.put(slot);
    else {
      this.#leave(slot);
      this.resizer.check();
    }
  }

  /** Makes one more slot, for the resizer. */
  async grow(signal: AbortSignal): Promise<void> {
    const memory = await this.#options.factory.create(signal);
    let slot: Slot;
    try {
      throwIfAborted(signal);
      // The client, closed meanwhile, may refuse to prepare the request.
      slot = this.#options.makeSlot(memory);
    } catch (error) {
      await discard(memory);
      throw error;
    }
    this.#slots.add(slot);
    // The wish may have changed meanwhile.
    this.slotFree(slot);
  }

  /** Takes idle slots out of service, for the resizer. */
  shed(count: number): void {
    for (const slot of this.dispenser.drain(count)) this.#leave(slot);
  }

  /** When no slot is left, nor to come, nobody waits for one any longer. */
  checkExhausted(): void {
    const refusal = this.refusal();
    if (refusal !== undefined) this.dispenser.failAll(refusal);
  }

  /** Takes an idle slot out of service, and releases its region the way that is proven. */
  #leave(slot: Slot): void {
    this.#slots.delete(slot);
    this.#leaving += 1;
    const signal = limited(LEAVE_MS, this.#lastCall.signal);
    const released = this.#release.release(slot, signal).then(() => {
      this.#leaving -= 1;
      this.resizer.check();
    });
    this.#repair(released);
  }

  // The last steps of a close prove or retire every region themselves; an answer may come when a slot's stream is gone.
  slotLost(slot: Slot): void {
    if (this.#state !== 'finishing') this.#repair(this.#quarantine(slot));
  }

  slotFailed(slot: Slot, why: string): void {
    if (this.#state !== 'finishing') this.#repair(this.#giveUpFailed(slot, why));
  }

  regionMissing(slot: Slot): void {
    this.#options.announce('restart', { region: slot.memory.region?.name ?? '' });
    if (this.#restoring) return;
    this.#restoring = true;
    this.#repair(
      this.#restoreIdle().finally(() => {
        this.#restoring = false;
      }),
    );
  }

  moving(work: Promise<void>): void {
    const over = work.catch(() => undefined);
    this.#repair(over);
  }

  async releaseRegion(region: RegisteredRegion): Promise<void> {
    this.#release.released(region, await region.release(limited(LEAVE_MS, this.#lastCall.signal)));
  }

  #repair(work: Promise<void>): void {
    this.#repairs.add(work);
    void work.then(() => {
      this.#repairs.delete(work);
      this.#drain.check();
    });
  }

  /** Registers the idle slots that the server has lost too; those in use find out by themselves. */
  async #restoreIdle(): Promise<void> {
    const idle = this.dispenser.drain();
    for (const slot of idle) {
      try {
        if (this.#state === 'open') await this.#restore(slot);
      } catch {
        // The slot's next request registers it, and reports why it can't.
      }
      this.slotFree(slot);
    }
  }

  /** Held like other work on the slot, so that a close gives the region up when the server does not answer. */
  #restore(slot: Slot): Promise<void> {
    const restore = async () => {
      if (!(await slot.memory.region?.isListed())) await slot.restore();
    };
    const work = restore();
    slot.hold(work);
    return within(work, { signal: this.#lastCall.signal });
  }

  async #quarantine(slot: Slot): Promise<void> {
    const { region } = slot.memory;
    if (region === undefined) return;
    this.#options.announce('quarantine', { region: region.name });
    await this.#release.proveAndFree(slot, region, this.#lastCall.signal);
    await this.#replace(slot);
  }

  async #giveUpFailed(slot: Slot, why: string): Promise<void> {
    const { region } = slot.memory;
    if (region !== undefined) this.#release.retire(region, why);
    await this.#replace(slot);
  }

  /** Gives a slot whose region is gone fresh memory, or takes it out of service. */
  async #replace(slot: Slot): Promise<void> {
    await closeStream(slot, this.#lastCall.signal);
    const memory = this.#mayReplace() ? await this.#freshMemory(slot.memory.region) : undefined;
    if (memory !== undefined) {
      if (this.#revive(slot, memory)) return;
      await discard(memory);
    }
    this.#slots.delete(slot);
    this.checkExhausted();
    this.resizer.check();
  }

  #mayReplace(): boolean {
    if (this.#state !== 'open' || this.resizer.surplus > 0) return false;
    const { maxRetired } = this.#options;
    if (this.#retirements.kept <= maxRetired) return true;
    this.#lost.add(`more than ${maxRetired} regions had to be given up with their memory (maxRetired)`);
    return false;
  }

  /** False when the client or the pool, closed meanwhile, has no use for the memory. */
  #revive(slot: Slot, memory: SlotMemory): boolean {
    if (this.#state === 'finishing') return false;
    try {
      slot.revive(memory);
    } catch (error) {
      this.#lost.add(messageOf(error));
      return false;
    }
    this.slotFree(slot);
    return true;
  }

  /** Waits for a server that is away. Undefined when the pool closes, or when the memory can't be had. */
  async #freshMemory(old: RegisteredRegion | undefined): Promise<SlotMemory | undefined> {
    const { signal } = this.#lastCall;
    while (this.#state === 'open' && this.resizer.surplus === 0) {
      try {
        // A server that does not answer is offered no memory: it could not be freed before it does.
        if (old !== undefined) await within(old.isListed(), { signal });
        return await this.#options.factory.create(signal);
      } catch (error) {
        if (signal.aborted) return undefined;
        if (!isUnreachable(error)) {
          this.#lost.add(messageOf(error));
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
    // Memory that was being made is given back meanwhile: a silent server must not hold up one after the other.
    const resized = this.resizer.close(reason);
    await this.#drain.wait(drainMs);
    this.#state = 'finishing';
    const timer = setTimeout(() => this.#lastCall.abort(), FINAL_STEPS_MS);
    await Promise.all([resized, ...[...this.#slots].map((slot) => this.#finish(slot))]);
    while (this.#repairs.size > 0) await Promise.all(this.#repairs);
    clearTimeout(timer);
    this.#slots.clear();
    this.dispenser.drain();
    this.#retirements.flush();
    this.#lost.flush();
    return { unproven: this.#release.unproven };
  }

  /** Ends the wait of a close for slots in use, also of one that has not come to it. */
  endDrain(): void {
    this.#drain.end();
  }

  #isDrained(): boolean {
    if (this.#repairs.size > 0) return false;
    for (const slot of this.#slots) if (slot.state !== 'idle') return false;
    return true;
  }

  /** Releases one slot's region for good. Quarantined slots are seen to by their own repair. */
  async #finish(slot: Slot): Promise<void> {
    const isSeenTo = slot.state === 'quarantined';
    // A device that failed may put the slot into quarantine now, too late for a repair.
    slot.revoke();
    if (slot.memory.region === undefined || isSeenTo) return;
    const { signal } = this.#lastCall;
    if (!slot.inFlight) return this.#release.release(slot, signal);
    await this.#release.proveAndFree(slot, slot.memory.region, signal);
    await closeStream(slot, signal);
  }
}
