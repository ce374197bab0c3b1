import { setImmediate } from 'node:timers';
import type { StatusObject } from '@grpc/grpc-js';
import { Drain } from '../drain.js';
import { DisposedError } from '../errors.js';
import { Fifo } from '../fifo.js';
import { finish } from '../request-ends.js';
import { requestError } from '../request-error.js';
import type { RequestRecorder } from '../request-recorder.js';
import type { RetryPolicy } from '../retry.js';
import type { SubmitOptions } from '../transport.js';
import type { InferCall } from '../types/result.js';
import type { Carrier } from './carrier.js';
import { Carriers } from './carriers.js';
import type { Compression } from './channel-options.js';
import type { Connection } from './connection.js';
import { decodeStreamAnswer, refusedUnrun, type StreamAnswer } from './decode.js';
import type { EncodedRequest } from './encode.js';
import { GrpcRequest } from './grpc-request.js';
import type { IdleLanes } from './idle-lanes.js';
import type { Lane, LaneEvents } from './lane.js';
import { errorOfDecoupled, errorOfLaneText, saysModelIsGone } from './lane-errors.js';
import { LeavingServer } from './leaving-server.js';
import { GrpcRequestEnds } from './request-ends.js';
import { UnaryCalls } from './unary-calls.js';

interface LanePoolOptions {
  readonly lanes: number;
  readonly maxDetached: number;
  readonly idleLaneMs: number;
  readonly controlTimeoutMs: number;
  readonly retry: RetryPolicy;
}

/**
 * The lanes of one connection: opened when needed, the last one used first, a queue when all are busy. Requests that
 * cannot go on a lane take a unary call, under the same rules.
 *
 * The rules come from what real servers do. One request a lane, since a stream answers in order. A lane that ends in
 * any way, with status OK too, rejects its request. A request whose caller has gone keeps its lane until the server
 * answers: nothing else proves that its memory is free. An idle lane is ended before long, and at once when the
 * server says that it leaves, since a server cannot exit while a stream is open.
 */
export class LanePool implements LaneEvents {
  readonly #recorder: RequestRecorder;
  readonly #connection: Connection;
  readonly #options: LanePoolOptions;
  readonly #queue = new Fifo<GrpcRequest>();
  readonly #ends: GrpcRequestEnds;
  readonly #leaving: LeavingServer;
  readonly #carriers: Carriers;
  /** Those of the carriers that wait. */
  readonly #idle: IdleLanes;
  readonly #unary: UnaryCalls;
  /** What refused the first stream. */
  #forbidden: string | undefined;
  #connecting = false;
  #pumpDue: NodeJS.Immediate | undefined;
  #closing: Promise<void> | undefined;
  readonly #drain = new Drain(() => this.#carriers.size + this.#queue.size + this.#ends.waiting === 0);

  /** @param compressed - the connection for calls that are compressed so */
  constructor(
    connection: Connection,
    compressed: (compression: Compression) => Connection,
    options: LanePoolOptions,
    recorder: RequestRecorder,
  ) {
    this.#recorder = recorder;
    this.#connection = connection;
    this.#options = options;
    this.#carriers = new Carriers(options.lanes, options.idleLaneMs);
    this.#idle = this.#carriers.idle;
    this.#ends = new GrpcRequestEnds(
      (request) => this.#enqueue(request),
      () => this.#drain.check(),
    );
    this.#leaving = new LeavingServer(connection, options.controlTimeoutMs, () => this.endIdleLanes());
    this.#unary = new UnaryCalls({
      connection,
      compressed,
      carriers: this.#carriers,
      ends: this.#ends,
      leaving: this.#leaving,
      onEnd: (givenUp) => this.#ended(givenUp),
    });
  }

  get stats() {
    return {
      queued: this.#queue.size + this.#ends.waiting,
      retried: this.#ends.retried,
      lanesOpened: this.#carriers.lanesOpened,
      lanes: this.#carriers.stats,
      unary: this.#unary.stats,
      streamsForbidden: this.#forbidden,
    };
  }

  submit(encoded: EncodedRequest, options?: SubmitOptions): InferCall {
    const request = new GrpcRequest(encoded, options, this.#options.retry);
    if (this.#closing !== undefined) {
      finish(request, new DisposedError('The TritonClient'), 'not-sent');
    } else if (options?.signal?.aborted === true) {
      finish(request, options.signal.reason, 'not-sent');
    } else {
      request.start(this.#recorder);
      if (options !== undefined) request.watch(options, (reason) => this.#stop(request, reason));
      const lane = request.unary === undefined ? this.#idle.pop() : undefined;
      if (lane !== undefined) this.#send(lane, request);
      else this.#enqueue(request);
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
      answer = request.encoded.answers?.read(message) ?? decodeStreamAnswer(message, request.encoded.outputs);
    } catch (error) {
      this.#fail(lane, request, error);
      return;
    }
    if (answer.error !== undefined || !answer.final) {
      this.#onFailure(lane, request, answer);
      return;
    }
    this.#carriers.release(lane);
    request.resolve(answer.result);
    request.settle('answered');
    this.#next(lane);
  }

  onEnd(lane: Lane, status: StatusObject): void {
    const { request, state } = lane;
    this.#carriers.delete(lane);
    if (request !== undefined) {
      const { url } = this.#connection.address;
      const forbids = this.#ends.ofLane(request, url, status, { accepted: lane.accepted, wanted: state === 'busy' });
      if (forbids) this.#forbidden ??= status.details;
    }
    this.#ended(state === 'ending');
  }

  /** A carrier has ended; `givenUp`: not by the server, but since its request was. */
  #ended(givenUp: boolean): void {
    if (givenUp) this.#pumpLater();
    else this.#pump();
    this.#drain.check();
  }

  /** Ends the lanes that wait for work; busy ones end after their answer. */
  endIdleLanes(): void {
    this.#idle.endAll();
  }

  /** Takes no new requests; waits for those that were taken, at most `timeoutMs`, and then cancels them. */
  close(timeoutMs: number): Promise<void> {
    if (this.#closing === undefined) {
      this.#idle.close();
      this.#ends.close();
      this.#closing = this.#drain.wait(timeoutMs, (details) => this.#cancelAll(details));
    }
    return this.#closing;
  }

  #cancelAll(details: string): void {
    for (const request of [...this.#ends.takeWaiting(), ...this.#queue.takeAll()]) {
      finish(request, new DisposedError('The TritonClient'), 'not-sent');
    }
    for (const carrier of this.#carriers.all()) {
      const { request } = carrier;
      if (request === undefined) this.#abandon(carrier, details);
      else this.#fail(carrier, request, requestError(request.encoded, 'TRITON_CANCELLED', details));
    }
  }

  #enqueue(request: GrpcRequest): void {
    this.#queue.push(request);
    this.#pump();
  }

  #send(lane: Lane, request: GrpcRequest): void {
    this.#carriers.busy(lane);
    request.carrier = lane;
    request.attemptsLeft -= 1;
    lane.send(request);
  }

  /** Gives waiting requests to the lanes that may be had, connecting first where that is needed. */
  #pump(): void {
    for (let request = this.#queue.first; request !== undefined; request = this.#queue.first) {
      if (this.#forbidden !== undefined) request.unary ??= 'forbidden';
      if (this.#carriers.allBusy) return;
      const lane = request.unary === undefined ? this.#idle.pop() : undefined;
      if (lane === undefined && request.unary === undefined && !this.#connection.ready) {
        this.#connect();
        return;
      }
      if (lane === undefined && this.#carriers.full) this.#idle.endColdest();
      this.#queue.remove(request);
      if (request.unary === undefined) this.#send(lane ?? this.#carriers.open(this.#connection, this), request);
      else this.#unary.send(request, request.unary);
    }
  }

  /**
   * As `#pump`, when all that is due was done: of many requests that one signal or one time limit ends, those that wait
   * must not be sent in the place of those that were.
   */
  #pumpLater(): void {
    this.#pumpDue ??= setImmediate(() => {
      this.#pumpDue = undefined;
      this.#pump();
    });
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
        for (const request of this.#queue.takeAll()) {
          request.attemptsLeft -= 1;
          this.#ends.notSent(request, error);
        }
        this.#drain.check();
      },
    );
  }

  /** What a lane does after an answer: the next request, wait, or end. */
  #next(lane: Lane): void {
    const { epoch } = this.#connection;
    if (this.#carriers.full || lane.epoch !== epoch || this.#leaving.is(epoch)) {
      lane.halfClose();
      this.#pump();
      return;
    }
    const request = this.#queue.first;
    if (request !== undefined && request.unary === undefined) {
      this.#queue.remove(request);
      this.#send(lane, request);
    } else if (this.#closing !== undefined) {
      lane.halfClose();
      this.#pump();
    } else {
      this.#idle.push(lane);
      if (request !== undefined) this.#pump();
    }
  }

  /** An answer that is an error, or not the only one. */
  #onFailure(lane: Lane, request: GrpcRequest, answer: StreamAnswer): void {
    const error =
      answer.error === undefined
        ? undefined
        : errorOfLaneText(answer.error, request.encoded, refusedUnrun(answer.result));
    if (error === undefined || !answer.final) {
      this.#fail(lane, request, error ?? errorOfDecoupled(request.encoded));
      return;
    }
    const wanted = lane.state === 'busy';
    this.#carriers.release(lane);
    this.#ends.refused(request, error, wanted);
    if (saysModelIsGone(error)) this.#leaving.ask();
    this.#next(lane);
  }

  /** The caller has gone: by time, by signal. */
  #stop(request: GrpcRequest, reason: unknown): void {
    const { carrier } = request;
    if (carrier === undefined) {
      if (!this.#ends.stopWaiting(request)) this.#queue.remove(request);
      finish(request, reason, 'not-sent');
      this.#drain.check();
      return;
    }
    if (!carrier.sent || request.onAbort === 'cancel' || this.#carriers.detached >= this.#options.maxDetached) {
      this.#fail(carrier, request, reason);
      return;
    }
    this.#carriers.detach(carrier);
    request.reject(reason);
    const overdue = () => this.#fail(carrier, request, reason);
    request.detachTimer = setTimeout(overdue, request.detachLimitMs).unref();
    this.#pumpLater();
  }

  /** Ends a carrier with its request: there will be no answer that could be trusted. */
  #fail(carrier: Carrier, request: GrpcRequest, reason: unknown): void {
    carrier.request = undefined;
    if (carrier.sent) this.#ends.lose(request, reason);
    else finish(request, reason, 'not-sent');
    this.#abandon(carrier, 'the client gave up the request');
    this.#pumpLater();
  }

  #abandon(carrier: Carrier, reason: string): void {
    this.#carriers.forget(carrier);
    carrier.cancel(reason);
  }
}
