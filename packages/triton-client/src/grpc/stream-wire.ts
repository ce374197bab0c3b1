import { status as Status, type StatusObject } from '@grpc/grpc-js';
import type { Payload } from '../payload.js';
import type { CallHeaders } from '../types/request.js';
import type { Connection, RawCall } from './connection.js';
import { GRPCInferenceServiceService as Service } from './gen/grpc_service.js';

interface WireEvents {
  /** False to read no further until `resume()`: what the server sends then fills its window, and it waits. */
  onMessage(message: Buffer): boolean;
  /** Comes exactly once, after the last message. */
  onEnd(status: StatusObject): void;
}

/** One ModelStreamInfer call with flow control in both directions. */
export class StreamWire {
  /** The server has answered the stream itself. */
  accepted = false;
  over = false;
  readonly #call: RawCall;
  readonly #payload: Payload;
  #paused = false;
  #written: (() => void) | undefined;

  constructor(connection: Connection, headers: CallHeaders, events: WireEvents) {
    const call = connection.createCall(Service.modelStreamInfer.path);
    this.#call = call;
    const { payload } = connection;
    this.#payload = payload;
    call.start(connection.metadata(headers), {
      onReceiveMetadata: () => {
        this.accepted = true;
      },
      onReceiveMessage: (message: Buffer) => {
        payload.received += message.byteLength;
        if (events.onMessage(message)) call.startRead();
        else this.#paused = true;
      },
      onReceiveStatus: (status) => {
        this.over = true;
        this.#written?.();
        events.onEnd(status);
      },
    });
    call.startRead();
  }

  /** Resolves when the message has left, so that no second one is behind it in memory, or when the call is over. */
  write(message: Buffer): Promise<void> {
    this.#payload.sent += message.byteLength;
    return new Promise((resolve) => {
      this.#written = resolve;
      this.#call.sendMessageWithContext({ callback: () => resolve() }, message);
    });
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#call.startRead();
  }

  /** Nothing more comes; the server answers what is outstanding and ends the call. */
  halfClose(): void {
    this.#call.halfClose();
  }

  cancel(reason: string): void {
    this.#call.cancelWithStatus(Status.CANCELLED, reason);
  }
}
