import type { Carriers } from './carriers.js';
import type { Compression } from './channel-options.js';
import type { Connection } from './connection.js';
import type { GrpcRequest, UnaryReason } from './grpc-request.js';
import { saysModelIsGone } from './lane-errors.js';
import type { LeavingServer } from './leaving-server.js';
import type { GrpcRequestEnds } from './request-ends.js';
import { UnaryCall, type UnaryEnd } from './unary-call.js';

/** Requests that went as unary calls, by the reason: `'forbidden'`, because the server lets no stream through. */
export type UnaryStats = Readonly<Record<UnaryReason, number>>;

/** The lane pool, as its unary calls see it. */
export interface UnaryHost {
  readonly connection: Connection;
  /** The connection for calls that are compressed so. */
  readonly compressed: (compression: Compression) => Connection;
  readonly carriers: Carriers;
  readonly ends: GrpcRequestEnds;
  readonly leaving: LeavingServer;
  /** A call has ended, so there is room for another one; `givenUp`: not by the server, but since its request was. */
  readonly onEnd: (givenUp: boolean) => void;
}

/** Requests that cannot go on a lane, each in a call of its own, under the rules of lanes. */
export class UnaryCalls {
  readonly #host: UnaryHost;
  readonly #counts: Record<UnaryReason, number> = { headers: 0, compression: 0, trace: 0, forbidden: 0 };

  constructor(host: UnaryHost) {
    this.#host = host;
  }

  get stats(): UnaryStats {
    return { ...this.#counts };
  }

  send(request: GrpcRequest, why: UnaryReason): void {
    const { connection, compressed, carriers } = this.#host;
    const { compression } = request;
    const through = compression === undefined ? connection : compressed(compression);
    this.#counts[why] += 1;
    request.attemptsLeft -= 1;
    const call = new UnaryCall(through, request, (ended, end) => this.#onEnd(ended, end));
    request.carrier = call;
    carriers.add(call);
    carriers.busy(call);
  }

  #onEnd(call: UnaryCall, end: UnaryEnd): void {
    const { connection, carriers, ends, leaving, onEnd } = this.#host;
    const { request, state } = call;
    carriers.delete(call);
    if (request !== undefined) {
      const error = ends.ofUnary(request, connection.address.url, end, state === 'busy');
      if (error !== undefined && saysModelIsGone(error)) leaving.ask();
    }
    onEnd(state === 'ending');
  }
}
