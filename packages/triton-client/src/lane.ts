import { Metadata, status as Status, type StatusObject } from '@grpc/grpc-js';
import type { Connection, RawCall } from './connection.js';
import { GRPCInferenceServiceService as Service } from './gen/grpc_service.js';
import type { PendingRequest } from './pending-request.js';

/** `'ending'`: half-closed or cancelled, takes no more requests. */
export type LaneState = 'idle' | 'busy' | 'detached' | 'ending';

export interface LaneEvents {
  onMessage(lane: Lane, message: Buffer): void;
  /** The stream is over, in whatever way; comes exactly once. */
  onEnd(lane: Lane, status: StatusObject): void;
}

// No write callback, no flags: grpc-js only reads it.
const NO_CONTEXT = Object.freeze({});

/**
 * One ModelStreamInfer call with at most one request in flight, so that the next message is that request's answer. A
 * request then costs one message on an open stream, about a quarter of a unary call. Which requests it carries is the
 * pool's decision.
 */
export class Lane {
  state: LaneState = 'idle';
  request: PendingRequest | undefined;
  /** The connection's epoch when the lane was opened. */
  readonly epoch: number;
  /** The pool's sweep that last saw the lane at work. */
  usedAt = 0;
  readonly #call: RawCall;

  constructor(connection: Connection, events: LaneEvents) {
    this.epoch = connection.epoch;
    const call = connection.createCall(Service.modelStreamInfer.path);
    this.#call = call;
    // Never with `triton_grpc_error`: with it, an error can bring the server down (seen on 2.51).
    call.start(new Metadata(), {
      onReceiveMetadata: () => {},
      onReceiveMessage: (message: Buffer) => {
        events.onMessage(this, message);
        call.startRead();
      },
      onReceiveStatus: (status) => events.onEnd(this, status),
    });
    call.startRead();
  }

  send(request: PendingRequest): void {
    this.request = request;
    this.#call.sendMessageWithContext(NO_CONTEXT, request.encoded.bytes);
  }

  /** Tells the server that nothing more comes; it answers what is outstanding and ends the stream. */
  halfClose(): void {
    this.state = 'ending';
    this.#call.halfClose();
  }

  cancel(reason: string): void {
    this.state = 'ending';
    this.#call.cancelWithStatus(Status.CANCELLED, reason);
  }
}
