import type { StatusObject } from '@grpc/grpc-js';
import type { Connection } from './connection.js';
import { decodeStreamAnswer, type StreamAnswer } from './decode.js';
import type { EncodedRequest } from './encode.js';
import { DisposedError, TritonError } from './errors.js';
import { Fifo } from './fifo.js';
import { GRPCInferenceServiceService as Service } from './gen/grpc_service.js';
import { Lane, type LaneEvents } from './lane.js';
import { errorOfDecoupled, errorOfEnd, errorOfLaneText, requestError, saysModelIsGone } from './lane-errors.js';
import { PendingRequest } from './pending-request.js';
import type { CallOptions, InferCall, Settlement } from './types.js';

export interface LanePoolOptions {
  readonly lanes: number;
  readonly maxDetached: number;
  readonly idleLaneMs: number;
  readonly controlTimeoutMs: number;
}

export interface LaneStats {
  /** Idle and busy lanes; bounded by the `lanes` option. */
  readonly open: number;
  readonly idle: number;
  readonly busy: number;
  /** Lanes that wait for the answer to a request that its caller gave up; bounded by `maxDetached`. */
  readonly detached: number;
}

/**
 * The lanes of one connection: opened when needed, the last one used first, a queue when all are busy.
 *
 * The rules come from what real servers do. One request a lane, since a stream answers in order. A lane that ends in
 * any way, with status OK too, rejects its request. A request whose caller has gone keeps its lane until the server
 * answers: nothing else proves that its memory is free. An idle lane is ended before long, and at once when the
 * server says that it leaves, since a server cannot exit while a stream is open.
 */
export class LanePool implements LaneEvents {
  readonly #connection: Connection;
  readonly #options: LanePoolOptions;
  readonly #queue = new Fifo<PendingRequest>();
  /** Every stream that has not ended yet. */
  readonly #lanes = new Set<Lane>();
  /** The coldest first. */
  readonly #idle: Lane[] = [];
  #busy = 0;
  #detached = 0;
  #sweeps = 0;
  #sweepTimer: NodeJS.Timeout | undefined;
  /** The epoch whose server said that it leaves. */
  #leavingEpoch = -1;
  #askingReady = false;
  #connecting = false;
  #closing: Promise<void> | undefined;
  #onDrained: (() => void) | undefined;
  #requests = 0;
  #lost = 0;
  #lanesOpened = 0;

  constructor(connection: Connection, options: LanePoolOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  get stats() {
    return {
      requests: this.#requests,
      queued: this.#queue.size,
      lost: this.#lost,
      lanesOpened: this.#lanesOpened,
      lanes: {
        open: this.#idle.length + this.#busy,
        idle: this.#idle.length,
        busy: this.#busy,
        detached: this.#detached,
      } satisfies LaneStats,
    };
  }

  submit(encoded: EncodedRequest, options?: CallOptions): InferCall {
    const request = new PendingRequest(encoded, options);
    if (this.#closing !== undefined) {
      finish(request, new DisposedError('The TritonClient'), 'not-sent');
    } else if (options?.signal?.aborted === true) {
      finish(request, options.signal.reason, 'not-sent');
    } else {
      this.#requests += 1;
      if (options !== undefined) request.watch(options, (reason) => this.#stop(request, reason));
      const lane = this.#idle.pop();
      if (lane !== undefined) this.#send(lane, request);
      else {
        this.#queue.push(request);
        this.#pump();
      }
    }
    return request.call;
  }

  onMessage(lane: Lane, message: Buffer): void {
    const { request } = lane;
    if (request === undefined) {
      // Nobody asked: an earlier request had more than one answer. The next one here would be taken for another's.
      this.#abandon(lane, 'an answer came that no request waits for');
      return;
    }
    let answer: StreamAnswer;
    try {
      answer = request.encoded.answers?.read(message) ?? decodeStreamAnswer(message);
    } catch (error) {
      this.#fail(lane, request, error);
      return;
    }
    const error = answer.error === undefined ? undefined : errorOfLaneText(answer.error, request.encoded);
    if (!answer.final) {
      this.#fail(lane, request, error ?? errorOfDecoupled(request.encoded));
      return;
    }
    this.#release(lane);
    if (error === undefined) request.resolve(answer.result);
    else request.reject(error);
    request.settle('answered');
    if (error !== undefined && saysModelIsGone(error)) this.#askWhetherServerLeaves();
    this.#next(lane);
  }

  onEnd(lane: Lane, status: StatusObject): void {
    const { request } = lane;
    this.#forget(lane);
    this.#lanes.delete(lane);
    if (request !== undefined) {
      this.#lose(lane, request, errorOfEnd(request.encoded, this.#connection.address.url, status));
    }
    this.#pump();
    this.#checkDrained();
  }

  /** Ends the lanes that wait for work; busy ones end after their answer. */
  endIdleLanes(): void {
    for (const lane of this.#idle.splice(0)) lane.halfClose();
  }

  /** Takes no new requests; waits for those that were taken, at most `timeoutMs`, and then cancels them. */
  close(timeoutMs: number): Promise<void> {
    this.#closing ??= this.#drain(timeoutMs);
    return this.#closing;
  }

  async #drain(timeoutMs: number): Promise<void> {
    this.endIdleLanes();
    clearTimeout(this.#sweepTimer);
    if (this.#drained()) return;
    const drained = new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
    const timer = setTimeout(() => this.#cancelAll(timeoutMs), timeoutMs);
    await drained;
    clearTimeout(timer);
  }

  #cancelAll(timeoutMs: number): void {
    for (let request = this.#queue.shift(); request !== undefined; request = this.#queue.shift()) {
      finish(request, new DisposedError('The TritonClient'), 'not-sent');
    }
    const details = `The client was closed, and no answer came within ${timeoutMs} ms`;
    for (const lane of [...this.#lanes]) {
      const { request } = lane;
      if (request === undefined) this.#abandon(lane, details);
      else this.#fail(lane, request, requestError(request.encoded, 'TRITON_CANCELLED', details));
    }
    this.#checkDrained();
  }

  #drained(): boolean {
    return this.#lanes.size === 0 && this.#queue.size === 0;
  }

  #checkDrained(): void {
    if (this.#drained()) this.#onDrained?.();
  }

  #send(lane: Lane, request: PendingRequest): void {
    lane.state = 'busy';
    this.#busy += 1;
    request.lane = lane;
    lane.send(request);
  }

  /** Gives waiting requests to the lanes that may be had, connecting first where that is needed. */
  #pump(): void {
    while (this.#queue.size > 0 && this.#idle.length + this.#busy < this.#options.lanes) {
      if (!this.#connection.ready) {
        this.#connect();
        return;
      }
      const lane = new Lane(this.#connection, this);
      this.#lanes.add(lane);
      this.#lanesOpened += 1;
      const request = this.#queue.shift();
      if (request !== undefined) this.#send(lane, request);
    }
  }

  #connect(): void {
    if (this.#connecting) return;
    this.#connecting = true;
    this.#connection.connect().then(
      () => {
        this.#connecting = false;
        this.#pump();
      },
      (error: unknown) => {
        this.#connecting = false;
        for (let request = this.#queue.shift(); request !== undefined; request = this.#queue.shift()) {
          finish(request, error, 'not-sent');
        }
        this.#checkDrained();
      },
    );
  }

  /** The request on `lane` is over and the lane is well. */
  #release(lane: Lane): void {
    if (lane.state === 'busy') this.#busy -= 1;
    else if (lane.state === 'detached') this.#detached -= 1;
    lane.state = 'idle';
    lane.request = undefined;
  }

  /** What a lane does after an answer: the next request, wait, or end. */
  #next(lane: Lane): void {
    const { epoch } = this.#connection;
    const full = this.#idle.length + this.#busy >= this.#options.lanes;
    if (full || lane.epoch !== epoch || this.#leavingEpoch === epoch) {
      lane.halfClose();
      this.#pump();
      return;
    }
    const request = this.#queue.shift();
    if (request !== undefined) this.#send(lane, request);
    else if (this.#closing !== undefined) lane.halfClose();
    else {
      lane.usedAt = this.#sweeps;
      this.#idle.push(lane);
      this.#scheduleSweep();
    }
  }

  /** The caller has gone: by time, by signal. */
  #stop(request: PendingRequest, reason: unknown): void {
    const { lane } = request;
    if (lane === undefined) {
      this.#queue.remove(request);
      finish(request, reason, 'not-sent');
      this.#checkDrained();
      return;
    }
    if (request.onAbort === 'cancel' || this.#detached >= this.#options.maxDetached) {
      this.#fail(lane, request, reason);
      return;
    }
    this.#busy -= 1;
    this.#detached += 1;
    lane.state = 'detached';
    request.reject(reason);
    const overdue = () => this.#fail(lane, request, reason);
    request.detachTimer = setTimeout(overdue, request.detachLimitMs).unref();
    this.#pump();
  }

  /** Ends a lane with its request: there will be no answer that could be trusted. */
  #fail(lane: Lane, request: PendingRequest, reason: unknown): void {
    this.#lose(lane, request, reason);
    this.#abandon(lane, 'the client gave up the request');
    this.#pump();
  }

  #lose(lane: Lane, request: PendingRequest, reason: unknown): void {
    lane.request = undefined;
    this.#lost += 1;
    finish(request, reason, 'lost');
  }

  #abandon(lane: Lane, reason: string): void {
    this.#forget(lane);
    lane.cancel(reason);
  }

  /** Takes a lane out of the counts. */
  #forget(lane: Lane): void {
    if (lane.state === 'busy') this.#busy -= 1;
    else if (lane.state === 'detached') this.#detached -= 1;
    else if (lane.state === 'idle') {
      const index = this.#idle.indexOf(lane);
      if (index >= 0) this.#idle.splice(index, 1);
    }
    lane.state = 'ending';
  }

  /** "No available versions" is said of an unloaded model, and of every model while the server shuts down. */
  #askWhetherServerLeaves(): void {
    if (this.#askingReady) return;
    this.#askingReady = true;
    const { epoch } = this.#connection;
    this.#connection
      .unary('ServerReady', Service.serverReady, {}, this.#options.controlTimeoutMs)
      .catch((error: unknown) => {
        if (!(error instanceof TritonError) || error.code !== 'TRITON_UNAVAILABLE') return;
        this.#leavingEpoch = epoch;
        this.endIdleLanes();
      })
      .finally(() => {
        this.#askingReady = false;
      });
  }

  /** Ends lanes that did nothing for one to two periods. The timer keeps no process alive. */
  #scheduleSweep(): void {
    this.#sweepTimer ??= setTimeout(() => {
      this.#sweepTimer = undefined;
      const cold = this.#idle.findIndex((lane) => lane.usedAt >= this.#sweeps);
      for (const lane of this.#idle.splice(0, cold < 0 ? this.#idle.length : cold)) lane.halfClose();
      this.#sweeps += 1;
      if (this.#idle.length > 0) this.#scheduleSweep();
    }, this.#options.idleLaneMs).unref();
  }
}

/** Both of a request's promises. */
function finish(request: PendingRequest, reason: unknown, settlement: Settlement): void {
  request.reject(reason);
  request.settle(settlement);
}
