/** Bytes so far, of one transport. */
export interface PayloadBytes {
  readonly sent: number;
  readonly received: number;
}

/**
 * Counts what inference requests and their answers carry. Written on the way of every request, so it is two plain
 * numbers.
 */
export class Payload implements PayloadBytes {
  sent = 0;
  received = 0;
}

export const NO_PAYLOAD: PayloadBytes = Object.freeze({ sent: 0, received: 0 });

export function addPayloads(a: PayloadBytes, b: PayloadBytes): PayloadBytes {
  return { sent: a.sent + b.sent, received: a.received + b.received };
}
