import type { Protocol } from './protocol.js';

/** Which headers are forwarded, the same over both protocols or by protocol. */
export type ForwardHeaders = RegExp | { readonly grpc?: RegExp; readonly http?: RegExp };

/** Whether a header of this name is handed to the model. */
export type IsForwarded = (name: string) => boolean;

/**
 * As real servers read `--grpc-header-forward-pattern` and `--http-header-forward-pattern`: the pattern may match anywhere in
 * the name, and capitals make no difference (seen on 2.51).
 */
export function forwardedOver(protocol: Protocol, headers: ForwardHeaders | undefined): IsForwarded {
  const pattern = headers instanceof RegExp ? headers : headers?.[protocol];
  if (pattern === undefined) return () => false;
  const matching = new RegExp(pattern.source, `${pattern.flags.replace(/[giy]/g, '')}i`);
  return (name) => matching.test(name);
}
