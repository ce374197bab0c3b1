import { status as Status, type StatusObject } from '@grpc/grpc-js';
import type { Carrier, CarrierState } from './carrier.js';
import type { Connection, RawCall } from './connection.js';
import { GRPCInferenceServiceService as Service } from './gen/grpc_service.js';
import type { GrpcRequest } from './grpc-request.js';

/** How a unary call ended. */
export type UnaryEnd =
  | { readonly kind: 'status'; readonly status: StatusObject; readonly message: Buffer | undefined }
  /** There was no connection. */
  | { readonly kind: 'not-sent'; readonly reason: unknown };

/** One ModelInfer call: several times the cost of a message on a lane, with headers of its own. It connects first. */
export class UnaryCall implements Carrier {
  state: CarrierState = 'busy';
  request: GrpcRequest | undefined;
  readonly #onEnd: (call: UnaryCall, end: UnaryEnd) => void;
  #call: RawCall | undefined;
  #message: Buffer | undefined;
  #ended = false;

  /** @param onEnd - called once, later */
  constructor(connection: Connection, request: GrpcRequest, onEnd: (call: UnaryCall, end: UnaryEnd) => void) {
    this.request = request;
    this.#onEnd = onEnd;
    const { headers, encoded } = request;
    if (connection.ready) this.#open(connection, headers, encoded.bytes);
    else {
      connection.connect().then(
        () => this.#open(connection, headers, encoded.bytes),
        (reason: unknown) => this.#end({ kind: 'not-sent', reason }),
      );
    }
  }

  get sent(): boolean {
    return this.#call !== undefined;
  }

  cancel(reason: string): void {
    this.state = 'ending';
    if (this.#call !== undefined) this.#call.cancelWithStatus(Status.CANCELLED, reason);
    else queueMicrotask(() => this.#end({ kind: 'not-sent', reason }));
  }

  #open(connection: Connection, headers: GrpcRequest['headers'], bytes: Buffer): void {
    if (this.state === 'ending') return;
    const call = connection.createCall(Service.modelInfer.path);
    this.#call = call;
    call.start(connection.metadata(headers), {
      onReceiveMetadata: () => {},
      onReceiveMessage: (message: Buffer) => {
        connection.payload.received += message.byteLength;
        this.#message = message;
        // The status comes only to one who reads on.
        call.startRead();
      },
      onReceiveStatus: (status) => this.#end({ kind: 'status', status, message: this.#message }),
    });
    call.startRead();
    connection.payload.sent += bytes.byteLength;
    call.sendMessageWithContext({}, bytes);
    call.halfClose();
  }

  /** A connection may still come, or fail, after a cancel. */
  #end(end: UnaryEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd(this, end);
  }
}
