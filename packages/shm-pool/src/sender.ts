/** The way of one request of a slot: what it waits for, its answer, and what happens when it is refused. */
import type { ClientCall, ClientResult, Settlement } from './client.js';
import { asError, wrongType } from './errors.js';
import { type InferOptions, remaining } from './infer-options.js';
import type { Lease } from './lease.js';
import { type Attempt, FIRST_ATTEMPT, type Remedies, type Remedy } from './remedies.js';
import { Reply } from './reply.js';
import type { RequestVariant } from './request-variant.js';
import { settlementNow, settlementOf } from './settle.js';
import type { SlotPlace } from './slot-place.js';
import { closedBeforeSending, WaitToSend } from './wait-to-send.js';

/** The slot, as its requests see it. */
export interface SenderHost {
  /** Resolves when no work holds the slot and its stream is idle. */
  quiet(): Promise<void>;
  hold(work: Promise<unknown>): void;
  /** The caller has given up on a request that the server may still be at. */
  detach(): void;
  /** The request's lease was ended from outside, as by a close of the pool: the memory may be freed at any moment. */
  isRevoked(): boolean;
  /** Exactly once for each request, unless it was given up before it left. */
  ended(lease: Lease, settlement: Settlement): void;
}

export class Sender {
  readonly #place: SlotPlace;
  readonly #remedies: Remedies;
  readonly #host: SenderHost;
  /** Of a request that has not left. */
  readonly #wait = new WaitToSend();
  /** The last answer that was found to be what the slot was planned for, and to what. */
  #checkedResult: ClientResult | undefined;
  #checkedRequest: RequestVariant | undefined;

  constructor(place: SlotPlace, remedies: Remedies, host: SenderHost) {
    this.#place = place;
    this.#remedies = remedies;
    this.#host = host;
  }

  /** Ends the wait of a request that has not left, so that it never does. @returns whether there was one */
  giveUp(): boolean {
    return this.#wait.giveUp();
  }

  /** `atOnce`: nothing is to be waited for. */
  send(lease: Lease, options: InferOptions | undefined, atOnce: boolean): Promise<Reply> {
    const timeoutMs = options?.timeoutMs;
    const deadline = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
    return atOnce ? this.#send(lease, options, deadline, FIRST_ATTEMPT) : this.#sendWhenReady(lease, options, deadline);
  }

  async #sendWhenReady(lease: Lease, options: InferOptions | undefined, deadline: number | undefined): Promise<Reply> {
    await this.#waitToSend(lease, this.#host.quiet(), options, deadline);
    if (!this.#place.ready) await this.#waitToMove(lease, this.#place.makeReady(), options, deadline);
    return this.#send(lease, remaining(options, deadline), deadline, FIRST_ATTEMPT);
  }

  /** Waits for what comes before the request. When that fails, takes too long or the lease is revoked, it is over. */
  async #waitToSend(
    lease: Lease,
    work: Promise<void>,
    options: InferOptions | undefined,
    deadline: number | undefined,
    ifFailed: () => Settlement = () => 'not-sent',
  ): Promise<void> {
    try {
      await this.#wait.for(work, { signal: options?.signal, deadline });
    } catch (error) {
      this.#host.ended(lease, ifFailed());
      throw error;
    }
  }

  /** As `#waitToSend`, for memory that is being registered or moved: when that fails, the slot is as it was, and the lease. */
  #waitToMove(
    lease: Lease,
    work: Promise<void>,
    options: InferOptions | undefined,
    deadline: number | undefined,
  ): Promise<void> {
    let failed = false;
    work.catch(() => {
      failed = true;
    });
    // An abort must not give the slot back meanwhile.
    this.#host.hold(work);
    return this.#waitToSend(lease, work, options, deadline, () => (failed ? 'answered' : 'not-sent'));
  }

  #send(
    lease: Lease,
    options: InferOptions | undefined,
    deadline: number | undefined,
    attempt: Attempt,
  ): Promise<Reply> {
    // Since the end of whatever it waited for, too.
    if (this.#host.isRevoked()) {
      this.#host.ended(lease, 'not-sent');
      return Promise.reject(closedBeforeSending());
    }
    let request: RequestVariant;
    let call: ClientCall;
    try {
      request = this.#place.request.variant(options);
      call = request.send(options);
    } catch (error) {
      this.#host.ended(lease, 'answered');
      return Promise.reject(asError(error));
    }
    if (typeof (call as Partial<ClientCall> | undefined | null)?.then !== 'function') {
      // Sent or not: nothing will say.
      this.#host.ended(lease, 'lost');
      return Promise.reject(wrongType("what the client's infer returns", 'promise', call));
    }
    return call.then(
      (result) => this.#answered(lease, request, result, attempt),
      (error: unknown) => this.#refused(lease, call, error, options, deadline, attempt),
    );
  }

  #answered(lease: Lease, request: RequestVariant, result: ClientResult, { runs }: Attempt): Reply {
    this.#host.ended(lease, 'answered');
    // A client may give the same object for an answer that repeats.
    const checked = result === this.#checkedResult && request === this.#checkedRequest;
    const reply = new Reply(lease, result, request.outputs, { all: this.#place.request.outputs, runs, checked });
    this.#checkedResult = result;
    this.#checkedRequest = request;
    return reply;
  }

  async #refused(
    lease: Lease,
    call: ClientCall,
    error: unknown,
    options: InferOptions | undefined,
    deadline: number | undefined,
    attempt: Attempt,
  ): Promise<Reply> {
    const settlement = await settlementNow(call);
    if (settlement === undefined) {
      // Detached: the caller has its rejection now, the slot comes back with the server's own answer.
      this.#host.detach();
      void settlementOf(call).then((later) => this.#host.ended(lease, later));
      throw error;
    }
    let remedy: Remedy | undefined;
    let reason = error;
    try {
      if (settlement === 'answered' && !this.#host.isRevoked()) remedy = this.#remedies.for(error, attempt, options);
    } catch (noRemedy) {
      reason = noRemedy;
    }
    if (remedy === undefined) {
      this.#host.ended(lease, settlement);
      throw reason;
    }
    // Not for holds: they may well wait for this answer.
    await this.#waitToMove(lease, remedy.apply(), options, deadline);
    return this.#send(lease, remaining(options, deadline), deadline, remedy.next);
  }
}
