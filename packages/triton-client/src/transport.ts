import type { Address } from './address.js';
import type { ControlTransport } from './control.js';
import type { CheckedRequest } from './request.js';
import type { TransportStats } from './stats.js';
import type { CallHeaders, CallOptions, StreamOptions } from './types/request.js';
import type { InferCall, InferStream, PreparedRequest } from './types/result.js';

/** A call's options, and what the client adds to them. */
export interface SubmitOptions extends CallOptions {
  /** Of a sampled trace; sent with this call. */
  readonly traceHeaders?: CallHeaders | undefined;
}

/** One way to a server. Making one connects nothing. */
export interface Transport {
  readonly address: Address;
  readonly control: ControlTransport;
  /** Rises whenever the connection is made or goes away: between two equal readings there was one server process. */
  readonly epoch: number;
  /** The address of the server that answered last, as far as the transport knows. */
  readonly peer: string | undefined;
  readonly stats: TransportStats;
  /** Takes a request. The arrays of its inputs are borrowed until `settled`, unless the transport copies them at once. */
  submit(request: CheckedRequest, options?: SubmitOptions): InferCall;
  /** Encodes a request once. */
  prepare(request: CheckedRequest): PreparedRequest;
  /**
   * Sends the requests of `source`, all to `model`, on a stream of its own. Asks for the next one when it may be sent.
   */
  stream(model: string, source: AsyncIterator<CheckedRequest>, options?: StreamOptions & SubmitOptions): InferStream;
  /** Takes no new requests, waits for those under way at most `timeoutMs`, cancels the rest, and disconnects. */
  close(timeoutMs: number): Promise<void>;
}
