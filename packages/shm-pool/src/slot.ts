/** One slot: its memory, its prepared request, and everything that keeps it from being lent again. */
import type { Device, Stream } from '@zerohop/cuda-native';
import type { MemoryKind } from '@zerohop/cuda-native/tensor';
import { checkedMs, checkSignal } from './check.js';
import type { ClientCall, ClientCallOptions, ClientRequest, ClientResult, Settlement, TensorClient } from './client.js';
import { asError, PoolError } from './errors.js';
import { type SlotPlan, unknownTensor } from './layout.js';
import { Lease } from './lease.js';
import type { Release, SharedRegion } from './region.js';
import { outputTooLarge, Reply } from './reply.js';
import { missingRegion, tooSmallOutput } from './server-texts.js';
import { settlementNow, within } from './settle.js';
import { copyBytes, type SlotMemory, type SlotMemoryFactory, SlotTensor } from './slot-memory.js';
import { describeRequest, type InferOptions, individualRequest, isIndividual, remaining } from './slot-request.js';

/** `'detached'`: the server may still be at the lost lease's request. `'quarantined'`: the second proof is under way. */
export type SlotState = 'idle' | 'leased' | 'detached' | 'quarantined';

/** The pool, as its slots see it. */
export interface SlotOwner {
  /** Nothing uses the slot any more. */
  slotFree(slot: Slot): void;
  /** The connection ended without an answer: the slot's region needs the second proof. */
  slotLost(slot: Slot): void;
  /** The device failed under the slot's stream: its memory can't be used again. */
  slotFailed(slot: Slot, cause: unknown): void;
  /** The server does not know the slot's region: others may be missing too. */
  regionMissing(slot: Slot): void;
  /** A region without an unanswered request was released, or could not be. */
  regionReleased(region: SharedRegion, release: Release): void;
}

export interface SlotModel {
  readonly client: TensorClient;
  readonly model: string;
  readonly version: string | undefined;
  readonly plan: SlotPlan;
}

interface Prepared {
  infer(options?: ClientCallOptions): ClientCall;
}

export class Slot {
  state: SlotState = 'idle';
  readonly #owner: SlotOwner;
  readonly #model: SlotModel;
  readonly #factory: SlotMemoryFactory;
  readonly #inputs: readonly SlotTensor[];
  readonly #outputs: readonly SlotTensor[];
  #memory: SlotMemory;
  #request: ClientRequest = { inputs: {} };
  #prepared: Prepared | undefined;
  /** False after a refused re-registration: the next request has to register first. */
  #registered = true;
  #lease: Lease | undefined;
  /** The last answer that was found to be what the slot was planned for. */
  #checkedResult: ClientResult | undefined;
  #inFlight = false;
  #holds = 0;
  #whenNoHolds: (() => void)[] = [];

  constructor(owner: SlotOwner, model: SlotModel, factory: SlotMemoryFactory, memory: SlotMemory) {
    this.#owner = owner;
    this.#model = model;
    this.#factory = factory;
    this.#inputs = model.plan.inputs.map((plan) => new SlotTensor(plan));
    this.#outputs = model.plan.outputs.map((plan) => new SlotTensor(plan));
    this.#memory = memory;
    this.moveTo(memory);
  }

  get kind(): MemoryKind {
    return this.#memory.kind;
  }

  get device(): Device | undefined {
    return this.#factory.device;
  }

  get stream(): Stream | undefined {
    return this.#memory.stream;
  }

  get memory(): SlotMemory {
    return this.#memory;
  }

  /** A request of this slot is not answered yet. */
  get inFlight(): boolean {
    return this.#inFlight;
  }

  input(name: string): SlotTensor {
    return this.#tensor('input', this.#inputs, name);
  }

  output(name: string): SlotTensor {
    return this.#tensor('output', this.#outputs, name);
  }

  #tensor(role: string, tensors: readonly SlotTensor[], name: string): SlotTensor {
    for (const tensor of tensors) if (tensor.plan.name === name) return tensor;
    const known = tensors.map((tensor) => tensor.plan.name);
    throw unknownTensor(this.#model.model, role, name, known);
  }

  /** Lends the slot; only when it is idle. */
  lend(): Lease {
    if (this.state !== 'idle') throw new Error(`A slot that is ${this.state} cannot be lent`);
    this.state = 'leased';
    this.#lease = new Lease(this);
    return this.#lease;
  }

  hold(work: Promise<unknown>): void {
    this.#holds += 1;
    work.then(this.#holdDone, this.#holdDone);
  }

  readonly #holdDone = (): void => {
    this.#holds -= 1;
    if (this.#holds > 0) return;
    for (const resume of this.#whenNoHolds.splice(0)) resume();
    if (this.#lease === undefined) this.#settle();
  };

  /** Resolves when no work holds the slot and its stream is idle. Rejects when the device failed. */
  async quiet(): Promise<void> {
    while (this.#holds > 0) await new Promise<void>((resolve) => this.#whenNoHolds.push(resolve));
    const { stream } = this.#memory;
    if (stream !== undefined && !stream.query()) await stream.done();
  }

  #isQuiet(): boolean {
    return this.#holds === 0 && (this.#memory.stream === undefined || this.#memory.stream.query());
  }

  /** As `#isQuiet`; a failed device is left to `quiet()` to report. */
  #canSendNow(): boolean {
    try {
      return this.#isQuiet();
    } catch {
      return false;
    }
  }

  #failed(cause: unknown): void {
    this.state = 'quarantined';
    this.#owner.slotFailed(this, cause);
  }

  leaseEnded(lease: Lease): void {
    if (this.#lease !== lease) return;
    this.#lease = undefined;
    if (!this.#inFlight) this.#settle();
  }

  /** Ends the current lease from outside: no further access through it. */
  revoke(): void {
    if (this.#inFlight) this.state = 'detached';
    const lease = this.#lease;
    if (lease === undefined) return;
    lease.spend();
    this.leaseEnded(lease);
  }

  /** Gives the slot back as soon as nothing uses it. */
  #settle(): void {
    if (this.#inFlight || this.#holds > 0 || this.state === 'idle' || this.state === 'quarantined') return;
    let quiet: boolean;
    try {
      quiet = this.#isQuiet();
    } catch (error) {
      this.#failed(error);
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
    const { signal, timeoutMs } = options ?? {};
    checkSignal('signal', signal);
    const deadline = timeoutMs === undefined ? undefined : performance.now() + checkedMs('timeoutMs', timeoutMs, 1, 1);
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    this.#inFlight = true;
    return this.#registered && this.#canSendNow()
      ? this.#send(lease, options, deadline, true)
      : this.#sendWhenReady(lease, options, deadline);
  }

  async #sendWhenReady(lease: Lease, options: InferOptions | undefined, deadline: number | undefined): Promise<Reply> {
    try {
      await within(this.quiet(), { signal: options?.signal, deadline });
      if (!this.#registered) await this.#restoreWithin(options, deadline);
    } catch (error) {
      this.#ended(lease, 'not-sent');
      throw error;
    }
    return this.#send(lease, remaining(options, deadline), deadline, true);
  }

  #send(
    lease: Lease,
    options: InferOptions | undefined,
    deadline: number | undefined,
    mayRetry: boolean,
  ): Promise<Reply> {
    let call: ClientCall;
    try {
      call = this.#call(options);
    } catch (error) {
      this.#ended(lease, 'answered');
      return Promise.reject(asError(error));
    }
    return call.then(
      (result) => this.#answered(lease, result),
      (error: unknown) => this.#refused(lease, call, error, options, deadline, mayRetry),
    );
  }

  #call(options: InferOptions | undefined): ClientCall {
    if (isIndividual(options)) {
      return this.#model.client.infer(this.#model.model, individualRequest(this.#request, options), options);
    }
    return this.#prepared === undefined
      ? this.#model.client.infer(this.#model.model, this.#request, options)
      : this.#prepared.infer(options);
  }

  #answered(lease: Lease, result: ClientResult): Reply {
    this.#ended(lease, 'answered');
    // A client may give the same object for an answer that repeats.
    const reply = new Reply(lease, result, this.#outputs, { checked: result === this.#checkedResult });
    this.#checkedResult = result;
    return reply;
  }

  async #refused(
    lease: Lease,
    call: ClientCall,
    error: unknown,
    options: InferOptions | undefined,
    deadline: number | undefined,
    mayRetry: boolean,
  ): Promise<Reply> {
    const settlement = await settlementNow(call);
    if (settlement === undefined) {
      // Detached: the caller has its rejection now, the slot comes back with the server's own answer.
      this.revoke();
      void call.settled.then((later) => this.#ended(lease, later));
      throw error;
    }
    const missing = settlement === 'answered' ? missingRegion(error) : undefined;
    if (mayRetry && missing !== undefined && missing === this.#memory.region?.name) {
      this.#owner.regionMissing(this);
      try {
        await this.#restoreWithin(options, deadline);
      } catch (cause) {
        this.#ended(lease, 'not-sent');
        throw cause;
      }
      return this.#send(lease, remaining(options, deadline), deadline, false);
    }
    this.#ended(lease, settlement);
    const needed = tooSmallOutput(error);
    if (needed === undefined) throw error;
    const planned = this.#outputs.find((tensor) => tensor.plan.name === needed.output)?.plan.byteLength;
    throw outputTooLarge(needed.output, needed.byteLength, planned, error);
  }

  /** The request is over. Only an answer leaves the lease as it was. */
  #ended(lease: Lease, settlement: Settlement): void {
    if (settlement === 'lost' && this.#memory.region !== undefined) {
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

  async #restoreWithin(options: InferOptions | undefined, deadline: number | undefined): Promise<void> {
    const work = this.restore();
    // An abort must not give the slot back while its memory is being registered.
    this.hold(work);
    await within(work, { signal: options?.signal, deadline });
  }

  /** Registers the slot anew after the server lost its region; the blocks keep their bytes. Nothing may be in flight. */
  async restore(): Promise<void> {
    const { region } = this.#memory;
    if (region === undefined) return;
    this.#registered = false;
    if (await region.reregister()) {
      this.moveTo(this.#memory);
      return;
    }
    // Unknown to a request and listed all the same, as behind a load balancer: leave that registration alone.
    const old = this.#memory;
    const fresh = await this.#factory.create();
    await copyBytes(old, fresh, this.#model.plan.inputByteLength);
    this.moveTo(fresh);
    this.#owner.regionReleased(region, await region.release(AbortSignal.timeout(5000)));
    await old.stream?.close();
  }

  /** Takes memory whose region is registered, and prepares the request for it. */
  moveTo(memory: SlotMemory): void {
    this.#memory = memory;
    for (const tensor of this.#inputs) tensor.moveTo(memory);
    if (memory.region !== undefined) for (const tensor of this.#outputs) tensor.moveTo(memory);
    const { client, model } = this.#model;
    this.#request = describeRequest(this.#inputs, this.#outputs, memory.region?.name, this.#model.version);
    // In the message the bytes are part of the request, so that it has to be encoded anew each time.
    this.#prepared = memory.region === undefined ? undefined : client.prepare(model, this.#request);
    this.#registered = true;
  }

  /** Back in service with fresh memory, after the second proof or a retirement. */
  revive(memory: SlotMemory): void {
    this.#inFlight = false;
    this.moveTo(memory);
    this.state = 'idle';
  }
}
