import type { StatusCode } from '../status.js';

/** Which requests a fault meets. */
export interface FaultScope {
  /** Requests to this model alone; absent: to all. */
  readonly model?: string;
  /** How many requests it meets before it is gone; absent: all until it is removed. */
  readonly times?: number;
}

/** What goes wrong with a request. */
export type FaultKind =
  /** Its answers come so much later, in milliseconds; its regions stay in use until then. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** It is refused before it runs. */
  | { readonly kind: 'refuse'; readonly code: StatusCode; readonly message: string }
  /** It runs and is never answered; its regions stay in use until a restart. */
  | { readonly kind: 'silence' }
  /** Outputs in regions are written so long after the model's answer when the client has cancelled meanwhile. */
  | { readonly kind: 'late-write'; readonly ms: number }
  /** Each output in the message is so many bytes longer, or shorter when negative. */
  | { readonly kind: 'wrong-size'; readonly bytes: number }
  /** The answer's bytes are no message. */
  | { readonly kind: 'unparsable' }
  /** No answer says that it is the last; over HTTP the body of a generate does not end. */
  | { readonly kind: 'no-final' }
  /** The answer of this number, from 0, is missing. */
  | { readonly kind: 'lose-answer'; readonly index: number }
  /** Answers come in pairs, the second of each before the first. */
  | { readonly kind: 'reorder' }
  /** The server dies as the request arrives: every connection ends, and all regions are forgotten. */
  | { readonly kind: 'crash' };

export type Fault = FaultKind & FaultScope;

/** A fault in effect. */
export interface ActiveFault {
  /** Of this server alone. */
  readonly id: number;
  readonly fault: Fault;
  /** Requests that it met. */
  readonly met: number;
  /** Ends it: requests from now on don't meet it. */
  remove(): void;
}
