import type { GrpcRequest } from './grpc-request.js';

/** `'ending'`: half-closed or cancelled, takes no more requests. */
export type CarrierState = 'idle' | 'busy' | 'detached' | 'ending';

/** What a request travels on, one at a time: a lane, or a unary call. */
export interface Carrier {
  state: CarrierState;
  request: GrpcRequest | undefined;
  /** False while nothing of the request can have left. */
  readonly sent: boolean;
  /** Ends it without an answer. */
  cancel(reason: string): void;
}
