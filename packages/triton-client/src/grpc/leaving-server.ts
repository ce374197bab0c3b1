import { TritonError } from '../errors.js';
import type { Connection } from './connection.js';
import { GRPCInferenceServiceService as Service } from './gen/grpc_service.js';

/** Whether the server said that it leaves. */
export class LeavingServer {
  readonly #connection: Connection;
  readonly #timeoutMs: number;
  readonly #onLeaving: () => void;
  /** The epoch whose server said so. */
  #epoch = -1;
  #asking = false;

  constructor(connection: Connection, timeoutMs: number, onLeaving: () => void) {
    this.#connection = connection;
    this.#timeoutMs = timeoutMs;
    this.#onLeaving = onLeaving;
  }

  /** True for the epoch of a connection whose server leaves. */
  is(epoch: number): boolean {
    return this.#epoch === epoch;
  }

  /**
   * To be called for an error that says "no available versions": it is said of an unloaded model, and of every model
   * while the server shuts down.
   */
  ask(): void {
    if (this.#asking) return;
    this.#asking = true;
    const { epoch } = this.#connection;
    this.#connection
      .unary('ServerReady', Service.serverReady, {}, { timeoutMs: this.#timeoutMs })
      .catch((error: unknown) => {
        if (!(error instanceof TritonError) || error.code !== 'TRITON_UNAVAILABLE') return;
        this.#epoch = epoch;
        this.#onLeaving();
      })
      .finally(() => {
        this.#asking = false;
      });
  }
}
