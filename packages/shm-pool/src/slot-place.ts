/** Where a slot's tensors lie, and how they move. They may move only when nothing uses the memory: no request, no work. */

import type { SlotPlan } from './layout.js';
import { fallsBehind, type PoolPlan } from './pool-plan.js';
import type { SlotModel } from './request-variant.js';
import { isUnreachable } from './server-texts.js';
import { within } from './settle.js';
import { copyBytes, type SlotMemory, type SlotMemoryFactory } from './slot-memory.js';
import type { SlotOwner } from './slot-owner.js';
import { SlotRequest } from './slot-request.js';

export class SlotPlace {
  readonly request: SlotRequest;
  readonly #owner: SlotOwner;
  readonly #plan: PoolPlan;
  readonly #factory: SlotMemoryFactory;
  #memory: SlotMemory;
  /** False after a refused re-registration: the next request has to register first. */
  #registered = true;
  /** A plan of the pool for which no memory could be had. */
  #declined: SlotPlan | undefined;

  constructor(owner: SlotOwner, model: SlotModel, plan: PoolPlan, factory: SlotMemoryFactory, memory: SlotMemory) {
    this.#owner = owner;
    this.#plan = plan;
    this.#factory = factory;
    this.#memory = memory;
    this.request = new SlotRequest(model, memory);
  }

  get memory(): SlotMemory {
    return this.#memory;
  }

  get factory(): SlotMemoryFactory {
    return this.#factory;
  }

  /** Whether the next request can leave as things are. */
  get ready(): boolean {
    return this.#registered && !this.#isOutgrown();
  }

  /** The pool's plan has grown since this slot's memory was made. */
  #isOutgrown(): boolean {
    const { current } = this.#plan;
    return current !== this.#declined && fallsBehind(this.#memory.plan, current);
  }

  async makeReady(): Promise<void> {
    if (!this.#registered) await this.restore();
    if (!this.#isOutgrown()) return;
    const { current } = this.#plan;
    try {
      await this.#relocate(current);
    } catch (error) {
      // The memory that the slot has is good for smaller outputs; a larger one will say why there is no more.
      if (!isUnreachable(error)) this.#declined = current;
    }
  }

  /** Registers the memory anew after the server lost its region; the blocks keep their bytes. */
  async restore(): Promise<void> {
    const { region } = this.#memory;
    if (region === undefined) return;
    this.#registered = false;
    if (await region.reregister()) this.moveTo(this.#memory);
    // Unknown to a request and listed all the same, as behind a load balancer: leave that registration alone.
    else await this.#relocate(this.#plan.current);
  }

  /** Memory by a plan with larger outputs, which becomes the pool's. The inputs keep their bytes. */
  async grow(plan: SlotPlan): Promise<void> {
    await this.#relocate(plan);
    this.#plan.adopt(plan);
  }

  #relocate(plan: SlotPlan): Promise<void> {
    const work = this.#move(plan);
    this.#owner.moving(work);
    return work;
  }

  /** Ends with the owner's last call, and then has told it of both regions. */
  async #move(plan: SlotPlan): Promise<void> {
    const { lastCall } = this.#owner;
    const old = this.#memory;
    const fresh = await this.#factory.create(lastCall, { plan, stream: old.stream });
    try {
      await within(copyBytes(old, fresh, plan.inputByteLength), { signal: lastCall });
      this.moveTo(fresh);
    } catch (error) {
      if (fresh.region !== undefined) await this.#owner.releaseRegion(fresh.region);
      throw error;
    }
    if (old.region !== undefined) await this.#owner.releaseRegion(old.region);
  }

  /** Ends every view given out so far. */
  endViews(): void {
    this.#memory.endViews();
    this.request.viewAnew();
  }

  /** Takes memory whose region is registered, and prepares the requests for it. */
  moveTo(memory: SlotMemory): void {
    this.request.moveTo(memory);
    this.#memory = memory;
    this.#registered = true;
  }
}
