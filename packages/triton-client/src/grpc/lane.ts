import { status as Status, type StatusObject } from '@grpc/grpc-js';
import type { Payload } from '../payload.js';
import type { Carrier, CarrierState } from './carrier.js';
import type { Connection, RawCall } from './connection.js';
import { GRPCInferenceServiceService as Service } from './gen/grpc_service.js';
import type { GrpcRequest } from './grpc-request.js';

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
export class Lane implements Carrier {
  state: CarrierState = 'idle';
  request: GrpcRequest | undefined;
  readonly sent = true;
  /** The server has answered the stream itself, at the latest with the first answer to a request. */
  accepted = false;
  /** The connection's epoch when the lane was opened. */
  readonly epoch: number;
  /** The pool's sweep that last saw the lane at work. */
  usedAt = 0;
  readonly #call: RawCall;
  readonly #payload: Payload;

  constructor(connection: Connection, events: LaneEvents) {
    this.epoch = connection.epoch;
    const { payload } = connection;
    this.#payload = payload;
    const call = connection.createCall(Service.modelStreamInfer.path);
    this.#call = call;
    call.start(connection.metadata(), {
      onReceiveMetadata: () => {
        this.accepted = true;
      },
      onReceiveMessage: (message: Buffer) => {
        payload.received += message.byteLength;
        events.onMessage(this, message);
        call.startRead();
      },
      onReceiveStatus: (status) => events.onEnd(this, status),
    });
    call.startRead();
  }

  send(request: GrpcRequest): void {
    this.request = request;
    const { bytes } = request.encoded;
    this.#payload.sent += bytes.byteLength;
    this.#call.sendMessageWithContext(NO_CONTEXT, bytes);
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
