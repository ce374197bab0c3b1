/** One slot: its memory, its prepared request, and everything that keeps it from being lent again. */
import type { Device, Stream } from '@zerohop/cuda-native';
import type { MemoryKind } from '@zerohop/cuda-native/tensor';
import type { ClientCall, ClientResult, Settlement } from './client.js';
import { asError, PoolError } from './errors.js';
import { Holds } from './holds.js';
import { Lease } from './lease.js';
import { outputTooLarge, Reply } from './reply.js';
import { missingRegion, tooSmallOutput } from './server-texts.js';
import { settlementNow, within } from './settle.js';
import { copyBytes, type SlotMemory, type SlotMemoryFactory, type SlotTensor } from './slot-memory.js';
import type { SlotOwner, SlotState } from './slot-owner.js';
import { checkInferOptions, type InferOptions, remaining, type SlotModel, SlotRequest } from './slot-request.js';

export class Slot {
  state: SlotState = 'idle';
  readonly #owner: SlotOwner;
  readonly #inputByteLength: number;
  readonly #factory: SlotMemoryFactory;
  readonly #request: SlotRequest;
  readonly #holds = new Holds(() => {
    if (this.#lease === undefined) this.#settle();
  });
  #memory: SlotMemory;
  /** False after a refused re-registration: the next request has to register first. */
  #registered = true;
  #lease: Lease | undefined;
  /** The last answer that was found to be what the slot was planned for. */
  #checkedResult: ClientResult | undefined;
  #inFlight = false;
  /** Ends the wait of a request that has not left. */
  #stopWaiting: ((reason: Error) => void) | undefined;

  constructor(owner: SlotOwner, model: SlotModel, factory: SlotMemoryFactory, memory: SlotMemory) {
    this.#owner = owner;
    this.#inputByteLength = model.plan.inputByteLength;
    this.#factory = factory;
    this.#request = new SlotRequest(model);
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

  /** A request of this slot waits to leave, or is not answered yet. */
  get inFlight(): boolean {
    return this.#inFlight;
  }

  input(name: string): SlotTensor {
    return this.#request.input(name);
  }

  output(name: string): SlotTensor {
    return this.#request.output(name);
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
    const { stream } = this.#memory;
    if (stream !== undefined && !stream.query()) await stream.done();
  }

  #isQuiet(): boolean {
    return this.#holds.none && (this.#memory.stream === undefined || this.#memory.stream.query());
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

  /** Ends the current lease from outside: no further access through it, and a request that has not left never does. */
  revoke(): void {
    if (this.#stopWaiting !== undefined) {
      this.#stopWaiting(closedBeforeSending());
      this.#stopWaiting = undefined;
      this.#inFlight = false;
    }
    if (this.#inFlight) this.state = 'detached';
    const lease = this.#lease;
    if (lease === undefined) return;
    lease.spend();
    this.leaseEnded(lease);
  }

  /** Gives the slot back as soon as nothing uses it. */
  #settle(): void {
    if (this.#inFlight || !this.#holds.none || this.state === 'idle' || this.state === 'quarantined') return;
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
    checkInferOptions(options);
    const signal = options?.signal;
    const timeoutMs = options?.timeoutMs;
    const deadline = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    this.#inFlight = true;
    return this.#registered && this.#canSendNow()
      ? this.#send(lease, options, deadline, true)
      : this.#sendWhenReady(lease, options, deadline);
  }

  async #sendWhenReady(lease: Lease, options: InferOptions | undefined, deadline: number | undefined): Promise<Reply> {
    await this.#waitToSend(lease, this.quiet(), options, deadline);
    if (!this.#registered) await this.#waitToSend(lease, this.#restoreHeld(), options, deadline);
    return this.#send(lease, remaining(options, deadline), deadline, true);
  }

  /** Waits for what comes before the request. When that fails, takes too long or the lease is revoked, it is over. */
  async #waitToSend(
    lease: Lease,
    work: Promise<void>,
    options: InferOptions | undefined,
    deadline: number | undefined,
  ): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        this.#stopWaiting = reject;
        within(work, { signal: options?.signal, deadline }).then(resolve, reject);
      });
      // Revoked after the work was done, in the same turn.
      if (this.#stopWaiting === undefined) throw closedBeforeSending();
    } catch (error) {
      this.#ended(lease, 'not-sent');
      throw error;
    } finally {
      this.#stopWaiting = undefined;
    }
  }

  #send(
    lease: Lease,
    options: InferOptions | undefined,
    deadline: number | undefined,
    mayRetry: boolean,
  ): Promise<Reply> {
    let call: ClientCall;
    try {
      call = this.#request.send(options);
    } catch (error) {
      this.#ended(lease, 'answered');
      return Promise.reject(asError(error));
    }
    return call.then(
      (result) => this.#answered(lease, result),
      (error: unknown) => this.#refused(lease, call, error, options, deadline, mayRetry),
    );
  }

  #answered(lease: Lease, result: ClientResult): Reply {
    this.#ended(lease, 'answered');
    // A client may give the same object for an answer that repeats.
    const reply = new Reply(lease, result, this.#request.outputs, { checked: result === this.#checkedResult });
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
      await this.#waitToSend(lease, this.#restoreHeld(), options, deadline);
      return this.#send(lease, remaining(options, deadline), deadline, false);
    }
    this.#ended(lease, settlement);
    const needed = tooSmallOutput(error);
    if (needed === undefined) throw error;
    const planned = this.#request.outputs.find((tensor) => tensor.plan.name === needed.output)?.plan.byteLength;
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

  #restoreHeld(): Promise<void> {
    const work = this.restore();
    // An abort must not give the slot back while its memory is being registered.
    this.hold(work);
    return work;
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
    await copyBytes(old, fresh, this.#inputByteLength);
    this.moveTo(fresh);
    this.#owner.regionReleased(region, await region.release(AbortSignal.timeout(5000)));
    await old.stream?.close();
  }

  /** Takes memory whose region is registered, and prepares the request for it. */
  moveTo(memory: SlotMemory): void {
    this.#memory = memory;
    this.#request.moveTo(memory);
    this.#registered = true;
  }

  /** Back in service with fresh memory, after the second proof or a retirement. */
  revive(memory: SlotMemory): void {
    this.#inFlight = false;
    this.moveTo(memory);
    this.state = 'idle';
  }
}

const closedBeforeSending = () =>
  new PoolError(
    'ERR_POOL_CLOSED',
    'The pool was closed while work on the blocks was awaited: the request was not sent',
  );
