/** One slot: its lease, its state, and everything that keeps it from being lent again. */
import type { Device, Stream } from '@zerohop/cuda-native';
import type { MemoryKind } from '@zerohop/cuda-native/tensor';
import type { Settlement } from './client.js';
import { asError, messageOf, PoolError } from './errors.js';
import { Holds } from './holds.js';
import { checkInferOptions, type InferOptions } from './infer-options.js';
import { Lease } from './lease.js';
import type { PoolPlan } from './pool-plan.js';
import { Remedies } from './remedies.js';
import type { Reply } from './reply.js';
import type { SlotModel } from './request-variant.js';
import { Sender } from './sender.js';
import type { SlotMemory, SlotMemoryFactory, SlotTensor } from './slot-memory.js';
import type { SlotOwner, SlotState } from './slot-owner.js';
import { SlotPlace } from './slot-place.js';

export class Slot {
  state: SlotState = 'idle';
  readonly #owner: SlotOwner;
  readonly #place: SlotPlace;
  readonly #sender: Sender;
  readonly #strictViews: boolean;
  readonly #holds = new Holds(() => {
    if (this.#lease !== undefined) return;
    if (this.#viewsOut) this.#endViews();
    this.#settle();
  });
  /** Views of a lease that is over are still out, for work that holds the slot. */
  #viewsOut = false;
  /** Why they could not be ended: the memory must not be lent again. */
  #viewsLeft: Error | undefined;
  #lease: Lease | undefined;
  #inFlight = false;

  constructor(owner: SlotOwner, model: SlotModel, plan: PoolPlan, factory: SlotMemoryFactory, memory: SlotMemory) {
    this.#owner = owner;
    this.#strictViews = model.strictViews;
    this.#place = new SlotPlace(owner, model, plan, factory, memory);
    const remedies = new Remedies(plan, this.#place, () => owner.regionMissing(this));
    this.#sender = new Sender(this.#place, remedies, {
      quiet: () => this.quiet(),
      hold: (work) => this.hold(work),
      detach: () => this.revoke(),
      isRevoked: () => this.state !== 'leased',
      ended: (lease, settlement) => this.#ended(lease, settlement),
    });
  }

  get kind(): MemoryKind {
    return this.memory.kind;
  }

  get device(): Device | undefined {
    return this.#place.factory.device;
  }

  get stream(): Stream | undefined {
    return this.memory.stream;
  }

  get memory(): SlotMemory {
    return this.#place.memory;
  }

  /** A request of this slot waits to leave, or is not answered yet. */
  get inFlight(): boolean {
    return this.#inFlight;
  }

  input(name: string): SlotTensor {
    return this.#place.request.input(name);
  }

  output(name: string): SlotTensor {
    return this.#place.request.output(name);
  }

  /** Lends the slot; only when it is idle. */
  lend(): Lease {
    if (this.state !== 'idle') throw new Error(`A slot that is ${this.state} cannot be lent`);
    this.state = 'leased';
    this.#lease = new Lease(this);
    return this.#lease;
  }

  hold(work: Promise<unknown>): void {
    this.#holds.add(work);
  }

  /** Resolves when no work holds the slot and its stream is idle. Rejects when the device failed. */
  async quiet(): Promise<void> {
    await this.#holds.ended();
    const { stream } = this;
    if (stream !== undefined && !stream.query()) await stream.done();
  }

  #isQuiet(): boolean {
    return this.#holds.none && (this.stream === undefined || this.stream.query());
  }

  /** As `#isQuiet`; a failed device is left to `quiet()` to report. */
  #canSendNow(): boolean {
    try {
      return this.#isQuiet();
    } catch {
      return false;
    }
  }

  #failed(why: string): void {
    this.state = 'quarantined';
    this.#owner.slotFailed(this, why);
  }

  leaseEnded(lease: Lease): void {
    if (this.#lease !== lease) return;
    this.#lease = undefined;
    if (this.#strictViews) this.#endViews();
    if (!this.#inFlight) this.#settle();
  }

  /** Ends the views that the last lease gave out, or leaves that to the end of the work that holds the slot. */
  #endViews(): void {
    this.#viewsOut = !this.#holds.none;
    if (this.#viewsOut) return;
    try {
      this.#place.endViews();
    } catch (error) {
      this.#viewsLeft = asError(error);
    }
  }

  /** Ends the current lease from outside: no further access through it, and a request that has not left never does. */
  revoke(): void {
    if (this.#sender.giveUp()) this.#inFlight = false;
    // A slot in quarantine is its repair's.
    if (this.#inFlight && this.state !== 'quarantined') this.state = 'detached';
    const lease = this.#lease;
    if (lease === undefined) return;
    lease.spend();
    this.leaseEnded(lease);
  }

  /** Gives the slot back as soon as nothing uses it. */
  #settle(): void {
    if (this.#inFlight || !this.#holds.none || this.state === 'idle' || this.state === 'quarantined') return;
    if (this.#viewsLeft !== undefined) {
      this.#failed(`views of its last lease could not be ended: ${this.#viewsLeft.message}`);
      return;
    }
    let quiet: boolean;
    try {
      quiet = this.#isQuiet();
    } catch (error) {
      this.#failed(`its device failed: ${messageOf(error)}`);
      return;
    }
    if (quiet) {
      this.state = 'idle';
      this.#owner.slotFree(this);
    } else {
      this.hold(this.quiet());
    }
  }

  infer(lease: Lease, options: InferOptions | undefined): Promise<Reply> {
    if (this.#inFlight) {
      return Promise.reject(
        new PoolError('ERR_LEASE_BUSY', 'A request of this lease is in flight: await its answer first'),
      );
    }
    checkInferOptions(options);
    // Wrong names and shapes are refused before anything waits.
    this.#place.request.variant(options);
    const signal = options?.signal;
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    this.#inFlight = true;
    return this.#sender.send(lease, options, this.#place.ready && this.#canSendNow());
  }

  /** The request is over. Only an answer leaves the lease as it was. */
  #ended(lease: Lease, settlement: Settlement): void {
    if (settlement === 'lost' && this.memory.region !== undefined) {
      this.revoke();
      this.state = 'quarantined';
      this.#owner.slotLost(this);
      return;
    }
    this.#inFlight = false;
    if (settlement !== 'answered') {
      lease.spend();
      this.leaseEnded(lease);
    }
    if (this.#lease === undefined) this.#settle();
  }

  /** Registers the slot anew after the server lost its region; the blocks keep their bytes. Nothing may be in flight. */
  restore(): Promise<void> {
    return this.#place.restore();
  }

  /** Back in service with fresh memory, after the second proof or a retirement. */
  revive(memory: SlotMemory): void {
    this.#inFlight = false;
    this.#place.moveTo(memory);
    this.#viewsLeft = undefined;
    this.state = 'idle';
  }
}
